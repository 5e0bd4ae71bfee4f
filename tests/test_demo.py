"""The demo: its page explains the right things, needs nothing from outside, and is the same each time."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from vlgauge.catalog import metric_facts
from vlgauge.catalog import metric_names
from vlgauge.language import words

ROOT = Path(__file__).resolve().parents[1]
BUNDLED = {name: ROOT / "examples" / f"{name}.jsonl" for name in ("stories", "caption_sets")}

# When imported, urllib3 binds a socket to ::1 to see whether it could; nothing is sent.
RUN = """
import sys
watching = False
import urllib3
watching = True
sys.path.insert(0, {scripts!r})
import run_demo
assert run_demo.main(["--output", "."]) == 0
"""

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
}


class Elements(HTMLParser):
    """Start tags with their attributes, and the text of marked words."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="session")
def runs(run_python, tmp_path_factory):
    """Output and bytes of the page of two runs in fresh processes without network."""
    results = []
    for seed in ("1", "2"):
        folder = tmp_path_factory.mktemp("demo")
        printed = run_python(RUN.format(scripts=str(ROOT / "scripts")), cwd=folder, PYTHONHASHSEED=seed)
        assert [path.name for path in folder.iterdir()] == ["report.html"]
        results.append((printed, (folder / "report.html").read_bytes()))
    return results


@pytest.fixture(scope="session")
def page(runs):
    return runs[0][1].decode("utf-8")


