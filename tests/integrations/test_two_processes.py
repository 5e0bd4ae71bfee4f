"""Two processes with gloo: the numbers of one."""

import json
import os
import subprocess
import sys

import pytest
import tiny_captioner
from folders import HELPERS

import vlgauge
from vlgauge.integrations.transformers import GenerationMetrics

COLUMNS = {"images": "image", "references": "captions"}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each of the two processes had."""
    folder = tmp_path_factory.mktemp("two")
    package = os.path.dirname(os.path.dirname(vlgauge.__file__))
    paths = os.pathsep.join([package, str(HELPERS)])
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"]
    command += [str(HELPERS / "loop_worker.py"), str(folder)]
    variables = {**os.environ, "PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": "", "HF_HOME": str(folder / "home")}
    variables |= {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*are empty and were scored as such")]


@pytest.mark.parametrize("batch_eval", [False, True], ids=["whole", "batches"])
def test_trainer_of_two_processes_has_the_numbers_of_one(found, tmp_path, batch_eval):
    rows = tiny_captioner.rows(11)  # two batches of four on each, the last of them padded
    words = tiny_captioner.tokenizer()
    metrics = GenerationMetrics(["pac_s", "rouge_l"], tokenizer=words, rows=rows, columns=COLUMNS, profile="embedded")
    alone = tiny_captioner.trainer(tmp_path, rows, metrics, batch_eval=batch_eval).evaluate()
    first, second = (of_rank[f"trainer {batch_eval}"] for of_rank in found)
    assert first == second
    assert len(first) == 6
    assert first == pytest.approx({key: alone[key] for key in first}, rel=1e-6)


def test_rows_come_once_to_the_first_process(found):
    expected = [[row, f"caption {row}"] for row in range(5)]
    for way in ("gathered", "accelerator"):
        assert [of_rank[way] for of_rank in found] == [expected, None]
    assert [row for batch in found[0]["in a loop"] for row in batch] == [[row, "a"] for row in range(5)]
    assert found[1]["in a loop"] == [None] * 2


def test_every_process_has_the_numbers_of_all_rows(found):
    scores = [1.0, 1.0, 0.5, 0.5, 0.5]
    assert (
        found[0]["torchmetrics"]
        == found[1]["torchmetrics"]
        == {
            "rouge_l": pytest.approx(sum(scores) / 5),
            "rouge_l_undefined": 0,
        }
    )


def test_error_of_the_first_process_ends_all(found):
    assert found[0]["error"] == "ValueError: no such picture"
    assert found[1]["error"] == (
        "RuntimeError: the first process, which scores for all, ended with ValueError: no such picture"
    )
