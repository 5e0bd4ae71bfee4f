"""The benchmark of metrics of caption sets runs."""

from script_modules import script_module


def test_a_line_per_metric(capsys, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert script_module("bench/distribution.py").main(["--smoke"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["trm, CIDEr-D", "trm, METEOR", "mmd_bert", "frechet_bert"]
    assert all("examples per second" in line and "for 20, value " in line for line in lines)
