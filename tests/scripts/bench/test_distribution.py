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
    from vlgauge.distances.cider import cider_d_of_examples as right

    monkeypatch.setattr(bench, "cider_d_of_examples", lambda *given: (1e-6 + one for one in right(*given)))
    assert bench.main(["cider-10", "--smoke"]) == 1


def test_unknown_rows_are_refused(bench, capsys):
    with pytest.raises(SystemExit):
        bench.main(["trm-9v9"])
    assert "ROW must be one of trm-5v5, trm-10v5," in capsys.readouterr().err
