"""The matrix of code paths contains every pair, and reports failed runs."""

from itertools import combinations, product

import pytest
from script_modules import script_module


@pytest.fixture
def matrix():
    return script_module("run_matrix.py")


@pytest.mark.parametrize(("level", "most"), [("AVX512", 13), ("AVX2", 8), ("DEFAULT", 4), ("NEON", 4)])
def test_every_pair_of_values_is_run(matrix, level, most):
    factors = matrix.factors_of(level)
    runs = matrix.covering_runs(factors)
    for a, b in combinations(factors, 2):
        assert {(run[a], run[b]) for run in runs} == set(product(factors[a], factors[b]))
    assert len(runs) <= most
    assert runs == matrix.covering_runs(factors)


def test_a_processor_runs_what_it_has(matrix):
    assert matrix.factors_of("AVX2")["OPENBLAS_CORETYPE"] == ("Prescott", "Haswell", "Zen")
    assert matrix.factors_of("NEON")["ATEN_CPU_CAPABILITY"] == ("default",)


def test_variables_reach_the_tests(matrix, monkeypatch, tmp_path):
    seen = []

    def run(command, *, env, stdout, **rest):
        seen.append((command, env))
        stdout.write("2 passed in 1 s\n")
        return type("Finished", (), {"returncode": 0})()

    monkeypatch.setattr(matrix.subprocess, "run", run)
    settings = matrix.covering_runs(matrix.factors_of("AVX512"))
    for number, values in enumerate(settings, 1):
        assert matrix.run_tests(values, number, tmp_path / "log") == 0
    for number, (values, (command, env)) in enumerate(zip(settings, seen, strict=True), 1):
        assert env["OPENBLAS_CORETYPE"] == values["OPENBLAS_CORETYPE"]
        assert env["MKL_NUM_THREADS"] == env["OMP_NUM_THREADS"] == values["OMP_NUM_THREADS"]
        assert env["PYTHONHASHSEED"] == str(number)
        assert (f"--random-order-seed={number}" in command) is (values["order"] == "random")


def test_a_failed_run_is_told(matrix, monkeypatch, capsys, tmp_path):
    def run_tests(run, seed, log, paths):
        log.write_text("1 failed, 3 passed in 1 s\n" if seed == 2 else "4 passed in 1 s\n")
        return int(seed == 2)

    monkeypatch.setattr(matrix, "ROOT", tmp_path)
    monkeypatch.setattr(matrix, "run_tests", run_tests)
    assert matrix.main([]) == 1
    printed = capsys.readouterr().out
    assert printed.count("4 passed") == len(printed.splitlines()) - 3
    assert "1 failed, 3 passed" in printed
    assert printed.endswith("runs failed\n")


def test_one_run_of_some_tests(matrix, monkeypatch, capsys, tmp_path):
    asked = []

    def run_tests(run, seed, log, paths):
        asked.append((run, seed, paths))
        log.write_text("2 passed in 1 s\n")
        return 0

    monkeypatch.setattr(matrix, "ROOT", tmp_path)
    monkeypatch.setattr(matrix, "factors_of", lambda level: {"a": ("1", "2"), "b": ("1", "2")})
    monkeypatch.setattr(matrix, "run_tests", run_tests)
    assert matrix.main(["--only", "3", "tests/inputs/text", "tests/inputs/images"]) == 0
    third = matrix.covering_runs({"a": ("1", "2"), "b": ("1", "2")})[2]
    assert asked == [(third, 3, ["tests/inputs/text", "tests/inputs/images"])]
    with pytest.raises(SystemExit):
        matrix.main(["--only", "5"])
    assert "argument --only: invalid choice: 5" in capsys.readouterr().err