@pytest.fixture
def run_demo(monkeypatch):
    """The script as a module, with the environment put back afterwards."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    for name in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"):
        monkeypatch.setenv(name, "1")
    import run_demo

    return run_demo


@pytest.fixture
def demo_sections(run_demo):
    import demo_sections

    return demo_sections


@pytest.fixture
def own_examples(tmp_path):
    for name, rows in EXAMPLES.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


@pytest.fixture
def own_page(run_demo, own_examples):
    assert run_demo.main(["--examples", str(own_examples), "--output", str(own_examples / "out")]) == 0
    return (own_examples / "out" / "report.html").read_text("utf-8")


def articles(page):
    """The part of the page about each example, by metric and id."""
    found = {}
    for section in re.findall(r'<section id="(\w+)"(.*?)</section>', page, re.DOTALL):
        for article in re.findall(r"<article.*?</article>", section[1], re.DOTALL):
            found[section[0], re.search(r"<h4>(.*?)</h4>", article)[1]] = article
    return found


def table_rows(page, metric):
    """Cells of the table of kinds of a metric, by kind."""
    table = re.search(rf'<section id="{metric}".*?<tbody>(.*?)</tbody>', page, re.DOTALL)[1]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    return {cells[0]: cells[1:] for cells in (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows)}


# -- the page ---------------------------------------------------------------------------------------------------------
def test_every_metric_has_a_section(page, demo_sections):
    assert sorted(demo_sections.SECTIONS) == metric_names()
    found = Elements(page).found
    for name in metric_names():
        assert ("section", {"id": name, "aria-labelledby": f"{name}-title"}) in found
        assert ("a", {"href": f"#{name}"}) in found
        assert metric_facts(name).measures.split("'")[0] in page
        assert f"{name}|0" in page.replace("<wbr>", "")


def test_two_runs_write_the_same_bytes(runs):
    assert runs[0][1] == runs[1][1]


def test_page_loads_nothing(page):
    found = Elements(page).found
    assert {tag for tag, _ in found}.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "image", "base"})
    for tag, attributes in found:
        assert not {"src", "srcset", "data", "action", "style-src"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
        targets = [value for name, value in attributes.items() if name.endswith("href")]
        assert all(value.startswith("#") or tag == "a" for value in targets)
    assert "@import" not in page
    assert set(re.findall(r"url\((.)", page)) <= {"#"}
    assert "://" not in re.sub(r'<a href="https?://', "", page)


def test_ids_are_unique_and_every_reference_is_met(page):
    ids = [attributes["id"] for _, attributes in Elements(page).found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', page)) <= set(ids)


def test_every_plot_says_what_it_shows(page):
    plots = [attributes for tag, attributes in Elements(page).found if tag == "svg"]
    assert len(plots) > 20
    assert all(plot["role"] == "img" and len(plot["aria-label"]) > 30 for plot in plots)


def test_plots_take_their_colours_from_the_style_sheet(page):
    assert page.count("var(--candidate)") > 50
    assert not re.search(r"#(d55e00|0072b2|8a8b8c|010203)", page)


def test_terminal_shows_every_kind_and_the_report(runs):
    printed = runs[0][0]
    for name, path in BUNDLED.items():
        kinds = {json.loads(line)["kind"] for line in path.read_text("utf-8").splitlines()}
        for kind in kinds:
            assert re.search(rf"^{kind}  .* (undefined|\d\.\d{{4}})$", printed, re.MULTILINE), (name, kind)
    assert re.search(r"^edge-01 +undefined +The lighthouse", printed, re.MULTILINE)
    assert printed.rstrip().endswith("report.html")


def test_metrics_react_to_the_kinds(page):
    stories = {
        kind: float(cells[2].replace("\N{MINUS SIGN}", "-")) for kind, cells in table_rows(page, "rovist_nr").items()
    }
    assert stories["repetitive"] < stories["edge"] < stories["good"]
    sets = table_rows(page, "mmd_bert")
    assert float(sets["collapsed"][4]) == 0.0001 < 0.01 > float(sets["off-topic"][3])
    assert sets["edge"] == ["1", "1", "undefined", "undefined", "undefined"]


def test_undefined_examples_say_why(page):
    story, captions = articles(page)["rovist_nr", "edge-01"], articles(page)["mmd_bert", "edge-01"]
    assert '<p class="score">undefined</p>' in story
    assert "the story has 1 sentence, so there is no pair of sentences to compare" in story
    assert '<p class="score">undefined</p>' in captions
    assert "each side needs two captions or more, got one candidate and five references" in captions
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL).lower().split()


def test_p_of_an_article_is_that_of_its_plot_and_words(page):
    for (metric, name), article in articles(page).items():
        if metric == "mmd_bert" and name != "edge-01":
            shown = re.search(r"p = (\d\.\d{4})", article)[1]
            count, total = map(int, re.search(r">p = (\d+)/(\d+) = ", article).groups())
            assert f"{count / total:.4f}" == shown
            assert f"{count} of {total} ways to split these" in article


# -- texts of others --------------------------------------------------------------------------------------------------
def test_texts_are_escaped(own_page):
    assert "<b>" not in own_page
    assert "<i>" not in own_page
    text = Elements(own_page).text
    assert all(caption in text for caption in CAPTIONS)
    assert "A dog <b>& a cat saw a dog." in text
    overviews = re.findall(r"<section .*?(<svg.*?</svg>)", own_page, re.DOTALL)
    assert [KIND in Elements(plot).text for plot in overviews] == [True] * len(metric_names())


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


@pytest.mark.parametrize(
    ("words_of", "levels", "nearby", "notes"),
    [
        # n-grams "x a" and "a y" are neighbours; "x a" and "x" are not.
        ([["x", "a", "a", "y", "x"]], [0, 1, 1, 0, 0], [0, 1, 1, 0, 0], {"again in the neighbouring 2 words"}),
        ([["x"], ["x"], ["x", "z"], ["x", "x"]], [3], [0], {"also in sentences 2, 3 and 4"}),
        ([["x"], ["X"]], [0], [0], set()),
        ([["x"], ["x"]], [1], [0], {"also in sentence 2"}),
    ],
)
def test_marks_of_the_first_sentence(demo_sections, words_of, levels, nearby, notes):
    sentences = [" ".join(kept) for kept in words_of]
    marked = demo_sections.repeated_words.marked_story(sentences, words_of, 2)[0]
    pieces = [piece for piece in marked if piece.text.strip()]
    assert [piece.level for piece in pieces] == levels
    assert [piece.nearby for piece in pieces] == [bool(value) for value in nearby]
    assert {piece.note for piece in pieces} - {""} == notes


QUOTED = [
    '"Stay," she said, "or go."',
    "It's “odd”: don't.",
    "``Quite'' so... (no, wait) -- $3.50!",
    "We cannot. Gonna 'tis.",
]


def bundled_sentences():
    for line in BUNDLED["stories"].read_text("utf-8").splitlines():
        yield from json.loads(line)["story"]


def test_pieces_are_the_sentence_and_every_word_is_found(demo_sections):
    repeated_words = demo_sections.repeated_words
    for sentence in [*QUOTED, *bundled_sentences()]:
        tokens = words(sentence)
        pieces = repeated_words.marked_story([sentence], [tokens], 4)[0]
        assert "".join(piece.text for piece in pieces) == sentence
        spans = repeated_words.word_spans(sentence, tokens)
        found = [sentence[start:end] for start, end in spans]
        assert [text.replace('"', "''") for text in found] == [
            "''" if token == "``" and text == '"' else token for token, text in zip(tokens, found, strict=True)
        ]


# -- words and plots of caption sets ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "start", "end"),
    [
        ((2, 252, 5, 5), "Only 2 of 252 ways to split these ten captions into five and five give", "references are."),
        ((1, 56, 3, 5), "Only 1 of 56 ways to split these eight captions into three and five gives", "references are."),
        ((200, 1287, 8, 5), "200 of 1287 ways to split these 13 captions into eight and five give", "cannot tell."),
        ((252, 252, 5, 5), "252 of 252 ways", "could pass for references."),
    ],
)
def test_meaning_of_a_pvalue(demo_sections, arguments, start, end):
    sentence = demo_sections.mmd_bert.meaning(*arguments)
    assert sentence.startswith(start)
    assert sentence.endswith(end)
    assert ("mirror image" in sentence) == (arguments[0] == 2)


def test_principal_plane_keeps_distances_in_a_plane(demo_sections):
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(7, 2)) * [3.0, 1.0]
    vectors = flat @ np.linalg.qr(rng.normal(size=(9, 2)))[0].T + 5.0
    points, shares = demo_sections.caption_plots.principal_plane(vectors)
    distances = [np.linalg.norm(array[:, None] - array, axis=2) for array in (flat, points)]
    np.testing.assert_allclose(*distances, atol=1e-12)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] > shares[1]
    assert (points.max(axis=0) >= -points.min(axis=0)).all()


def test_principal_plane_of_equal_vectors(demo_sections):
    points, shares = demo_sections.caption_plots.principal_plane(np.ones((4, 9)))
    assert not points.any()
    assert not shares.any()


# -- what can go wrong ------------------------------------------------------------------------------------------------
def test_missing_packages_are_named_with_the_command(run_demo, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(run_demo, "find_spec", lambda name: None if name in ("jinja2", "matplotlib") else name)
    assert run_demo.main(["--output", str(tmp_path)]) == 2
    message = 'run_demo: not installed: jinja2, matplotlib; run: pip install "vlgauge[demo]"\n'
    assert capsys.readouterr().err == message


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
