"""sDCI: both counting rules, as plain loops, and the values of the authors' code."""

import json

import numpy as np
import pytest
from protocol_tasks import evaluated

from vlgauge.cli import main
from vlgauge.core.files import limits
from vlgauge.research.protocols import read_sdci
from vlgauge.research.protocols.sdci import authors_rates, growth_rates


def test_worked_example():
    right, wrong = np.array([0.1, 0.3, 0.2, 0.4]), np.array([0.2, 0.1, 0.1, 0.1])
    assert growth_rates(right, wrong) == (2 / 3, 3 / 4)
    # The last caption has no separate decision there.
    assert authors_rates(right, wrong, 0.0) == (2 / 3, 2 / 3)
    # Two of four above: only the first decision counts, whichever captions it compares.
    assert authors_rates(right, wrong, 0.15) == (1 / 2, 1 / 2)
    assert np.isnan(authors_rates(right, wrong, 0.25)).all()
    assert growth_rates(np.array([0.1, 0.1]), np.array([0.1, 0.0])) == (0.0, 0.5)
    assert np.isnan(growth_rates(np.array([0.1, np.nan]), np.zeros(2))).all()


def test_rules_as_plain_loops():
    rng = np.random.default_rng(5)
    for n in (2, 3, 7, 10):
        right, wrong = rng.normal(size=(2, n))
        rises = sum(right[i + 1] > right[i] for i in range(n - 1)) / (n - 1)
        assert growth_rates(right, wrong) == pytest.approx((rises, sum(map(float.__gt__, right, wrong)) / n))
        left = sum(score > 0 for score in right) - 1
        if left > 1:
            first = sum(right[i + 1] > right[i] for i in range(min(left, n - 1))) / left
            second = sum(right[i] > wrong[i] for i in range(left)) / left
            assert authors_rates(right, wrong, 0.0) == pytest.approx((first, second))


@pytest.mark.parametrize(
    ("key", "moved", "zero"), [("cosine_as_in_the_script", (1, 0), 0.0), ("specs_score_instead_of_cosine", (2, 1), 0.0)]
)
def test_the_authors_rates(shared_folder, key, moved, zero):
    found = json.loads((shared_folder / "oracles" / "specs" / "sdci_protocol.json").read_text("utf-8"))
    cases = {name: case for name, case in found.items() if isinstance(case, dict) and "similarity" in case}
    assert len(cases) == 3
    for name, case in cases.items():
        rows = np.array(case["similarity"])
        # Padding stays 0 in their arrays.
        scores = np.where(rows == 0, 0, (rows + moved[1]) / moved[0])
        rates = [authors_rates(row[:, 0], row[:, 1], zero) for row in scores]
        kept = [rate for rate in rates if not np.isnan(rate[0])]
        assert len(kept) == case[key]["counted_images"], name
        assert [rate[0] for rate in kept] == pytest.approx(case[key]["positives"], abs=1e-12)
        assert [rate[1] for rate in kept] == pytest.approx(case[key]["negatives"], abs=1e-12)


@pytest.fixture
def table(tmp_path):
    """Three images, one of which has a single caption."""
    from PIL import Image

    rows = []
    for number, n in enumerate((3, 4, 1)):
        Image.new("RGB", (8, 8), (60 * number, 0, 0)).save(tmp_path / f"{number}.png")
        captions = ["a dog" + " and a cat" * i for i in range(n)]
        rows.append({"image": f"{number}.png", "captions": captions, "neg_captions": [f"no {c}" for c in captions]})
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_rows_and_figures(table):
    task = read_sdci([table], zero=0.0)
    assert len(task.columns["predictions"]) == len(task.columns["images"]) == 14
    assert task.columns["predictions"][:4] == ["a dog", "a dog and a cat", "a dog and a cat and a cat", "no a dog"]
    assert task.left_out == {"images with fewer than two captions": 1}
    #         growing              wrong                 the second has two below zero
    scores = [0.1, 0.2, 0.15, 0.0, 0.0, 0.2, -0.2, -0.1, 0.3, 0.4, -0.3, 0.0, 0.1, 0.5]
    figures = {name: figure.value for name, figure in evaluated(task, scores, resamples=0).figures.items()}
    ours = [100 * (1 / 2 + 1) / 2, 100 * (2 / 3 + 2 / 4) / 2]
    assert [figures["positive"], figures["negative"]] == pytest.approx(ours)
    assert figures["average"] == pytest.approx(sum(ours) / 2)
    assert [figures["authors' positive"], figures["authors' negative"]] == pytest.approx([50.0, 100.0])
    assert figures["authors' average"] == pytest.approx(75.0)


def test_command(table, capsys):
    call = ["protocol", "sdci", str(table), "--metric", "specs", "--profile", "embedded", "--resamples", "20"]
    assert main([*call, "--no-progress", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert "authors' average" in json.dumps(record)
    assert main([*call, "--zero", "nan"]) == 2
    assert "`zero`" in capsys.readouterr().err


def test_refusals(table, tmp_path):
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    rows[0]["neg_captions"].pop()
    (tmp_path / "bad.jsonl").write_text(json.dumps(rows[0]), "utf-8")
    with pytest.raises(ValueError, match=r"row 0.*`neg_captions`.*got 2"):
        read_sdci([tmp_path / "bad.jsonl"])


def saved(table, folder, **options):
    """Save the rows with embedded images in Arrow files of `datasets`."""
    from datasets import Dataset, Features, Image, List, Value

    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    for row in rows:
        row["image"] = {"bytes": (table.parent / row["image"]).read_bytes(), "path": row["image"]}
    kinds = Features({"image": Image(), "captions": List(Value("string")), "neg_captions": List(Value("string"))})
    Dataset.from_list(rows, kinds).save_to_disk(str(folder), **options)
    return rows


@pytest.mark.parametrize("below", ["", "test"])
def test_a_folder_that_datasets_saved(table, tmp_path, below):
    rows = saved(table, tmp_path / "saved" / below, num_shards=2)
    task = read_sdci([tmp_path / "saved"], zero=0.0)
    assert len(list((tmp_path / "saved").rglob("*.arrow"))) == 2
    assert task.columns["predictions"] == read_sdci([table], zero=0.0).columns["predictions"]
    assert task.columns["images"] == [rows[0]["image"]["bytes"]] * 6 + [rows[1]["image"]["bytes"]] * 8


def test_what_a_saved_folder_must_not_be(table, tmp_path):
    saved(table, tmp_path / "saved")
    state, (file,) = tmp_path / "saved" / "state.json", (tmp_path / "saved").glob("*.arrow")
    with limits(max_rows=2), pytest.raises(ValueError, match="at most 2 rows"):
        read_sdci([tmp_path / "saved"])
    with limits(max_row=9), pytest.raises(ValueError, match="bytes in a row"):
        read_sdci([tmp_path / "saved"])
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"DATA.*Arrow"):
        read_sdci([tmp_path / "saved"])
    for name in ("../rows.jsonl", "/etc/passwd.arrow", "rows.jsonl"):
        state.write_text(json.dumps({"_data_files": [{"filename": name}]}), "utf-8")
        with pytest.raises(ValueError, match="files in the same folder"):
            read_sdci([tmp_path / "saved"])
    state.write_text("{}", "utf-8")
    with pytest.raises(ValueError, match=r"state.json` must have '_data_files'"):
        read_sdci([tmp_path / "saved"])
