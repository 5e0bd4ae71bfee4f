"""`vlgauge score --report`: the page, the printed output, the other files, and errors."""

import json
import re
import sys

import pytest
from demo_page import Elements
from folders import EXAMPLES

from vlgauge.cli import main, scoring
from vlgauge.core import catalog
from vlgauge.core.errors import UsageError
from vlgauge.explain import differences

STORIES = str(EXAMPLES / "stories.jsonl")
CAPTIONS = [
    {"id": "one", "caption": "A dog runs.", "references": ["A dog is running."]},
    {"id": "two", "caption": "<script>alert(1)</script>", "references": ["A cat."]},
]


@pytest.fixture
def captions(tmp_path):
    path = tmp_path / "captions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in CAPTIONS), "utf-8")
    return str(path)


def test_one_metric(tmp_path, capsys):
    target = tmp_path / "why.html"
    words = ["score", "rovist_nr", STORIES, "--predictions", "story", "--format", "json"]
    assert main([*words, "--report", str(target)]) == 0
    out, error = capsys.readouterr()
    assert error == f"wrote {target}\n"
    text = Elements(target.read_text("utf-8")).text
    assert (
        "RoViST-NR is 0.80 on average over 39 of 40 rows; “repetitive-10” is the worst, with \N{MINUS SIGN}2.42."
        in text
    )
    assert "“so”, “pretty”, “and” come again and again" in text
    assert json.loads(out)["rovist_nr_signature"] in text
    # Only the page has the details.
    assert main(words) == 0
    assert capsys.readouterr().out == out


@pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies")
def test_several_metrics_have_a_table_on_top(captions, tmp_path, capsys):
    target = tmp_path / "why.html"
    names = ["cider", "meteor", "rouge_l", "bleu"]
    words = ["score", captions, "--metrics", ",".join(names), "--predictions", "caption", "-q"]
    assert main([*words, "--report", str(target)]) == 0
    page = target.read_text("utf-8")
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [name for name, _ in printed] == names
    elements = Elements(page)
    assert elements.unclosed == []
    assert [attributes["id"] for tag, attributes in elements.found if tag == "section" and "id" in attributes] == names
    assert page.count("<h1>") == 1
    assert "<script>" not in page
    table = page[page.index("<table") : page.index("</table>")]
    rows = [re.split("</t[dh]>", row) for row in table.split('<tr role="row">')[2:]]
    assert [Elements(row[0]).text.split()[0] for row in rows] == names
    # Three digits on the page, four in the output.
    shown = [float(Elements(row[1]).text) for row in rows]
    assert shown == pytest.approx([float(number) for _, number in printed], abs=5.1e-4)
    assert all(Elements(row[2]).text.strip() for row in rows)
    assert all("higher" in row[0] for row in rows)


@pytest.mark.filterwarnings("always:ids should name each row once", "always:CIDEr-D takes document frequencies")
def test_warnings_of_the_run_stand_on_top(tmp_path, capsys):
    paths = [tmp_path / f"{name}.jsonl" for name in ("one", "two", "twice")]
    for path, names in zip(paths, (("a", "b"), ("a", "b"), ("<b>", "<b>")), strict=True):
        rows = [row | {"id": name, "caption": path.stem} for row, name in zip(CAPTIONS, names, strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    one, two, twice = map(str, paths)
    target = tmp_path / "why.html"
    for words in (["score", "cider", twice], ["compare", "cider", one, two, "--rows-that-differ", "1"]):
        assert main([*words, "--predictions", "caption", "--report", str(target)]) == 0
        told = re.findall("warning: (.*)", capsys.readouterr().err)
        assert len(told) == (2 if words[0] == "score" else 1)
        page = target.read_text("utf-8")
        shown = [Elements(one).text for one in re.findall('<p class="notice">Warning: (.*?)</p>', page)]
        assert shown == told
        assert page.index("Warning: ") < page.index("<section")
        assert "<b>'" not in page
    page = differences("two", [], [], notes=[f"<i>{i}</i>" for i in range(13)])
    assert page.count("Warning: &lt;i&gt;") == 10
    assert "and 3 more warnings" in page


@pytest.mark.parametrize(
    ("target", "message"),
    [("why.txt", "--report must end in .html, got 'why.txt'"), ("missing/why.html", "--report must ")],
)
def test_other_targets_are_refused_before_the_work(tmp_path, monkeypatch, capsys, target, message):
    monkeypatch.chdir(tmp_path)
    assert main(["score", "rovist_nr", STORIES, "--predictions", "story", "--report", target]) == 2
    out, error = capsys.readouterr()
    assert message in error
    assert out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["score", "rovist_nr,clip_s", STORIES],
        ["compare", "rovist_nr,clip_s", STORIES, STORIES, "--rows-that-differ", "1"],
    ],
    ids=["score", "compare"],
)
def test_without_jinja_no_row_is_scored(tmp_path, monkeypatch, capsys, words):
    # Simulate a package that is listed as installed, although its files are missing.
    for module in [name for name in sys.modules if name.startswith("vlgauge.explain")]:
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr(catalog, "extra_is_present", lambda extra: False)
    monkeypatch.setattr(scoring, "load_metric", lambda *_, **__: pytest.fail("loaded too early"))
    assert main([*words, "--report", str(tmp_path / "why.html"), "--output", str(tmp_path / "keep.json")]) == 2
    out, error = capsys.readouterr()
    assert error == (f'vlgauge {words[0]}: error: --report needs Jinja2; run: pip install "vlgauge[explain,clip-s]"\n')
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_fails_costs_no_scores(tmp_path, monkeypatch, capsys):
    def fail(*_, **__):
        raise UsageError("no page")

    monkeypatch.setattr("vlgauge.api.pages.report", fail)
    words = ["score", "rovist_nr", STORIES, "--predictions", "story", "--report", str(tmp_path / "why.html")]
    identity = ["--record", str(tmp_path / "r.jsonl"), "--dataset", "me/stories", "--split", "test", "--model", "me/m"]
    assert main([*words, "--output", str(tmp_path / "keep.csv"), *identity]) == 2
    assert "error: no page" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} >= {"keep.csv", "r.jsonl"}
