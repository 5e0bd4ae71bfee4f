"""Possible errors of the demo, each reported in one line."""

import warnings

from vlgauge.explain import examples


def test_missing_packages_are_named_with_the_command(run_demo, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(run_demo, "find_spec", lambda name: None if name in ("jinja2", "torch") else name)
    assert run_demo.main(["--output", str(tmp_path)]) == 2
    message = 'run_demo: not installed: jinja2, torch; run: pip install "vlgauge[demo]"\n'
    assert capsys.readouterr().err == message


def test_warnings_are_one_line_each(run_demo, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(run_demo, "run", lambda *_: warnings.warn("a demo\nlooks", stacklevel=1))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run_demo.main(["--output", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "run_demo: warning: a demo looks\n"


def test_missing_examples_are_told_in_one_line(run_demo, monkeypatch, capsys, tmp_path):
    def lacking(path):
        raise FileNotFoundError(f"{path} is missing")

    monkeypatch.setattr(examples, "_read", lacking)
    assert run_demo.main(["--output", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("run_demo: error: ")
    assert "examples.jsonl is missing" in error
    assert error.count("\n") == 1


def test_interrupted_run_leaves_the_old_report(run_demo, monkeypatch, capsys, tmp_path):
    report = tmp_path / "report.html"
    report.write_text("old")
    monkeypatch.setattr(run_demo, "run", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run_demo.main(["--output", str(tmp_path)]) == 130
    assert report.read_text() == "old"
    assert "interrupted" in capsys.readouterr().err
