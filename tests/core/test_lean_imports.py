"""Heavy libraries without the parts that no score requires, and complete again at first access."""

from importlib.util import find_spec

import pytest
from folders import EXAMPLES

# evaluate imports transformers, and with it torch, if they are installed. Without them it imports in a second.
ALONE = 'sys.modules["transformers"] = None\n'
# The libraries take seconds to import, so that one process imports them and each case starts from a fork of it.
APART = """
import os, traceback
{ready}
for case in {cases!r}:
    child = os.fork()
    if not child:
        try:
            exec(case)
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, case
"""
# Lazy modules are visible inside evaluate only. Other code never accesses one.
HELD = """
import types
names = types.ModuleType.__getattribute__(evaluate, "__dict__")
of_class, of_function = names["Evaluator"], names["evaluator"]
assert {type(of_class).__name__, type(of_function).__name__} == {"_StandIn"}
"""
ASKED_OF_STAND_INS = (
    "assert of_function.__name__ == 'evaluator'",
    "assert isinstance(0, of_class) is False\nclass Own(of_class): pass\nassert Own.__mro__[1] is evaluate.Evaluator",
    "assert issubclass(evaluate.TextClassificationEvaluator, of_class) and not issubclass(int, of_class)",
    """
try:
    of_function("none")
    told = ""
except ImportError as error:
    told = str(error)
assert "transformers" in told
""",
)
# Code that scores an image. Heavy modules are imported at their first use, the compiler first, by torchvision and by
# name.
SCORED_IMAGE = f"""
from vlgauge.cli import main
main(["score", "clip_s", {str(EXAMPLES / "captioned_scenes.jsonl")!r}, "--profile", "embedded"])
import open_clip, torch, torchvision
heavy = ["torch._dynamo.eval_frame", "sympy", "timm", "transformers", "scipy.stats", "evaluate.evaluator.base"]
if torch.__version__.startswith("2.8."):
    heavy.remove("sympy")  # it checks a number by it
assert not [name for name in heavy if name in sys.modules]
boxes = torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]])
assert float(torchvision.ops.roi_align(torch.ones(1, 1, 8, 8), boxes, 2).sum()) == 4.0
assert torch._dynamo.__name__ == "torch._dynamo"
assert torch.compile(torch.nn.Linear(2, 1), backend="eager")(torch.ones(3, 2)).shape == (3, 1)
# Both take long, and towers need them.
from transformers import AutoModel, MinLengthLogitsProcessor
"""
HIDDEN_TOWER = """
import open_clip.hf_model
assert open_clip.factory.CoCa is open_clip.CoCa is open_clip.coca_model.CoCa
"""
MOCKED_TOWER = """
from unittest import mock
with mock.patch("open_clip.timm_model.TimmModel", 5):
    pass
assert open_clip.model.TimmModel is open_clip.timm_model.TimmModel != 5
"""
BUILT_TOWER = """
config = open_clip.get_model_config("vit_medium_patch16_gap_256")
tower = open_clip.model._build_vision_tower(8, config["vision_cfg"])
assert type(tower) is open_clip.timm_model.TimmModel is open_clip.model.TimmModel
"""
TOUCHED = """
class Own(evaluate.Evaluator):
    pass
from evaluate.evaluator.base import Evaluator
from evaluate.evaluator import evaluator
assert Own.__mro__[1] is evaluate.Evaluator is Evaluator
assert evaluate.evaluator is evaluator and type(evaluator).__name__ == "function"
assert type(evaluate.EvaluationSuite) is type
assert evaluate.evaluation_suite.__name__ == "evaluate.evaluation_suite"
"""


@pytest.mark.skipif(not find_spec("open_clip"), reason="open_clip is not installed")
def test_an_image_is_scored_without_towers_and_compilers_which_come_when_they_are_touched(run_python, tmp_path):
    ready, cases = SCORED_IMAGE, [HIDDEN_TOWER]
    if find_spec("timm"):
        ready += "import timm.layers\n"
        cases += [BUILT_TOWER, MOCKED_TOWER]
    # A process that is forked may not wait for the threads of the one that scored.
    run_python(APART.format(ready=ready, cases=cases), cwd=tmp_path, OMP_NUM_THREADS="1")


def test_a_missing_library_leaves_nothing_behind(run_python, tmp_path):
    code = """
sys.modules["datasets"] = None
from vlgauge.core.lean_imports import lean_import
try:
    lean_import("evaluate")
except ImportError as error:
    print([name for name in sys.modules if name.startswith("evaluate")], "datasets" in str(error))
"""
    assert run_python(code, cwd=tmp_path) == "[] True\n"


