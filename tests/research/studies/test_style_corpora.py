"""Readers of the corpora, on small files of the same form."""

import gzip
import json

import pytest
from style_definition import goemotions

from vlgauge.cli.style import KINDS
from vlgauge.research.studies.style_corpora import (
    GOEMOTIONS_LABELS,
    READERS,
    read_flickrstyle,
    read_goemotions,
    read_lines,
    read_personality_captions,
    read_senticap,
    read_table,
)


def written(path, content):
    """Write text, bytes or JSON to a path, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8", newline="\n")
    return path


# -- tables -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'text,mood,n\n"I love, it",warm,1\n"two\nlines \u2028",cold,2\n'),
        ("a.tsv", 'text\tmood\tn\nI love, it\twarm\t1\n"two\nlines \u2028"\tcold\t2\n'),
        (
            "a.jsonl",
            '{"text": "I love, it", "mood": "warm", "n": 1}\n{"text": "two\\nlines \u2028", "mood": "cold", "n": 2}',
        ),
        (
            "a.json",
            [{"text": "I love, it", "mood": "warm", "n": 1}, {"text": "two\nlines \u2028", "mood": "cold", "n": 2}],
        ),
    ],
)
def test_table_of_any_format(tmp_path, name, content):
    corpus = read_table(written(tmp_path / name, content), "text", "mood", "n")
    assert corpus.captions == ["I love, it", "two\nlines \u2028"]
    assert (corpus.styles, corpus.groups, corpus.dropped, len(corpus)) == (["warm", "cold"], ["1", "2"], {}, 2)
    assert read_table(tmp_path / name, "text", "mood").groups is None


def test_table_needs_its_columns_and_text_in_them(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"caption": "a", "style": "x"}\n{"caption": "b", "style": null}')
    with pytest.raises(ValueError, match=r"FILE.*'style'.*row 1"):
        read_table(path)
    with pytest.raises(ValueError, match=r"FILE.*'text'.*row 0"):
        read_table(path, "text")
    path = written(tmp_path / "a.csv", "caption,style,image\na,x,1\nb,y,\n")
    with pytest.raises(ValueError, match=r"FILE.*'image'.*row 1"):
        read_table(path, group="image")


# -- PERSONALITY-CAPTIONS ---------------------------------------------------------------------------------------------
def person(comment, style="Happy", image="0f3", **more):
    return {"comment": comment, "personality": style, "image_hash": image, **more}


def test_personality_captions(tmp_path):
    rows = [
        person("What a day!"),
        person("Why?", "Curious", "1a", candidates=["x"], additional_comments=["How come?", "[TIMEOUT]"]),
        person("[DISCONNECT]"),
        person("left [RETURNED]", "Sad"),
        person("bye", "[DISCONNECT]"),
        person("Not used", image="ac8d1"),
        person("used", image="1ac8"),
    ]
    corpus = read_personality_captions(written(tmp_path / "test.json", rows))
    assert corpus.captions == ["What a day!", "Why?", "How come?", "used"]
    assert corpus.styles == ["Happy", "Curious", "Curious", "Happy"]
    assert corpus.groups == ["0f3", "1a", "1a", "1ac8"]
    assert corpus.dropped == {"[TIMEOUT]": 1, "[DISCONNECT]": 2, "[RETURNED]": 1, "image ac8...": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": 1}, r"FILE.*JSON.*got dict"),
        ("[", r"FILE.*contain.*JSON.*x\.json"),
        ([3], r"row 0 of .*'image_hash'"),
        (
            [person("a"), {"personality": "x", "image_hash": "0"}],
            r"row 1 of .*'comment'",
        ),
        ([person(None)], r"row 0 of .*got NoneType"),
        ([person("a", additional_comments="b")], r"row 0 of .*got str"),
        ([person("a", additional_comments=[3])], r"FILE.*got 3.*row 0"),
        ([person("[TIMEOUT]")], r"FILE.*got none.*x\.json"),
        ([], r"FILE.*got none"),
    ],
)
def test_broken_personality_captions_are_refused(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_personality_captions(written(tmp_path / "x.json", content))


# -- FlickrStyle ------------------------------------------------------------------------------------------------------
def test_flickrstyle(tmp_path):
    written(tmp_path / "humor" / "funny_train.txt", b"one funny\x85 dog\r\n\r\ntwo \xe2\x80\xa8 cats\r\nthree\r\n")
    written(tmp_path / "romantic" / "romantic_train.txt", "one dog in love\r\na tie\r\ntwo cats in love\r\n")
    corpus = read_flickrstyle(tmp_path)
    assert corpus.captions == [
        *("one funny\ufffd dog", "two \u2028 cats", "three", "one dog in love", "a tie", "two cats in love")
    ]
    assert corpus.styles == ["humorous"] * 3 + ["romantic"] * 3
    # Line i of both files is about image i, also after an empty line.
    assert corpus.groups == ["0", "2", "3", "0", "1", "2"]
    assert corpus.dropped == {"blank line": 1}


def test_flickrstyle_needs_both_files(tmp_path):
    written(tmp_path / "humor" / "funny_train.txt", "one")
    with pytest.raises(FileNotFoundError, match=r"romantic_train\.txt"):
        read_flickrstyle(tmp_path)


def test_text_files_by_style(tmp_path):
    path = written(tmp_path / "a.txt", "one\ntwo")
    assert read_lines({"x": path, "y": path}).styles == ["x", "x", "y", "y"]
    assert read_lines({"x": path}).dropped == {}
    with pytest.raises(ValueError, match=r"FILE.*got none"):
        read_lines({"x": written(tmp_path / "b.txt", "\n \n")})


# -- SentiCap ---------------------------------------------------------------------------------------------------------
def image(name, *sentences, split="train"):
    return {"filename": name, "split": split, "sentences": [{"raw": raw, "sentiment": s} for raw, s in sentences]}


def test_senticap(tmp_path):
    images = [image("1.jpg", ("a nice dog", 1), ("an ugly dog", 0)), image("2.jpg", ("a sad cat", 0), split="test")]
    path = written(tmp_path / "s.json", {"images": images})
    corpus = read_senticap(path)
    assert corpus.captions == ["a nice dog", "an ugly dog", "a sad cat"]
    assert corpus.styles == ["positive", "negative", "negative"]
    assert corpus.groups == ["1.jpg", "1.jpg", "2.jpg"]
    assert read_senticap(path, "test").captions == ["a sad cat"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], r"FILE.*JSON.*got list"),
        ({}, r"s\.json must have 'images'"),
        ({"images": [{"filename": "a"}]}, r"image 0 of .*'sentences'"),
        ({"images": [image("a", ("b", 2))]}, r"FILE.*got 2.*image 0"),
        ({"images": [image("a", ("b", "1"))]}, r"image 0 of .*'sentiment', got str"),
        ({"images": [image("a", (3, 1))]}, r"image 0 of .*got int"),
        ({"images": []}, r"FILE.*got none"),
    ],
)
def test_broken_senticap_is_refused(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_senticap(written(tmp_path / "s.json", content))


# -- GoEmotions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("header", ["", "text\tlabel\tid\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_goemotions_rows(tmp_path, header, end, packed):
    rows = ['He said "no\u2028 way\t27\tab', "both\t0,27\tcd", "I'm fine\t0\tef", ""]
    data = (header + end.join(rows)).encode()
    path = written(tmp_path / ("a.tsv.gz" if packed else "a.tsv"), gzip.compress(data) if packed else data)
    corpus = read_goemotions(path)
    assert corpus.captions == ['He said "no\u2028 way', "I'm fine"]
    assert (corpus.styles, corpus.groups, corpus.dropped) == (["neutral", "admiration"], None, {"several labels": 1})
    names = written(tmp_path / "labels.txt", "\n".join(["first", *GOEMOTIONS_LABELS[1:]]))
    assert read_goemotions(path, names).styles == ["neutral", "first"]


@pytest.mark.parametrize(
    "row", ["a\t28\tid", "a\tx\tid", "a\t\tid", "a\t-1\tid", "a\t1", "a\t1\tid\tmore", "a", "a\t1,99\tb"]
)
def test_broken_goemotions_are_refused(tmp_path, row):
    path = written(tmp_path / "a.tsv", f"fine\t3\tid\n{row}\n")
    message = r"FILE.*28.*line 2"
    with pytest.raises(ValueError, match=message):
        read_goemotions(path)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.tsv.gz", b"fine\t3\tid\n", r".*gzip file"),
        ("a.tsv.gz", gzip.compress(b"fine\t3\tid\n" * 99, mtime=0)[:-12], r".*gzip file"),
        ("a.tsv.gz", gzip.compress(b"fine\t3\tid\n", mtime=0)[:10] + b"\xff" * 20, r".*gzip file"),
        ("a.tsv", b"f\xffne\t3\tid\n", "UTF-8 text"),
    ],
    ids=["not packed", "cut short", "altered", "not UTF-8"],
)
def test_goemotions_that_are_no_text_are_refused(tmp_path, name, data, message):
    with pytest.raises(ValueError, match=rf"FILE.*{message}.*a\.tsv"):
        read_goemotions(written(tmp_path / name, data))


def test_goemotions_without_a_row_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"FILE.*got none"):
        read_goemotions(written(tmp_path / "a.tsv", "text\tlabel\tid\nboth\t1,2\tx\n"))


def test_goemotions_as_published(shared_folder):
    train, test, _ = goemotions(shared_folder)
    labels = (shared_folder / "data" / "goemotions" / "labels.txt").read_text("utf-8").split()
    assert list(GOEMOTIONS_LABELS) == labels
    assert (len(train), len(test)) == (36_308, 4_590)
    assert train.dropped == {"several labels": 7_102}


def test_kinds_of_the_command_line_are_the_readers():
    assert tuple(READERS) == KINDS
