"""Cells of a file of examples: relative image paths, strings that are not lists, texts without content."""

import json
import re
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pytest
from folders import ROOT
from PIL import Image

from vlgauge.api.row_sources import RowReader, tables
from vlgauge.cli import main
from vlgauge.families.base import Text
from vlgauge.inputs.tables import files
from vlgauge.inputs.tables.files import is_python_list, make_paths_absolute, read_rows


def test_what_is_located(tmp_path):
    folder = tmp_path / "data"
    cells = ["a.png", "/b.png", ["c.png", "d/e.png"], {"path": "f.mp4", "start": 1.0}, {"frames": ["g.png"]}, None, 3]
    columns = {"images": cells, "videos": None, "predictions": ["a.png"]}
    found = make_paths_absolute(columns, str(folder / "rows.jsonl"))
    here = [str(folder / name) for name in ("a.png", "c.png", "d/e.png", "f.mp4", "g.png")]
    assert found["images"] == [
        here[0],
        "/b.png",
        [here[1], here[2]],
        {"path": here[3], "start": 1.0},
        {"frames": [here[4]]},
        None,
        3,
    ]
    assert (found["videos"], found["predictions"]) == (None, ["a.png"])


def test_addresses_stay_as_they_are():
    cells = ["https://example.org/a.png", "data:image/png;base64,AAAA", "DATA:image/png;base64,AAAA"]
    assert make_paths_absolute({"images": cells}, "rows.jsonl")["images"] == cells


def test_standard_input_starts_at_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert make_paths_absolute({"videos": ["a.mp4"]}, "-")["videos"] == [str(tmp_path / "a.mp4")]


