"""Without torch, or in a process that was forked after torch ran, every model first raises an error."""

import multiprocessing
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import vlgauge
from vlgauge.checkpoints import torch_runtime
from vlgauge.core.catalog import metric_names
from vlgauge.core.pool import pool
from vlgauge.explain.examples import explain_examples
from vlgauge.models import detectors
from vlgauge.models.clip import loading
from vlgauge.models.grounding import model, vit
from vlgauge.models.pairs import loading as pair
from vlgauge.models.sentences import model as sentence

# Imports do not find this name, as if it were not installed.
HIDE = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""
SCORE = """
import numpy as np
import vlgauge

grey = np.full((64, 64, 3), 128, dtype=np.uint8)
captions = {"predictions": [["a dog", "a cat"]], "references": [["a dog", "a cow"]]}
stories = {"predictions": [["A dog ran.", "It slept."]]}
pictures = {"predictions": ["a dog"], "images": [grey]}
data = {"mmd_bert": captions, "frechet_bert": captions, "rovist_c": stories, "clip_s": pictures, "pac_s": pictures}
"""
TELL = """
for name in NAMES:
    for profile in ("paper", "embedded"):
        try:
            vlgauge.load(name, profile=profile).compute(**data.get(name) or stories | {"images": [[grey]]})
        except ImportError as error:
            print(f"{name}: {error}")
"""
EXTRAS = {
    **{name: (name, name.replace("_", "-")) for name in ("clip_s", "pac_s", "rovist_c", "rovist_vg", "rovist")},
    "groovist": ("groovist", "groovist"),
    "mmd_bert": ("a sentence encoder", "mmd-bert"),
    "frechet_bert": ("a sentence encoder", "frechet-bert"),
}


def output_of(code, folder, **variables):
    """Return the output of a process, which must exit without being killed."""
    own = {**os.environ, "PYTHONPATH": str(Path(vlgauge.__file__).parents[1]), **variables}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, env=own, cwd=folder, timeout=300, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_torch_every_metric_names_its_extra(tmp_path):
    # The offline switches are off and no server listens at the Hub's URL, so that any request would fail.
    offline = {"HF_HUB_OFFLINE": "0", "HF_EVALUATE_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:9"}
    code = f"HIDDEN, NAMES = ['torch'], {list(EXTRAS)}\n{HIDE}{SCORE}{TELL}"
    expected = [
        f'{name}: {user} requires packages that are not installed: torch; run: pip install "vlgauge[{extra}]"'
        for name, (user, extra) in EXTRAS.items()
        for _ in ("paper", "embedded")
    ]
    assert output_of(code, tmp_path, **offline).splitlines() == expected


def test_all_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr(torch_runtime, "find_spec", lambda name: None)
    told = r'CLIP.*open_clip.*"vlgauge\[clip\]"'
    with pytest.raises(ImportError, match=told):
        loading.clip_encoder()


@pytest.mark.parametrize("device", ["cuda:99", "nowhere", None, 10**30, "meta"])
def test_an_unknown_device_is_refused(device):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=rf"^`device`.*got {device!r}"):
        torch_runtime.resolve_device(device)


# -- after a fork -----------------------------------------------------------------------------------------------------
ENTRIES = {
    "clip": lambda: loading.clip_encoder(profile="embedded"),
    "clip with a checkpoint": lambda: loading.clip_with_checkpoint(profile="embedded"),
    "sentence": sentence.sentence_encoder,
    "pair": lambda: pair.pair_scorer(profile="embedded"),
    "grounding": lambda: model.grounding_model(profile="embedded"),
    "detector": lambda: detectors.region_source("ssdlite320_mobilenet_v3_large"),
}


@pytest.mark.parametrize("family", list(ENTRIES))
def test_no_model_is_given_out_after_a_fork(monkeypatch, family):
    monkeypatch.setattr(torch_runtime, "_forked", True)
    with pytest.raises(RuntimeError, match='"spawn"'):
        ENTRIES[family]()


