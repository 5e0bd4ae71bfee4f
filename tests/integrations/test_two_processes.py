"""Two processes with gloo have the scores of a single process."""

import json
import os
import subprocess
import sys

import pytest
import tiny_captioner
from folders import HELPERS

import vlgauge
from vlgauge.integrations.transformers import CaptionEvaluation, GenerationMetrics

COLUMNS = {"images": "image", "references": "captions"}


@pytest.fixture(scope="module")
def launched(tmp_path_factory):
    """Return the results of the two processes, and the states that the trainers wrote."""
    folder = tmp_path_factory.mktemp("two")
    package = os.path.dirname(os.path.dirname(vlgauge.__file__))
    paths = os.pathsep.join([package, str(HELPERS)])
    # "--multi_gpu" starts processes of torch, which use the CPU by the variable below; "--cpu" would start MPI.
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    command += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    command += [str(HELPERS / "loop_worker.py"), str(folder)]
    variables = {**os.environ, "PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": "", "HF_HOME": str(folder / "home")}
    variables |= {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    states = [json.loads(path.read_text()) for path in folder.rglob("trainer_state.json")]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)], states


@pytest.fixture(scope="module")
def found(launched):
    return launched[0]


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*are empty and were scored as such")]


@pytest.mark.parametrize("batch_eval", [False, True], ids=["whole", "batches"])
def test_trainer_of_two_processes_has_the_numbers_of_one(found, tmp_path, batch_eval):
    rows = tiny_captioner.rows(11)  # two batches of four on each, the last of them padded
    words = tiny_captioner.tokenizer()
    metrics = GenerationMetrics(["pac_s", "rouge_l"], tokenizer=words, rows=rows, columns=COLUMNS, profile="embedded")
    alone = tiny_captioner.trainer(tmp_path, rows, metrics, batch_eval=batch_eval).evaluate()
    first, second = (of_rank[f"trainer {batch_eval}"] for of_rank in found)
    assert first == second
    assert len(first) == 7  # two scores of pac_s with their undefined counts, and a median; two of rouge_l
    assert first == pytest.approx({key: alone[key] for key in first}, rel=1e-6)


def test_plain_trainer_of_two_processes_has_the_numbers_of_one(found, tmp_path):
    rows = tiny_captioner.rows(11)
    evaluation = CaptionEvaluation(
        ["pac_s", "rouge_l"], rows=rows, generate=tiny_captioner.captions_of, columns=COLUMNS, profile="embedded"
    )
    alone = tiny_captioner.plain_trainer(tmp_path, rows, evaluation).evaluate()
    first, second = (of_rank["plain trainer"] for of_rank in found)
    assert first == second
    assert len(first) == 7  # two scores of pac_s with their undefined counts, and a median; two of rouge_l
    assert first == pytest.approx({key: alone[key] for key in first}, rel=1e-6)


@pytest.mark.parametrize(("best", "choose"), [("rouge_l", max), ("trm", min)])
def test_processes_agree_on_the_best_checkpoint(launched, best, choose):
    (first, second), states = launched
    scores, kept = first[f"best {best}"]
    assert second[f"best {best}"] == [scores, kept]
    assert len(set(scores.values())) > 1
    assert kept == f"checkpoint-{choose(scores, key=scores.get)}"
    assert len(states) >= 2 * len(scores)
    json.dumps(states, allow_nan=False)


def test_rows_come_once_to_the_first_process(found):
    expected = [[row, f"caption {row}"] for row in range(5)]
    for way in ("gathered", "accelerator"):
        assert [of_rank[way] for of_rank in found] == [expected, None]
    assert [row for batch in found[0]["in a loop"] for row in batch] == [[row, "a"] for row in range(5)]
    assert found[1]["in a loop"] == [None] * 2


def test_every_process_has_the_numbers_of_all_rows(found):
    mean = pytest.approx(sum([1.0, 1.0, 0.5, 0.5, 0.5]) / 5)
    expected = [mean, {"rouge_l": mean, "rouge_l_undefined": 0}]
    assert found[0]["torchmetrics"] == found[1]["torchmetrics"] == expected


def test_process_without_rows_has_the_numbers_of_the_others(found):
    said = {"predictions": ["a dog runs", "a cat"], "references": [["a dog"], ["a cat"]]}
    assert found[0]["rows of one"] == found[1]["rows of one"] == vlgauge.load("rouge_l").compute(**said)["rouge_l"]
    assert found[0]["step"] == found[1]["step"] == pytest.approx(0.75)


def test_error_of_the_first_process_ends_all(found):
    assert found[0]["error"] == "ValueError: no such picture"
    assert found[1]["error"] == (
        "RuntimeError: the first process, which scores for all, ended with ValueError: no such picture"
    )
