"""Every interface shows the same numbers and words of one awkward dataset.

It has rows without a score that differ between systems, duplicate images, a corpus-level value, a metric for which
lower is better, and caption sets of several sizes.
"""

import html
import json
import re

import pandas as pd
import pytest

import vlgauge
from vlgauge.api.forest import summarize_pair
from vlgauge.api.numbers import numbers_table
from vlgauge.cli import main
from vlgauge.cli.compare import as_record
from vlgauge.core.results import to_json
from vlgauge.families.aggregation import number_title
from vlgauge.leaderboard import read_records
from vlgauge.leaderboard.record_groups import record_groups
from vlgauge.leaderboard.record_tables import records_table
from vlgauge.leaderboard.table import (
    PLAIN,
    Numbers,
    latex_text,
    pair_pvalue_text,
    systems_table,
    title,
    verdict,
)
from vlgauge_workbench import compare as page
from vlgauge_workbench.pages import page_of_compared

METRICS = ["rovist_nr", "bleu", "chair"]
MODELS = {"one": "org/one", "two": "org/two"}
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{told}")
    for told in ("means, order, groups and tests are of", "is a mean over sets of", "fewer than half of the rows")
]


def rows_of(name):
    """Return forty captions of twenty images. Each system has a different caption without a score by rovist_nr."""
    images = ("A brown dog runs over the green grass", "Two cats sleep on the red couch", "A man rides a horse")
    rows = []
    for row in range(40):
        text = images[row // 2 % 3]
        said = f"{text}. {images[row % 3]} near water number {row % 4}."
        if name == "two":
            said = f"A zebra stands. A zebra stands and {text.lower()[: 20 + row % 5]}."
        if row == (3 if name == "one" else 30):
            said = "A zebra stands"
        references = [f"{text}. {images[row % 3]} near water.", f"{text}."]
        rows.append({"id": f"r{row}", "image": f"i{row // 2}", "predictions": said, "references": references})
    return rows


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("systems")
    return {name: written(folder / f"{name}.jsonl", rows_of(name)) for name in MODELS}


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def found(files):
    return vlgauge.compare(files, METRICS)


def on_the_page(metrics, files):
    """Return the comparison and the text of the Compare page of the workbench."""
    titles = {"references": "references", "id": "id"}
    shared = [titles.get(name, page.NONE) for name in ("references", "styles", "images", "videos", "id")]
    shown = page.compare_uploaded(metrics, "embedded", list(files.values()), None, ["predictions"], *shared)
    return shown.compared.comparison, html.unescape(page_of_compared(shown.compared, shown.asked))


def printed(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr().out


def texts(content):
    """Return the text of a page without its markup."""
    return " ".join(re.sub("<style.*?</style>|<[^>]*>", " ", html.unescape(content), flags=re.DOTALL).split())


def test_the_dataset_is_awkward(found):
    rovist_nr, bleu, chair = found.statistics.metrics
    assert [one.undefined for one in rovist_nr.systems] == [1, 1]
    assert rovist_nr.n == 38
    assert (bleu.value, chair.value) == ("corpus", "corpus")
    assert [one.higher_is_better for one in found.statistics.metrics] == [True, True, False]
    assert found.statistics.n_tests == 3


def test_the_command_and_python_print_the_same(files, found, capsys):
    words = ["compare", ",".join(METRICS), *files.values()]
    assert printed(capsys, *words) == f"{found!r}\n"
    assert json.loads(printed(capsys, *words, "--format", "json")) == json.loads(
        to_json(as_record(found.statistics, 0))
    )
    booktabs = printed(capsys, *words, "--format", "latex", "--booktabs", "--digits", "1", "--scale", "100")
    assert booktabs == f"{found.to_latex()}\n"


def test_tables_of_papers_have_the_numbers_names_and_caveats_of_the_comparison(found):
    markdown, latex = found.to_markdown(), found.to_latex(digits=4, scale=1.0)
    for compared in found.statistics.metrics:
        assert title(compared, spoken=True) in markdown
        assert latex_text(title(compared, spoken=True)) in latex
        for told in compared.notes:
            assert latex_text(told) in latex
            assert told in markdown.replace("\\", "")
        for one in compared.systems:
            assert PLAIN.text(one.value, one.low, one.high) in markdown
            assert latex_text(PLAIN.text(one.value, one.low, one.high)).replace("-", "$-$") in latex


def test_the_report_and_the_page_say_what_the_tables_say(files, found, tmp_path):
    found.report(tmp_path / "report.html", n=1)
    comparison, shown = on_the_page(METRICS, files)
    assert to_json(as_record(comparison, 0)) == to_json(as_record(found.statistics, 0))
    for content in (texts((tmp_path / "report.html").read_text("utf-8")), texts(shown)):
        assert summarize_pair(found.statistics, "one", "two") in content
        assert "p Holm" in content
        assert not re.search("sentence (BLEU|CHAIR|bleu|chair)", content)
        for compared in found.statistics.metrics:
            (pair,) = compared.pairs
            line = content[content.index(title(compared, spoken=True)) :]
            assert verdict(pair) in line
            assert pair_pvalue_text(found.statistics, pair) in line


def test_scores_and_records_have_the_own_values_of_the_comparison(files, found, capsys):
    records = found.record(models=MODELS, dataset="org/images", date="2026-11-27")
    for name, file in files.items():
        scores = vlgauge.score(file, METRICS)
        printed_alone = printed(capsys, "score", ",".join(METRICS), file, "--quiet").splitlines()
        names = [row[0].text for row in numbers_table(scores.results).rows]
        for compared, line in zip(found.statistics.metrics, printed_alone, strict=True):
            (one,) = [system for system in compared.systems if system.name == name]
            summary = scores.summary().loc[compared.metric]
            (record,) = [own for own in records if (own.model.name, own.metric) == (name, compared.metric)]
            assert summary["value"] == record.value == pytest.approx(one.own_value, rel=1e-12)
            assert (summary["low"], summary["high"]) == (record.ci.low, record.ci.high)
            assert line == f"{compared.metric} {one.own_value:.4f}"
            assert title(compared) in names
            assert record.higher_is_better == compared.higher_is_better == (summary["better"] == "higher")
            assert record.undefined == one.undefined == summary["undefined"]
            if not any(system.undefined for system in compared.systems):
                assert (record.ci.low, record.ci.high) == pytest.approx((one.low, one.high))


def test_the_leaderboard_has_the_values_of_the_comparison(files, found):
    records = found.record(models=MODELS, dataset="org/images", date="2026-11-27")
    runs = {name: vlgauge.score(file, METRICS).run() for name, file in files.items()}
    groups = record_groups(records, {one.key: runs[one.model.name] for one in records}, {})
    table = records_table(records, groups=groups)
    expected = systems_table(found.statistics, Numbers(digits=3))
    assert [name for name in table.header if name[-1] in "↑↓"] == [
        title(one, spoken=True) for one in found.statistics.metrics
    ]
    shown = {row[1].text: [(cell.text, cell.bold) for cell in row[2:8:2]] for row in table.rows}
    # The first metric of the comparison has columns for rows that a system lacks.
    places = [place for place, name in enumerate(expected.header) if name[-1] in "↑↓"]
    assert shown == {row[0].text: [(row[place].text, row[place].bold) for place in places] for row in expected.rows}
    assert [row[1].text for row in table.rows] == [row[0].text for row in expected.rows]
    assert (
        "Each metric is tested separately: the probability of an error in any of the 3 metrics exceeds 0.05."
        in table.notes
    )
    # The common rows are unknown without the scores of the rows.
    alone = records_table(records)
    assert [row[0].text for row in alone.rows] == ["-", "-"]
    assert not any(row[2].bold for row in alone.rows)
    # Every row has counts, so that the corpus-level values keep their order.
    assert [any(row[place].bold for row in alone.rows) for place in (3, 4)] == [True, True]


def test_rows_of_one_image_are_drawn_together_in_every_front_end(files, capsys):
    found = vlgauge.compare(files, METRICS, groups="image")
    words = ["compare", ",".join(METRICS), *files.values(), "--groups", "image"]
    assert printed(capsys, *words) == f"{found!r}\n"
    for table in (repr(found), found.to_markdown(), found.to_latex()):
        assert "40 rows in 20 groups, which are resampled as a whole" in table
    scored = {name: vlgauge.score(file, METRICS, groups="image") for name, file in files.items()}
    records = [
        record
        for name, one in scored.items()
        for record in one.record(model=MODELS[name], dataset="org/images", date="2026-11-27")
    ]
    groups = record_groups(records, {one.key: scored[one.model.name].run() for one in records}, {})
    for compared in found.statistics.metrics:
        for one in compared.systems:
            (record,) = [own for own in records if (own.model.name, own.metric) == (one.name, compared.metric)]
            shown = groups.systems[record.key]
            assert (shown.value, shown.low, shown.high) == (one.value, one.low, one.high)
            assert record.ci.grouped_by == "image"
            if not any(system.undefined for system in compared.systems):
                assert (record.ci.low, record.ci.high) == pytest.approx((one.low, one.high))


def test_captions_that_add_nothing_count_in_every_front_end(tmp_path, capsys):
    refs = ["a dog on a sofa", "a cat on a chair", "a man rides a horse", "two dogs in a park"]
    silent = {"one": (1, 5), "two": (2, 9, 13)}
    files, scored, outputs = {}, {}, []
    for name, quiet in silent.items():
        rows = []
        for row in range(24):
            said = "it is nice here" if row in quiet else refs[(row + (name == "two" and row % 3 == 0)) % 4]
            references = [] if row == 20 else [refs[row % 4]]
            rows.append({"id": f"r{row}", "predictions": said, "references": references})
        files[name] = written(tmp_path / f"{name}.jsonl", rows)
        scored[name] = vlgauge.score(files[name], "chair")
        outputs.append(f"--scores={MODELS[name]}={tmp_path / name}.json")
        scored[name].to_json(tmp_path / f"{name}.json")
    (compared,) = vlgauge.compare(files, "chair").statistics.metrics
    assert {(one.n, one.undefined) for one in compared.systems} == {(23, 1)}
    records = tmp_path / "results.jsonl"
    for name, one in scored.items():
        summary = one.summary().loc["chair"]
        assert (summary["n"], summary["undefined"]) == (23, 1)
        assert numbers_table(one.results).rows[0][2].text == "23 of 24"
        assert f"chair: {len(silent[name])} rows have no score of their own, but are included in n" in repr(one)
        (record,) = one.record(records, model=MODELS[name], dataset="org/images", date="2026-11-27")
        assert (record.n, record.undefined, record.ci.grouped_by) == (23, 1, None)
        assert record.ci.groups == 23 - len(silent[name])  # a row without counts is not resampled
        assert "All of 23 rows" in texts(one._explained()[0].html())
        assert f"chair: {len(silent[name])} rows have no score of their own by {name}" in printed(
            capsys, "compare", "chair", *files.values()
        )
    checked = printed(capsys, "record", "check", str(records), *outputs)
    assert "2 of these with their interval" in checked
    found = record_groups(every := read_records(records), {one.key: scored[one.model.name].run() for one in every}, {})
    assert {(one.n, one.undefined) for one in found.systems.values()} == {(23, 1)}


# -- Caption sets of several sizes ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Return twelve rows of each system. The second system has more captions, but only one caption in one row."""
    folder, systems = tmp_path_factory.mktemp("sets"), {}
    said = ["a dog ran", "the brown dog ran home", "dogs at home", "one brown dog", "a puppy plays", "the dog is out"]
    people = ["a dog runs", "the dog runs home", "a brown dog", "dogs outside"]
    for number, name in enumerate(MODELS):
        rows = []
        for row in range(12):
            size = 1 if (row, name) == (5, "two") else 2 + row % 2 + 2 * number
            captions = [f"{text} {row}" for text in said[:size]]
            rows.append({"id": f"r{row}", "predictions": captions, "references": [f"{text} {row}" for text in people]})
        systems[name] = written(folder / f"{name}.jsonl", rows)
    return systems


def test_sets_of_several_sizes_are_compared_alike_and_have_no_rank_by_records(sets, capsys, tmp_path):
    found = vlgauge.compare(sets, "trm")
    assert printed(capsys, "compare", "trm", *sets.values()) == f"{found!r}\n"
    comparison, shown = on_the_page(["trm"], sets)
    assert to_json(as_record(comparison, 0)) == to_json(as_record(found.statistics, 0))
    (compared,) = found.statistics.metrics
    assert (compared.n, compared.signature.count("|sets:1-3v4@")) == (11, 1)
    assert pair_pvalue_text(found.statistics, compared.pairs[0]) in texts(shown)
    assert "Holm" not in f"{found!r}{found.to_markdown()}{found.to_latex()}{texts(shown)}"
    # Scores of all captions: the sizes differ, and no table compares them.
    records, outputs = [], []
    for name, file in sets.items():
        outputs.append(str(tmp_path / f"{name}.json"))
        scores = vlgauge.score(file, "trm")
        scores.to_json(outputs[-1])
        records += scores.record(model=MODELS[name], dataset="org/images", date="2026-11-27")
    table = records_table(records, split_signatures=True)
    assert not any(cell.bold for row in table.rows for cell in row)
    assert main(["compare", "trm", *outputs]) == 2
    error = capsys.readouterr().err
    assert "compare the predictions of all systems instead of their scores" in error
    assert "--captions-per-row" not in error  # with a single caption, no row has a score


def test_names_of_numbers_come_from_one_function():
    assert number_title("bleu", higher_is_better=True) == "bleu (corpus) ↑"
    assert number_title("chair", called="CHAIR", of_row=True, higher_is_better=False) == "CHAIR (row) ↓"
    demo = "clip_s|v:0.1.0|profile:embedded|enc:vlgauge-toy-clip@0"
    assert number_title("clip_s", signature=demo) == "clip_s (demo)"
    assert number_title("trm") == "trm"


def test_frames_of_python_hold_the_same_numbers(found):
    systems, pairs = found.systems, found.pairs
    for compared in found.statistics.metrics:
        for one in compared.systems:
            line = systems.loc[compared.metric, one.name]
            assert (line["value"], line["low"], line["high"], line["best"]) == (one.value, one.low, one.high, one.bold)
        line = pairs.loc[compared.metric].iloc[0]
        assert line["adjusted_pvalue"] == compared.pairs[0].adjusted_pvalue
        assert (None if pd.isna(line["better"]) else line["better"]) == compared.pairs[0].better