def test_evaluators_come_when_they_are_touched_as_if_they_had_been_there(run_python, tmp_path):
    ready = f"""
{ALONE}
import vlgauge
vlgauge.load("rovist_nr")
import evaluate
assert not [name for name in sys.modules if name.startswith(("evaluate.evaluat", "scipy.stats"))]
import scipy.stats  # which evaluators need, and which takes long
"""
    cases = [
        TOUCHED,
        "from evaluate.evaluator.base import Evaluator; assert evaluate.Evaluator is Evaluator",
        "import evaluate.evaluator; assert type(evaluate.evaluator).__name__ == 'function'",
        "from evaluate import Evaluator; assert isinstance(Evaluator, type) and int in (Evaluator | int).__args__",
        "assert type(vars(evaluate)['evaluator']).__name__ == 'function'",
        "evaluate.evaluator = 5; from evaluate.evaluator.base import Evaluator; assert evaluate.evaluator == 5",
        *(f"{HELD}{case}" for case in ASKED_OF_STAND_INS),
    ]
    run_python(APART.format(ready=ready, cases=cases), cwd=tmp_path)


def test_whatever_is_imported_first_is_lean_unless_it_is_there_or_another_thread_might_see(run_python, tmp_path):
    # `evaluate` is not imported yet, only the imports of it that take the most time.
    heavy = ("torch", "transformers", "scipy.stats", "evaluate.evaluator.base")
    rooms = [
        f"import vlgauge.families.{name}\nfound = [one for one in {heavy} if one in sys.modules]\nassert not found"
        for name in ("base", "style", "caption_sets", "clip_score")
    ]
    there = """
import evaluate
from vlgauge.core.lean_imports import lean_import
assert lean_import("evaluate") is evaluate
assert type(vars(evaluate)["evaluator"]).__name__ == "function"
"""
    threaded = """
import threading
from vlgauge.core.lean_imports import lean_import
done = threading.Event()
thread = threading.Thread(target=done.wait)
thread.start()
lean_import("evaluate")
assert "evaluate.evaluator.base" in sys.modules
done.set()
thread.join()
"""
    of_ray = threaded.replace("target=", "name='PythonGCThread', target=").replace('" in ', '" not in ')
    of_tqdm = of_ray.replace("PythonGCThread", "tqdm_monitor")
    of_sandbox = """
from vlgauge.core.lean_imports import lean_import
from vlgauge.inputs.sandbox import workers
with workers._Worker(("json",)).deadline(1000):
    lean_import("evaluate")
assert "evaluate.evaluator.base" not in sys.modules
"""
    code = APART.format(ready="import datasets\nassert 'evaluate' not in sys.modules\n", cases=rooms)
    code += APART.format(ready=f"{ALONE}import scipy.stats\n", cases=[there, threaded, of_ray, of_tqdm, of_sandbox])
    run_python(code, cwd=tmp_path)


def test_another_library_gets_no_stand_in_while_one_is_imported(run_python, tmp_path):
    (tmp_path / "bystander.py").write_text("from evaluate.evaluator import evaluator\n")
    code = f"""
sys.path.insert(0, {str(tmp_path)!r})
from vlgauge.core.lean_imports import lean_import
lean_import("evaluate")
import bystander
print(type(bystander.evaluator).__name__)
"""
    package = tmp_path / "evaluate"
    for part in ("evaluator", "evaluation_suite"):
        (package / part).mkdir(parents=True)
        (package / part / "__init__.py").write_text("def evaluator(): ...\n")
    (package / "__init__.py").write_text("import bystander\nfrom .evaluator import evaluator\n")
    assert run_python(ALONE + code, cwd=tmp_path) == "function\n"


def test_what_takes_frames_comes_when_it_is_asked_for(run_python, tmp_path):
    code = """
import vlgauge
assert {"compare", "load", "score"} <= set(dir(vlgauge))
print([name for name in ("numpy", "pandas", "evaluate", "datasets", "vlgauge.api") if name in sys.modules])
from vlgauge import score
assert vlgauge.score is score
print("matplotlib" in sys.modules, "jinja2" in sys.modules)
try:
    vlgauge.scores
except AttributeError as error:
    print(error)
"""
    expected = "[]\nFalse False\nmodule 'vlgauge' has no attribute 'scores'\n"
    assert run_python(code, cwd=tmp_path) == expected