def held_models():
    """Yield calls of models of every family that a user may have kept."""
    from vlgauge.models.detectors.torchvision_models import TorchvisionDetector

    demo = loading.clip_encoder(profile="embedded", device="cpu")
    scorer = pair.pair_scorer(profile="embedded", device="cpu")
    yield lambda: demo.image_hidden([])
    yield lambda: demo.text_hidden(["a dog"])
    yield lambda: scorer.probabilities([("a", "b")])
    # No weights are required to check that these do not start.
    yield lambda: sentence.SentenceEncoder.encode(None, ["a dog"])
    yield lambda: vit.VisionEncoder.image_hidden(None, [])
    yield lambda: TorchvisionDetector.__call__(None, np.zeros((2, 2, 3)))


@pytest.mark.skipif(not find_spec("open_clip"), reason="open_clip is not installed")
def test_no_held_model_runs_after_a_fork(monkeypatch):
    calls = list(held_models())
    monkeypatch.setattr(torch_runtime, "_forked", True)
    for call in calls:
        with pytest.raises(RuntimeError, match="deadlock"):
            call()


# Torch runs in two threads, and the fork hook comes first in a process that is forked afterwards.
FOREIGN = """
import sys
import multiprocessing
import torch
from vlgauge.core.lean_imports import lean_import

lean_import("evaluate")
lean_import("open_clip")
assert "vlgauge.checkpoints.torch_runtime" not in sys.modules

def late(row):
    made = {}
    exec(SCORE, made)
    return made["vlgauge"].load("clip_s", profile="embedded").compute(**made["pictures"])["clip_s"]

torch.set_num_threads(2)
torch.ones(1500, 1500) @ torch.ones(1500, 1500)
with multiprocessing.get_context("fork").Pool(1) as pool:
    late_score = pool.apply_async(late, (0,)).get(timeout=200)
"""
FORKED = """
from datasets import Dataset

def scored(row):
    return {"score": clip_s.compute(**pictures)["clip_s"]}

def overlap(row):
    return {"overlap": rovist_nr.compute(**stories)["rovist_nr"]}

def told(row):
    try:
        return scored(row)
    except RuntimeError as error:
        return {"score": str(error)}

if __name__ == "__main__":
    multiprocessing.set_start_method("fork", force=True)
    clip_s = vlgauge.load("clip_s", profile="embedded", keep_in_memory=True)
    rovist_nr = vlgauge.load("rovist_nr", keep_in_memory=True)
    rows = Dataset.from_dict({"row": [0, 1]})
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:  # vlgauge has run nothing of torch yet, only somebody else has
        before = pool.map_async(scored, [0]).get(timeout=200)[0]["score"]
    alone = scored(0)["score"]
    with context.Pool(1) as pool:
        after = pool.map(told, [0])
    print(max(abs(late_score - alone), abs(before - alone)) < 1e-5, after)
    mapped = rows.map(lambda row: {**told(row), **overlap(row)}, num_proc=2)
    print(mapped["score"][1])
    print(mapped["overlap"][1] == overlap(0)["overlap"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.skipif(not find_spec("open_clip"), reason="open_clip is not installed")
def test_a_forked_process_is_told_and_does_not_hang(tmp_path):
    code = f"SCORE = {SCORE!r}\n{FOREIGN}{SCORE}{FORKED}"
    lines = output_of(code, tmp_path, OMP_NUM_THREADS="2").splitlines()
    assert lines[0].startswith("True [{'score': 'models cannot run in a process")
    assert lines[1].startswith("models cannot run in a process")
    assert lines[2] == "True"


def test_a_spawned_process_may_run_models():
    """Check the advice of the error after a fork."""
    pytest.importorskip("torch")
    torch_runtime.resolve_device("cpu")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(torch_runtime.check_fork).get(timeout=300) is None


# -- precision --------------------------------------------------------------------------------------------------------
def test_float32_is_whole_while_any_thread_is_inside():
    import torch

    def switches():
        return torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32

    enabled = torch.backends.cudnn.enabled
    torch.set_float32_matmul_precision("high")
    try:
        first, second = (torch_runtime.exact(torch.device("cpu")) for _ in range(2))
        first.__enter__()
        second.__enter__()
        assert switches() == ("highest", False)
        assert torch.backends.cudnn.enabled is enabled
        first.__exit__(None, None, None)
        assert switches() == ("highest", False)
        second.__exit__(None, None, None)
        # If one thread exits in this order, like two threads may, it restores its gradient mode incorrectly.
        torch.set_grad_enabled(True)
        assert switches() == ("high", True)
    finally:
        torch.set_float32_matmul_precision("highest")


def test_a_device_that_computes_nothing_has_no_autocast_to_end():
    import torch

    with torch_runtime.exact(torch.device("meta")):
        assert not torch.is_grad_enabled()


# The switches of torch 2.9 cannot be restored to their initial values, so that each state has a separate process.
SWITCHES = """
import os
import torch
from vlgauge.checkpoints.torch_runtime import exact

