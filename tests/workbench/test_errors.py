"""Messages of the page about errors of users."""

import gradio as gr
import pytest

from vlgauge.core.files import limits
from vlgauge.inputs.tables.files import read_rows
from vlgauge_workbench.errors import in_words_of


def test_a_limit_that_users_of_a_page_cannot_raise_has_no_hint_on_it():
    with pytest.raises(gr.Error) as caught, in_words_of({}), limits(max_rows=1):
        read_rows("a.jsonl", data=b'{"predictions": "a"}\n{"predictions": "b"}\n')
    assert "at most 1 rows, got more in 'a.jsonl'" in caught.value.message
    assert "--" not in caught.value.message


def test_formats_that_are_not_read_in_workers_are_not_offered(tmp_path):
    (tmp_path / "a.foo").touch()
    with pytest.raises(gr.Error) as caught, in_words_of({}):
        read_rows(str(tmp_path / "a.foo"))
    assert "parquet" in caught.value.message
    assert "xlsx" not in caught.value.message
