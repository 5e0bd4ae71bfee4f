"""Files of METEOR 1.5 that are missing, damaged, user-supplied or of another kind, without an import of the package."""

import gzip
import importlib
import re
import sys
import zipfile

import pytest
from meteor15 import needs_wheel, write_lists, write_table

from vlgauge.checkpoints.files import sha256_of
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.signatures import local_name
from vlgauge.families.ngram.meteor15 import sources
from vlgauge.families.ngram.meteor15.scoring import coco_rows
from vlgauge.families.ngram.meteor15.sources import INSTALLED, check_source, check_sources, open_sources


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of the right name with small files, which fails if it is imported."""
    folder = tmp_path / INSTALLED
    (folder / "meteor" / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, INSTALLED, raising=False)
    importlib.invalidate_caches()
    for name, write, given in (("LISTS", write_lists, ()), ("TABLE", write_table, ([("cup", "ball")],))):
        known = getattr(sources, name)
        digest = sha256_of(write(folder / known.path, *given))
        monkeypatch.setattr(sources, name, known._replace(sha256=digest))
    return folder


def test_not_installed(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, INSTALLED, raising=False)
    importlib.invalidate_caches()
    message = r'1\.2.*"vlgauge\[meteor\]"'
    with pytest.raises(ImportError, match=message):
        open_sources(metric="meteor")
    found = Preflight("meteor", "meteor")
    check_sources(found)
    with pytest.raises(ImportError, match=message):
        found.end()
    with pytest.raises(ImportError, match=message):
        open_sources(paraphrases=None, metric="meteor")


def test_files_of_the_package(package):
    opened = open_sources(metric="meteor")
    assert (opened.lists_name, opened.table_name) == ("pycocoevalcap-1.2", "pycocoevalcap-1.2")
    assert coco_rows(["cup"], [["ball"]], opened).scores == pytest.approx([0.6])
    assert INSTALLED not in sys.modules
    without = open_sources(paraphrases=None, metric="meteor")
    assert (without.table, without.table_name) == (None, "none")
    assert coco_rows(["cup"], [["ball"]], without).scores == [0.0]


@pytest.mark.parametrize(("name", "what"), [("LISTS", "word lists"), ("TABLE", "paraphrase table")])
def test_damaged_or_missing_files_of_the_package(package, name, what):
    known = getattr(sources, name)
    file = package / known.path
    file.write_bytes(file.read_bytes()[:-1])
    for got in (f"{sha256_of(file)[:8]} in", "no file"):
        message = (
            f"the {what} of pycocoevalcap 1.2 must have the sha256 {known.sha256[:8]}, got {got} {str(file)!r}; "
            "run: pip install --force-reinstall pycocoevalcap==1.2"
        )
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            open_sources(metric="meteor")
        file.unlink(missing_ok=True)
    if name == "TABLE":
        assert open_sources(paraphrases=None, metric="meteor").table is None


def test_files_of_the_user(tmp_path):
    lists, table = write_lists(tmp_path / "own.jar"), write_table(tmp_path / "own.gz", [("cup", "big ball")])
    opened = open_sources(lists, str(table), metric="meteor")
    assert opened.lists_name == local_name(sha256_of(lists))
    assert opened.table_name == local_name(sha256_of(table))
    assert coco_rows(["cup"], [["big ball"]], opened).scores[0] > 0
    # Another file in its place is another table.
    write_table(table, [("cup", "small ball")])
    opened = open_sources(lists, str(table), metric="meteor")
    assert coco_rows(["cup"], [["big ball"]], opened).scores == [0.0]
    assert opened.table_name == local_name(sha256_of(table))


@needs_wheel
def test_a_copy_of_the_installed_file_has_its_name(tmp_path):
    copy = tmp_path / "copy.jar"
    copy.write_bytes(sources.file_of(sources.LISTS, metric="meteor").read_bytes())
    assert open_sources(copy, None, metric="meteor").lists_name == "pycocoevalcap-1.2"


@pytest.mark.parametrize("setting", ["lists", "paraphrases"])
def test_no_such_file(setting, tmp_path):
    lists = write_lists(tmp_path / "own.jar")
    given = {"lists": lists, "paraphrases": None} | {setting: tmp_path / "no"}
    message = f"`{setting}` must be 'pycocoevalcap' or an existing file, got {str(tmp_path / 'no')!r}"
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"):
        open_sources(**given, metric="meteor")


def test_no_lists(tmp_path):
    path = tmp_path / "own.jar"
    path.write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"^`lists`.*meteor-1\.5\.jar.*function/english\.words"):
        open_sources(path, None, metric="meteor")
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("function/english.words", "the\n")
    with pytest.raises(ValueError, match=r"'nonbreaking/english\.prefixes'"):
        open_sources(path, None, metric="meteor")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0.5\na\n", r".*number of lines.*"),
        (b"0.5\na\nb\n0.5\n\nb\n", r".*phrase without.*"),
        (b"0.5\na\n \t\n", r".*phrase without.*"),
        (b"0.5\n\xff\na\n", r".*UTF-8"),
    ],
)
def test_another_file_as_table(content, message, tmp_path):
    path = tmp_path / "own.gz"
    path.write_bytes(gzip.compress(content))
    opened = open_sources(write_lists(tmp_path / "own.jar"), path, metric="meteor")
    with pytest.raises(ValueError, match=rf"^`paraphrases`.*got {message}"):
        coco_rows(["a"], [["b"]], opened)


@pytest.mark.parametrize("content", [b"no gzip", b""])
def test_damaged_tables(content, tmp_path):
    path = write_table(tmp_path / "own.gz", [(f"a {i}", "b") for i in range(5_000)])
    path.write_bytes(content or path.read_bytes()[:-9])
    opened = open_sources(write_lists(tmp_path / "own.jar"), path, metric="meteor")
    with pytest.raises(ValueError, match=r"^`paraphrases`.*gzip"):
        coco_rows(["a"], [["b"]], opened)


@pytest.mark.parametrize("source", [3, True, ["a"]])
def test_no_setting(source):
    with pytest.raises(ValueError, match=r"^`lists`.*'pycocoevalcap'.*path"):
        check_source("lists", source)
    with pytest.raises(ValueError, match=r"^`paraphrases`.*'pycocoevalcap'.*no paraphrases"):
        check_source("paraphrases", source)
