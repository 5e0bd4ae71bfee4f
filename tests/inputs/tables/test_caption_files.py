"""Caption files of COCO, pycocoevalcap, lmms-eval and VLMEvalKit."""

import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vlgauge.cli import main
from vlgauge.core.errors import UsageError
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.tables import caption_files, files
from vlgauge.inputs.tables.caption_files import add_columns, join_references, parse_list, references_by_id
from vlgauge.inputs.tables.files import read_rows

ANNOTATIONS = {
    "info": {},
    "images": [{"id": 7}, {"id": 3}],
    "annotations": [
        {"id": 1, "image_id": 7, "caption": "A dog."},
        {"id": 2, "image_id": 3, "caption": "A cat."},
        {"id": 3, "image_id": 7, "caption": "The dog runs."},
    ],
}
SAMPLE = {
    "doc_id": 0,
    "target": "['A dog.', 'The dog runs.']",
    "filtered_resps": "a dog runs",
    "doc_hash": "x",
    **{
        f"coco_{name}": {"answer": ["A dog.", "The dog runs."], "pred": "a dog runs", "image_id": 7, "id": 0}
        for name in ("Bleu_4", "CIDEr")
    },
}


@pytest.fixture
def write(tmp_path):
    def written(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return written


def test_coco_annotations(write):
    assert read_rows(write("a.json", ANNOTATIONS)) == [
        {"id": 7, "references": ["A dog.", "The dog runs."]},
        {"id": 3, "references": ["A cat."]},
    ]


def test_coco_results(write):
    (row,) = read_rows(write("r.json", [{"image_id": 7, "caption": "a dog runs"}]))
    assert (row["id"], row["predictions"]) == (7, "a dog runs")
    assert "references" not in row


@pytest.mark.parametrize("caption", ["a dog", {"caption": "a dog", "image_id": 7, "id": 1}], ids=["tokens", "raw"])
def test_dictionaries_of_pycocoevalcap(write, caption):
    assert read_rows(write("d.json", {"7": [caption], "3": [caption, caption]})) == [
        {"id": "7", "predictions": "a dog"},
        {"id": "3", "predictions": ["a dog", "a dog"]},
    ]


def test_samples_of_lmms_eval(write):
    (row,) = read_rows(write("20260101_samples_coco2014_cap_val.jsonl", json.dumps(SAMPLE)))
    assert (row["id"], row["predictions"], row["references"]) == (7, "a dog runs", ["A dog.", "The dog runs."])


@pytest.mark.parametrize("ending", ["tsv", "json", "xlsx"])
def test_results_of_vlmevalkit(write, tmp_path, ending):
    captions = ["A dog.", "The dog\\'s toy, it's \"red\"."]
    table = {"index": [4], "question": ["Describe"], "answer": [str(captions)], "prediction": ["a dog, running"]}
    if ending == "json":
        path = write("model_COCO_VAL.json", [{name: cells[0] for name, cells in table.items()}])
    else:
        pandas = pytest.importorskip("pandas")
        path = str(tmp_path / f"model_COCO_VAL.{ending}")
        if ending == "xlsx":
            pytest.importorskip("openpyxl")
            pandas.DataFrame(table).to_excel(path, index=False)
        else:
            pandas.DataFrame(table).to_csv(path, sep="\t", index=False, quoting=1)
    (row,) = read_rows(path)
    assert (row["predictions"], row["references"]) == ("a dog, running", captions)
    assert str(row["id"]) == "4"


@pytest.mark.parametrize(("cell", "caption"), [(None, ""), (7, "7"), (1.5, "1.5"), ("a dog", "a dog")])
def test_cells_of_a_workbook_that_are_no_text(write, cell, caption):
    rows = [{"index": number, "answer": "['A dog.']", "prediction": one} for number, one in enumerate(["a cat", cell])]
    assert [row["predictions"] for row in read_rows(write("a.json", rows))] == ["a cat", caption]


def test_a_dictionary_of_single_captions_has_numbers_as_keys(write):
    assert read_rows(write("d.json", {"7": "a dog", "3": ["a cat"]})) == [
        {"id": "7", "predictions": "a dog"},
        {"id": "3", "predictions": "a cat"},
    ]
    with pytest.raises(UsageError, match="JSON"):
        read_rows(write("e.json", {"model": "a", "prompt": "b"}))


def test_a_null_caption_of_coco_is_told_by_its_row(write, capsys):
    results = [{"image_id": 7, "caption": "a dog"}, {"image_id": 3, "caption": None}]
    words = ["score", "bleu", write("r.json", results), "--annotations", write("a.json", ANNOTATIONS)]
    assert main(words) == 2
    told = capsys.readouterr().err
    assert "'predictions'" in told
    assert "row 1" in told


def test_numbers_that_a_table_made_fractions_are_joined():
    references = references_by_id([{"id": 7.0, "references": ["A dog."]}, {"id": 0.5, "references": ["b"]}], "FILE")
    rows = [{"id": 7}, {"id": 0.5}]
    assert [row["references"] for row in join_references(rows, references, "FILE")] == [["A dog."], ["b"]]


def test_a_damaged_workbook_is_one_sentence(write):
    pytest.importorskip("openpyxl")
    with pytest.raises(UsageError, match="Excel workbook"):
        read_rows(write("a.xlsx", "PK"))


@pytest.mark.parametrize(("cell", "part"), [("A1000002", "1,000,000 rows"), ("XFD90000", "lists, objects")])
def test_a_cell_far_from_the_others_is_refused(tmp_path, monkeypatch, cell, part):
    openpyxl = pytest.importorskip("openpyxl")
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(pandas, "read_excel", lambda *_, **__: pytest.fail("read"))
    book = openpyxl.Workbook()
    book.active["A1"] = "predictions"
    book.active[cell] = "x"
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(UsageError, match=f"{part}"):
        read_rows(str(tmp_path / "a.xlsx"))


def test_a_workbook_is_loaded_once_and_its_texts_have_a_limit(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["predictions", "n", "sum"], *([f"a dog {number}", number, "=1+1"] for number in range(99))):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx", "a") as packed:
        packed.writestr("xl/sharedStrings.xml", "<sst>" + "<x:si><x:t>a</x:t></x:si>" * 50 + "<si/>" * 51 + "</sst>")
    loaded, load = [], openpyxl.load_workbook
    monkeypatch.setattr(openpyxl, "load_workbook", lambda *given, **how: loaded.append(1) or load(*given, **how))
    rows = read_rows(str(tmp_path / "a.xlsx"))
    assert rows[98] == {"predictions": "a dog 98", "n": 98, "sum": None}
    assert (len(rows), len(loaded)) == (99, 1)
    # 101 texts count 500 bytes each, and the workbook has about 30,000 bytes when it is decompressed.
    for limit, what in ((45_000, "of lists, objects"), (10_000, "when it is decompressed")):
        monkeypatch.setattr(files, "limit_unpacked_size", lambda _, limit=limit: limit)
        with pytest.raises(UsageError, match=rf"at most {limit:,} bytes {what}"):
            read_rows(str(tmp_path / "a.xlsx"))
    assert len(loaded) == 1


def test_rows_of_any_other_layout_stay(write):
    rows = [{"doc_id": 1, "filtered_resps": "x"}, {"doc_id": 2, "filtered_resps": "y"}]
    assert read_rows(write("a.json", rows)) == rows
    mixed = [{"image_id": 1, "caption": "a"}, {"image_id": 2}]
    assert read_rows(write("b.json", mixed)) == mixed
    own = [{"image_id": 1, "caption": "a", "predictions": "b"}]
    assert read_rows(write("c.json", own)) == own


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("['a', 'b']", ["a", "b"]),
        ('["it\'s"]', ["it's"]),
        ("('a', 'b')", ["a", "b"]),
        (["a"], ["a"]),
        ("[laughs]", None),
        ("[1, 2]", None),
        ("['a'", None),
        ("__import__('os')", None),
        ("[" * 5000, None),
        ("[]", None),
        (None, None),
    ],
)
def test_lists_as_python_prints_them(cell, found):
    assert parse_list(cell) == found


