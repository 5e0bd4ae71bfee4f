"""The benchmark of trm, frechet_bert and CIDEr-D runs, compares, and says what it found."""

import pytest
from script_modules import script_module


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    return script_module("bench/distribution.py")


def test_rows_agree_with_the_plain_algorithms(bench, capsys):
    names = ["trm-5v5", "trm-7v10", "frechet-5v5", "cider-10", "corpus-cider", "memory"]
    assert bench.main([*names, "--smoke"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["row", *names]
    assert all("max difference" in line for line in lines[1:-1])
    assert "MB with chunk_bytes 16 MB" in lines[-1]


def test_a_wrong_number_is_told(bench, capsys, monkeypatch):
    monkeypatch.setattr(bench, "cider_d", lambda texts, df: 1e-6 + cider_d(texts, df))
    from vlgauge.distances.cider import cider_d

    assert bench.main(["cider-10", "--smoke"]) == 1


def test_unknown_rows_are_refused(bench, capsys):
    with pytest.raises(SystemExit):
        bench.main(["trm-9v9"])
    assert "ROW must be one of trm-5v5, trm-10v5," in capsys.readouterr().err


def test_the_tables_of_size_and_power(bench, capsys):
    assert bench.main(["--power", "--runs", "4"]) == 0
    of_sets, of_corpora = (table.splitlines() for table in capsys.readouterr().out.split("\n\n"))
    assert of_sets[0].startswith("| candidates differ by | 5v5 Q / separate Q / MMD / Frechet / base |")
    first = ["| nothing (size)", "| location, +0.6 in every coordinate"]
    assert [line.split(" | ")[0] for line in of_sets[2:4]] == first
    assert len(of_sets) == 8
    assert of_sets[4].split(" | ")[2].startswith("1 1 1 1")  # mode collapse at 10 v 5
    assert of_corpora[0] == "| corpora of 100 images | 5v5 Q / separate Q / MMD / Frechet / base | 10v5 Q / " + (
        "separate Q / MMD / Frechet / base |"
    )
    assert len(of_corpora) == 9
    power, expected = of_corpora[3], of_corpora[8]
    assert power.startswith("| corpus p: 10 images differ by +1 (power) | ")
    assert expected.startswith("| expected mean ln p, no image differs | -.9")
