"""The training examples run with few images. Their results are in examples/README.md."""

import json
import math

import pytest
from script_modules import example_module

from vlgauge.core.pool import pool

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*are empty and were scored as such"),
    pytest.mark.filterwarnings("ignore:.*takes document frequencies from the references of 16 rows"),
]


@pytest.fixture(autouse=True)
def no_images_are_known_yet():
    """Unload the encoders, because images that another test had encoded would not be counted."""
    pool.unload()


@pytest.mark.filterwarnings("ignore:.*ref_pac_s exceed")  # warning about a captioner that has just begun
@pytest.mark.filterwarnings("ignore:mtime may not be reliable")  # transformers 5.0, for epochs within a second
@pytest.mark.parametrize("best", ["cider", "trm"])
def test_captioner_is_trained_and_the_best_checkpoint_kept(tmp_path, capsys, best):
    training = example_module("train_captioner.py")
    assert training.main(["--smoke", "--best", best, "--output", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    table = [line.split() for line in told.splitlines() if line.split()[:1] in (["0"], ["1"], ["2"])]
    assert [row[0] for row in table] == ["0", "1", "2"]
    column = 1 + training.METRICS.index(best)
    wanted = (min if best == "trm" else max)(table[1:], key=lambda row: float(row[column]))
    assert [row for row in table if row[-1] == "*"] == [wanted]
    assert "encoded by the first evaluation: 4, by all later ones: 0" in told
    assert "demo CLIP" in told
    assert (tmp_path / "metrics.png").stat().st_size > 10_000
    (state,) = [json.loads(path.read_text()) for path in tmp_path.rglob("trainer_state.json")]
    json.dumps(state, allow_nan=False)


def test_captioner_learns_from_all_rewards(tmp_path, capsys):
    example = example_module("reward_captioner.py")
    assert example.main(["--smoke", "--output", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [(row["reward"], row["step"]) for row in rows] == [(name, i) for name in example.REWARDS for i in range(3)]
    first, *others = ({**row, "reward": ""} for row in rows if row["step"] == 0)
    assert others == [first] * 2  # all start from the same captioner
    assert all(math.isfinite(row[name]) for row in rows for name in example.COLUMNS)
    assert "demo CLIP" in capsys.readouterr().out
    assert (tmp_path / "rewards.png").stat().st_size > 10_000


def test_what_captions_say_by_hand():
    example = example_module("reward_captioner.py")
    scene = example.scenes.Scene((example.scenes.SceneObject("circle", "purple", "small"),), None, "white")
    texts = ["a violet disc", "a purple ring and a purple circle", "a small box", "a disc a disc"]
    facts = [example.facts(text, scene) for text in texts]
    assert facts == [(True, True, False), (False, False, True), (False, False, False), (False, False, True)]
