"""Gradio without the writer of its stubs."""

import importlib
import sys

import gradio

from vlgauge.workbench.stubs import no_stubs


def test_no_stub_is_written(monkeypatch, tmp_path):
    name = "gradio.component_meta"
    monkeypatch.setattr(gradio, "component_meta", gradio.component_meta)
    (tmp_path / "made.py").write_text("class Made:\n    pass\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("made").Made
    monkeypatch.delitem(sys.modules, name)
    with no_stubs():
        importlib.import_module(name).create_or_modify_pyi(made, "Made", [])
    assert not (tmp_path / "made.pyi").exists()
    monkeypatch.delitem(sys.modules, name)
    importlib.import_module(name).create_or_modify_pyi(made, "Made", [])
    assert (tmp_path / "made.pyi").exists()