def switches():
    of = torch.backends
    places = (of, of.cuda.matmul, of.cudnn, of.cudnn.conv, of.cudnn.rnn, of.mkldnn.matmul, of.mkldnn.conv)
    return [place.fp32_precision for place in places]

def older_switches():
    for look in (torch.get_float32_matmul_precision, lambda: torch.backends.cudnn.allow_tf32):
        try:
            yield look()
        except RuntimeError:
            yield None

def switch(place, name, value):
    return lambda: setattr(place, name, value)

of = torch.backends
states = [
    *(switch(place, "fp32_precision", "tf32") for place in (of, of.cuda.matmul, of.cudnn, of.cudnn.conv)),
    *(switch(place, "fp32_precision", "ieee") for place in (of, of.cudnn.conv)),
    *(switch(place, "allow_tf32", True) for place in (of.cuda.matmul, of.cudnn)),
    *(lambda value=value: torch.set_float32_matmul_precision(value) for value in ("high", "medium", "highest")),
    lambda: [torch.set_float32_matmul_precision(one) for one in ("medium", "highest")] + [states[0]()],
]
for number, state in enumerate(states):
    if os.fork():
        assert os.wait()[1] == 0, number
        continue
    state()
    before, older = switches(), [*older_switches()]
    for _ in range(2):
        with exact(torch.device("cpu")):
            inside = switches()
        assert set(inside) <= {"ieee", "none"}, (number, inside)
        assert switches() == before, (number, before, switches())
        assert [*older_switches()] == older, (number, older, [*older_switches()])
    break
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="starts processes by a fork")
def test_switches_of_any_kind_are_put_back(run_python, tmp_path):
    import torch

    if not hasattr(torch.backends, "fp32_precision"):
        pytest.skip("this torch has the older switches alone")
    run_python(SWITCHES, cwd=tmp_path)


def test_a_training_loop_around_it_does_not_change_a_score():
    import torch
    from torch.nn.modules.module import register_module_forward_pre_hook

    def scores():
        return {name: explain_examples(name).scores for name in metric_names()}

    seen = set()

    def look(module, given):
        precision = (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32)
        seen.add((*precision, torch.is_autocast_enabled("cpu"), torch.is_grad_enabled()))

    expected = scores()
    pool.unload()
    hook = register_module_forward_pre_hook(look)
    torch.set_float32_matmul_precision("medium")
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = scores()
    finally:
        hook.remove()
        torch.set_float32_matmul_precision("highest")
        pool.unload()
    assert seen == {("highest", False, False, False)}
    for name, values in found.items():
        assert values == pytest.approx(expected[name], rel=1e-5, abs=1e-6, nan_ok=True), name
