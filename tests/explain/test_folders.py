"""The explanation of a metric is found in its folder, at any location."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from vlgauge.core.catalog import folder_module
from vlgauge.explain import Explanation, explain, explanation_of

OWN = """
from vlgauge.explain import Explanation
from .amounts import AMOUNT

class Own(Explanation):
    name = "own"

    def reason(self, row):
        return f"amount {AMOUNT}"

    def values(self, row):
        return {"amount": AMOUNT}
"""


@pytest.fixture
def own(tmp_path, use_metrics):
    """Return a function that writes the folder of a metric "own", which is then the only one."""
    use_metrics(tmp_path)

    def write(**files):
        folder = tmp_path / "own"
        folder.mkdir(exist_ok=True)
        (folder / "own.py").write_text("class Own:\n    pass\n")
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        return folder

    return write


def test_it_imports_those_next_to_it(own):
    own(explanation=OWN, amounts="AMOUNT = 7\n")
    found = explain("own", {"predictions": ["x"]}, {"own_scores": [1.0], "own_details": [{}]})
    assert isinstance(found, Explanation)
    assert found.reason(0) == "amount 7"
    assert explanation_of("own") is type(found)


def test_a_folder_elsewhere_is_another_package(own, tmp_path, use_metrics):
    folder = own(explanation=OWN, amounts="AMOUNT = 7\n")
    assert folder_module("own", "amounts").AMOUNT == 7
    elsewhere = tmp_path / "elsewhere" / "own"
    elsewhere.mkdir(parents=True)
    for path in folder.glob("*.py"):
        (elsewhere / path.name).write_text(path.read_text().replace("AMOUNT = 7", "AMOUNT = 8"))
    use_metrics(elsewhere.parent)
    assert folder_module("own", "amounts").AMOUNT == 8


def test_threads_get_one_class(own):
    own(explanation=OWN, amounts="import time\ntime.sleep(0.05)\nAMOUNT = 7\n")
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(explanation_of, ["own"] * 8))) == 1


def test_a_metric_without_an_explanation_says_so(own):
    own()
    with pytest.raises(ValueError, match=r"^`name`.*got 'own'"):
        explanation_of("own")


@pytest.mark.parametrize(("old", "new", "n"), [('"own"', '"other"', 0), ("class Own", "class Two", 2)])
def test_one_class_explains_a_metric(own, old, new, n):
    own(explanation=(OWN if n else "") + OWN.replace(old, new), amounts="AMOUNT = 7\n")
    with pytest.raises(ValueError, match=rf'`name = "own"`.*got {n}'):
        explanation_of("own")


def test_the_classes_are_found_without_evaluate(run_python, tmp_path):
    code = """
from vlgauge.core.catalog import metric_names
from vlgauge.explain import explanation_of
print([explanation_of(name).name for name in metric_names()] == metric_names())
print([name for name in ("evaluate", "torch") if name in sys.modules])
"""
    assert run_python(code, cwd=tmp_path) == "True\n[]\n"
