"""The demo on examples of one's own: texts are escaped, marks are right, errors are one line."""

import csv
import json
import re
import shutil
import warnings

import folders
import pytest
from demo_page import Elements, articles

from vlgauge.explain import sections

# Sentences 1 and 3 share "a" and "dog"; "Big" and "big" differ; the final stops are not compared.
STORY = ["A dog <b>& a cat saw a dog.", "Big rain fell.", "It was a dog, a big dog."]
CAPTIONS = ['One <b>bold</b> & "quoted" caption.', "Another caption.", "A third $x$ caption."]
KIND = "$\\alpha<b>$"
EXAMPLES = {
    "stories.jsonl": [
        {"id": "<i>1</i>", "kind": KIND, "story": STORY},
        {"id": "2", "kind": "k", "story": []},
    ],
    "caption_sets.jsonl": [
        {"id": '<i>"1\\1', "kind": KIND, "predictions": CAPTIONS[:2], "references": CAPTIONS},
        {"id": "2", "kind": "k", "predictions": CAPTIONS[:1], "references": CAPTIONS},
    ],
    "captioned_scenes.jsonl": [
        {
            "id": "<i>1</i>",
            "picture": "<i>",
            "kind": kind,
            "predictions": caption,
            "images": "p.png",
            "references": CAPTIONS,
        }
        for kind, caption in (("right", CAPTIONS[0]), (KIND, CAPTIONS[1]))
    ],
    "captioned_clips.jsonl": [
        {
            "id": "<i>1</i>",
            "picture": "<i>",
            "kind": kind,
            "predictions": caption,
            "videos": "p.mp4",
            "references": CAPTIONS,
        }
        for kind, caption in (("right", CAPTIONS[0]), (KIND, CAPTIONS[1]))
    ],
}
# The captions of every fourth picture are held out. Of the style table, "love" and "love it" weigh 1/2, "hate" and
# "hate it" -1/2, in the first style; "it" weighs 0, what else there is has never been seen.
STYLED_CAPTION = "Love <b>it</b> & hate it."
STYLED_ROWS = [
    ("caption", "style", "picture"),
    *[("Love it.", KIND, str(picture)) for picture in range(3)],
    *[("Hate it!", "k", str(picture)) for picture in range(3)],
    (STYLED_CAPTION, KIND, "<i>3</i>"),
    ("Oh, hate it.", "k", "<i>3</i>"),
]


@pytest.fixture
def own_examples(tmp_path):
    for name, rows in EXAMPLES.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    shutil.copy(folders.EXAMPLES / "scenes" / "01.png", tmp_path / "p.png")
    shutil.copy(folders.EXAMPLES / "clips" / "01.mp4", tmp_path / "p.mp4")
    with (tmp_path / "styled_captions.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(STYLED_ROWS)
    return tmp_path


@pytest.fixture
def own_page(run_demo, own_examples):
    assert run_demo.main(["--examples", str(own_examples), "--output", str(own_examples / "out")]) == 0
    return (own_examples / "out" / "report.html").read_text("utf-8")


# -- texts of others --------------------------------------------------------------------------------------------------
def test_texts_are_escaped(own_page):
    assert "<b>" not in own_page
    assert "<i>" not in own_page
    text = Elements(own_page).text
    assert all(caption in text for caption in CAPTIONS)
    assert "A dog <b>& a cat saw a dog." in text
    assert text.count(STYLED_CAPTION) == 2
    assert text.count(f"<i>3</i>, {KIND}") == 2
    overviews = dict(re.findall(r'<section id="(\w+)".*?(<svg.*?</svg>)', own_page, re.DOTALL))
    assert sorted(overviews) == sorted(sections.SECTIONS)
    without = {name for name, plot in overviews.items() if KIND not in Elements(plot).text}
    # These tell stories of their own instead of reading examples.
    assert without == {"rovist_c", "rovist", "d_hm", "groovist", "rovist_vg"}


def test_marks_of_a_story_made_by_hand(own_page):
    story = articles(own_page)["rovist_nr", "&lt;i&gt;1&lt;/i&gt;"]
    marks = re.findall(r'<mark class="(.*?)" title="(.*?)">(.*?)</mark>', story)
    # Groups of four words: A dog < b, > & a cat, saw a dog; It was a dog, (comma) a big dog.
    from_first = "also in sentence 1; again in the neighbouring 4 words"
    from_third = "also in sentence 3; again in the neighbouring 4 words"
    assert marks == [
        ("level-2", "also in sentence 3", "dog"),
        ("level-2 nearby", from_third, "a"),
        ("level-2 nearby", from_third, "a"),
        ("level-2", "also in sentence 3", "dog"),
        *[("level-2 nearby", from_first, word) for word in ("a", "dog", "a", "dog")],
    ]


def test_marks_of_a_styled_caption_made_by_hand(own_page):
    name = "&lt;i&gt;3&lt;/i&gt;, $\\alpha&lt;b&gt;$"
    found = {}
    for metric in ("onlystyle", "stylecider"):
        article = articles(own_page)[metric, name].replace("\N{MINUS SIGN}", "-")
        found[metric] = re.findall(r'<mark class="(\w+) strength-(\d)" title="(.*?)">(.*?)</mark>', article)
        assert re.search(r'<p class="score">(.*?)</p>', article)[1] == {"onlystyle": "-0.0125"}.get(metric, "0.1768")
    # 8 distinct tokens and 10 bigrams, each order a quarter: 1/2/8/4 = 0.0156, 1/2/10/4/2 = 0.0063 for each word.
    assert found["onlystyle"] == [
        ("raised", "3", "adds +0.0156; weights: love +0.50", "Love"),
        ("lowered", "3", "adds -0.0219; weights: hate -0.50, hate it -0.50", "hate"),
        ("lowered", "2", "adds -0.0063; weights: hate it -0.50", "it"),
    ]
    # cos_1 = 1/sqrt(2), and no longer n-gram in common.
    shared = ("raised", "1", "shared; weights: love +0.50", "Love")
    assert found["stylecider"] == [
        ("raised", "3", "adds +0.1768; weights: love +0.50", "Love"),
        ("lowered", "3", "in no reference; weight: hate -0.50", "hate"),
        shared,
        shared,
    ]


# -- what can go wrong ------------------------------------------------------------------------------------------------
def test_missing_packages_are_named_with_the_command(run_demo, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(run_demo, "find_spec", lambda name: None if name in ("jinja2", "matplotlib") else name)
    assert run_demo.main(["--output", str(tmp_path)]) == 2
    message = 'run_demo: not installed: jinja2, matplotlib; run: pip install "vlgauge[demo]"\n'
    assert capsys.readouterr().err == message


def test_warnings_are_one_line_each(run_demo, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(run_demo, "run", lambda *_: warnings.warn("a toy\nlooks", stacklevel=1))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run_demo.main(["--output", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "run_demo: warning: a toy looks\n"


def test_missing_examples_are_told_in_one_line(run_demo, capsys, tmp_path):
    assert run_demo.main(["--examples", str(tmp_path), "--output", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("run_demo: error: ")
    assert "stories.jsonl" in error
    assert error.count("\n") == 1


def test_interrupted_run_leaves_the_old_report(run_demo, own_examples, monkeypatch, capsys):
    report = own_examples / "report.html"
    report.write_text("old")
    monkeypatch.setattr(run_demo.os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run_demo.main(["--examples", str(own_examples), "--output", str(own_examples)]) == 130
    assert report.read_text() == "old"
    assert "interrupted" in capsys.readouterr().err