def test_lists_as_python_prints_them_are_parsed_by_workers_if_the_file_is_untrusted(write, monkeypatch):
    path = write("a.jsonl", json.dumps({"index": 1, "prediction": "A cat.", "answer": "['One.', 'Two.']"}))
    expected = read_rows(path)
    assert expected[0]["references"] == ["One.", "Two."]
    monkeypatch.setattr(caption_files, "parse_list", refuse_to_parse)
    with use_sandbox():
        assert read_rows(path) == expected


def test_a_list_is_parsed_only_in_rows_of_vlmevalkit_and_up_to_the_first_other_row(monkeypatch):
    row = {"index": 1, "prediction": "A cat.", "answer": "['One.']"}
    parsed, parse_list = [], caption_files.parse_list
    monkeypatch.setattr(caption_files, "parse_list", lambda cell: parsed.append(cell) or parse_list(cell))
    assert "references" not in add_columns([row, {"index": 2, "answer": "['Two.']"}, dict(row)])[0]
    assert parsed == ["['One.']"]


def test_formats_with_lists_have_no_printed_ones(tmp_path):
    for answer, columns in (("['One.']", {"answer"}), (["One."], {"answer", "id", "predictions", "references"})):
        table = pa.table({"index": [1], "prediction": ["A cat."], "answer": [answer]})
        pq.write_table(table, tmp_path / "a.parquet")
        assert read_rows(str(tmp_path / "a.parquet"))[0].keys() == {"index", "prediction"} | columns


def refuse_to_parse(cell):
    raise AssertionError("a list of an untrusted file was parsed here")


def test_references_are_joined_by_id():
    references = references_by_id([{"id": 7, "references": ["A dog."]}, {"id": 3, "references": ["A cat."]}], "FILE")
    rows = [{"id": "3", "predictions": "a cat"}, {"id": 7, "predictions": "a dog"}]
    assert [row["references"] for row in join_references(rows, references, "FILE")] == [["A cat."], ["A dog."]]
    assert "references" not in rows[0]
    with pytest.warns(UserWarning, match=r"1 of 2 images.*FILE"):
        assert len(join_references(rows[:1], references, "FILE")) == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": 1, "predictions": "a"}], r"1 of 1.*'1'.*'7'"),
        ([{"id": 7}, {"image_id": 7}], "got image '7'"),
        ([{"predictions": "a"}], r"row 0 without"),
    ],
)
def test_rows_that_cannot_be_joined(rows, message):
    with pytest.raises(UsageError, match=message):
        join_references(rows, {"7": ["A dog."]}, "FILE")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": 7}], r"got .*row 0"),
        ([{"references": ["a"]}], "in row 0"),
        ([{"id": 7, "references": ["a"]}, {"id": "7", "references": ["b"]}], "got '7'"),
    ],
)
def test_annotations_that_are_none(rows, message):
    with pytest.raises(UsageError, match=message):
        references_by_id(rows, "FILE")


@pytest.mark.parametrize("image", [[1], {"a": 1}], ids=str)
def test_an_image_id_that_names_no_image_is_one_sentence(write, image):
    one = {"image_id": image, "caption": "a dog"}
    with pytest.raises(UsageError, match="JSON"):
        read_rows(write("a.json", {"annotations": [one], "images": 5}))
    assert read_rows(write("b.json", [one])) == [one]