@pytest.mark.skipif(not find_spec("open_clip"), reason="open_clip is not installed")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_score_finds_the_images_next_to_the_file(tmp_path, monkeypatch, capsys, elsewhere):
    (tmp_path / "rows" / "pictures").mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(tmp_path / "rows" / "pictures" / "red.png")
    row = {"predictions": "a red picture", "images": "pictures/red.png"}
    (tmp_path / "rows" / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path if elsewhere else tmp_path / "rows")
    file = Path("rows") / "rows.jsonl" if elsewhere else Path("rows.jsonl")
    assert main(["score", "clip_s", str(file), "--profile", "embedded", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["clip_s_undefined"] == 0


def test_address_in_a_file_is_refused_as_one(tmp_path, capsys):
    row = {"predictions": "a", "images": "https://example.org/a.png"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert main(["score", "clip_s", str(tmp_path / "rows.jsonl"), "--profile", "embedded"]) == 2
    assert "https://example.org" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cell", "refused"),
    [
        ("['A dog runs', 'one dog']", True),
        ("""["it's a dog", 'one \\' dog',]""", True),
        ("['A dog runs'\n 'one dog']", True),  # an array of numpy
        ('["A dog runs", "one dog"]', False),  # JSON, which a CSV file turns into a list
        ("['hello' she said, 'goodbye']", False),
        ("[male] said 'hello'", False),
        ("['A dog", False),
        ("[[[[[", False),
        ("['" + "\\" * 10**5 + "]", False),
        ("[]", False),
        ("('A dog runs', 'one dog')", True),
        ("('A dog',)", True),
        ("('A dog')", False),
        ("(laughs)", False),
        (["'A dog'"], False),
    ],
)
def test_a_list_as_python_prints_it(cell, refused):
    assert is_python_list(cell) is refused


@pytest.mark.parametrize("metric", ["rouge_l", "trm", "clip_s"])
def test_a_list_as_python_prints_it_is_not_one_reference(tmp_path, capsys, metric):
    text = "id,predictions,references,images\na,x,y,z\nb,\"A\ndog\",\"['A dog runs', 'one dog']\",z\n"
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8")
    assert main(["score", metric, str(tmp_path / "rows.csv"), "--profile", "embedded"]) == 2
    assert capsys.readouterr().err == (
        "vlgauge score: error: FILE must have lists of strings as JSON, got one in Python notation, ['...', '...'], in "
        "the column 'references', row 1 (line 4); parse it with ast.literal_eval and write it with json.dumps, or save "
        "JSONL or Parquet\n"
    )


@pytest.mark.filterwarnings("default:`references` has .* empty strings")
def test_blank_references_of_a_file_are_told_once(tmp_path, capsys):
    rows = [{"predictions": "a dog ran", "references": ["a dog", ""]}, {"predictions": "a", "references": [" "]}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["score", "rouge_l,bleu", str(tmp_path / "rows.jsonl"), "--format", "json"]) == 0
    out, told = capsys.readouterr()
    assert told == (
        "vlgauge score: warning: `references` has 2 empty strings in 2 of 2 rows, the first in row 0; they "
        "are ignored (rows without another reference: 1)\n"
    )
    assert json.loads(out)["rouge_l_undefined"] == 1


def test_a_list_as_python_prints_it_leaves_a_row_out():
    class Uploaded:
        kinds: ClassVar = {"a": "text"}

        def rows(self, titles, start=0, stop=None):
            yield {"a": "['A dog']"}

    reader = RowReader(Uploaded(), [Text("predictions")], {"predictions": ["a"]})
    reader.read(2)
    told = "`predictions` must have lists of strings as JSON, got one in Python notation, ['...', '...'], parse it"
    assert reader.left_out[0].reason.startswith(told)


@pytest.mark.filterwarnings("default:FILE has .* cells in the column")
def test_empty_cells_of_a_csv_file_are_told(tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    rows.write_text("predictions,a,b\nx y,x y,x\n,x y,\nNaN,x y,null\n ,None,z\n", encoding="utf-8")
    assert main(["score", "rouge_l", str(rows), "--references", "a,b", "-q"]) == 0
    told = [line.partition("FILE has ")[2].partition(";")[0] for line in capsys.readouterr().err.splitlines()]
    assert told == [
        "2 of 4 cells in the column 'predictions' that are empty, the first in row 1 (line 3)",
        "1 of 4 cells in the column 'predictions' that are the word NaN, null or None, the first in row 2 (line 4)",
        "1 of 4 cells in the column 'a' that are the word NaN, null or None, the first in row 3 (line 5)",
        "1 of 4 cells in the column 'b' that are the word NaN, null or None, the first in row 2 (line 4)",
    ]


def test_texts_that_are_null_or_nan_are_refused_all_at_once(tmp_path, capsys):
    cells = ['"a"', "NaN", '"b"', "null"]
    lines = [f'{{"id": "s{n}", "predictions": {cell}, "references": ["a"]}}\n' for n, cell in enumerate(cells)]
    (tmp_path / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
    assert main(["score", "rouge_l", str(tmp_path / "rows.jsonl")]) == 2
    told = "column 'predictions', got null or NaN in 2 of 4, the first in row 1 (id 's1'); insert the text"
    assert told in capsys.readouterr().err


@pytest.mark.filterwarnings("default:FILE has .* cells in the column")
def test_empty_texts_of_other_files_are_told_and_words_taken_as_they_are(tmp_path, capsys):
    rows = '{"predictions": "NaN", "references": "None"}\n{"predictions": " ", "references": "a"}\n'
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    assert main(["score", "rouge_l", str(tmp_path / "rows.jsonl"), "-q"]) == 0
    (told,) = capsys.readouterr().err.splitlines()
    assert "FILE has 1 of 2 cells in the column 'predictions' that are empty, the first in row 1;" in told


def test_the_message_names_the_delimiter_of_a_new_format(tmp_path, monkeypatch):
    monkeypatch.setitem(files.READERS, "ssv", partial(files._read_csv, delimiter=";"))
    path = tmp_path / "rows.ssv"
    path.write_text("id;predictions\n1;a dog\n")
    assert read_rows(str(path)) == [{"id": "1", "predictions": "a dog"}]
    path.write_text("id\tpredictions\n1\ta dog\n")
    with pytest.raises(ValueError, match=r"must have ';' between its cells, got '\\t'"):
        read_rows(str(path))


def test_the_docstrings_list_every_format():
    for name in files.READERS:
        assert re.search(rf"\.{name}\b", read_rows.__doc__)
        assert re.search(rf"\b{name}\b", files.__doc__, re.IGNORECASE)


def test_lists_of_formats_follow_from_the_readers():
    endings = {f".{name}" for name in files.READERS}
    assert {*files.UNTRUSTED_ENDINGS} == endings - {".xlsx"}
    assert {*files.TABLE_ENDINGS} == endings - {".xlsx", ".txt"}
    written = re.compile(r"""["'](?:jsonl|\.jsonl|\.tsv)["']""")
    sources = [ROOT / "spaces/workbench/compare.py", ROOT / "spaces/workbench/data_set.py", Path(tables.__file__)]
    assert [path.name for path in sources if written.search(path.read_text("utf-8"))] == []
