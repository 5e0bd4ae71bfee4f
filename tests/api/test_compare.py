"""`vlgauge.compare`: systems from tables of every format, the numbers of the command, and tables for papers."""

import json
import math
import shutil
import subprocess

import apart_cases
import pandas as pd
import pytest
from made_runs import made_run

import vlgauge
from vlgauge import leaderboard
from vlgauge.cli import main
from vlgauge.leaderboard.paper import paper_latex, paper_table
from vlgauge.leaderboard.table import Numbers, latex_text, pairs_table, render, systems_table

METRICS = "rouge_l,bleu"


def wide(n=24):
    """Return two systems, one of which omits words."""
    people = [f"a brown dog number {i} runs over the green grass of the park" for i in range(n)]
    return pd.DataFrame(
        {
            "name": [f"row {i}" for i in range(n)],
            "album": [f"album {i // 2}" for i in range(n)],
            "refs": [[text, text.replace("runs", "walks")] for text in people],
            "ours": people,
            "base": [text.replace("green ", "")[: 38 + i % 9] for i, text in enumerate(people)],
        }
    )


def long():
    frame = wide().melt(["name", "refs", "album"], ["ours", "base"], var_name="model", value_name="caption")
    return frame.sample(frac=1.0, random_state=0)


def compared(rows, metrics=METRICS, **how):
    return vlgauge.compare(rows, metrics, **{"references": "refs", "id": "name", "resamples": 200, **how})


def numbers(comparison):
    """Return the results, independent of the order of systems and rows."""
    pairs = comparison.pairs.to_dict("records")
    return comparison.systems.sort_index().to_json(), json.dumps(pairs)


def test_wide_and_long_tables_and_tables_by_system_give_the_same_numbers():
    frame = wide()
    expected = numbers(compared(frame, predictions=["ours", "base"]))
    own = {name: frame[["name", "refs", name]].rename(columns={name: "caption"}) for name in ("ours", "base")}
    assert numbers(compared(own, predictions="caption")) == expected
    assert numbers(compared({**own, "base": own["base"][::-1]}, predictions="caption")) == expected
    scores = {
        name: vlgauge.score(one, METRICS, predictions="caption", references="refs", id="name")
        for name, one in own.items()
    }
    assert numbers(compared(scores)) == expected
    assert numbers(compared({name: one.run() for name, one in scores.items()})) == expected
    in_order = compared(long().sort_values("model", ascending=False), system="model", predictions="caption")
    assert json.loads(numbers(in_order)[0])["value"] == json.loads(expected[0])["value"]


def test_the_command_reads_the_same_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    wide().to_json("both.jsonl", orient="records", lines=True)
    long().to_json("long.jsonl", orient="records", lines=True)
    usual = ["--id", "name", "--references", "refs", "--resamples", "200"]
    assert main(["compare", METRICS, "both.jsonl", "--predictions", "ours,base", *usual]) == 0
    printed = capsys.readouterr().out
    comparison = compared("both.jsonl", predictions="ours,base")
    assert printed == f"{comparison!r}\n"
    assert main(["compare", METRICS, "long.jsonl", "--system", "model", "--predictions", "caption", *usual]) == 0
    assert capsys.readouterr().out == f"{compared('long.jsonl', system='model', predictions='caption')!r}\n"
    words = ["--format", "latex", "--booktabs", "--digits", "1", "--scale", "100", "--caption", "Ours.", "--label", "a"]
    assert main(["compare", METRICS, "both.jsonl", "--predictions", "ours,base", *usual, *words]) == 0
    assert capsys.readouterr().out == comparison.to_latex(caption="Ours.", label="a") + "\n"


def test_files_of_scores_stand_next_to_tables(tmp_path):
    frame = wide()
    ours = vlgauge.score(frame, METRICS, predictions="ours", references="refs", id="name")
    ours.to_json(tmp_path / "ours.json")
    mixed = compared({"ours": tmp_path / "ours.json", "base": frame}, predictions="base")
    assert numbers(mixed) == numbers(compared(frame, predictions=["ours", "base"]))
    with pytest.raises(ValueError, match=r"^`report`"):
        mixed.report(tmp_path / "page.html")


def test_other_scores_are_compared_by_their_names():
    columns = apart_cases.drawn(6)
    references = [references or ["a star"] for references in columns["references"]]
    frame = pd.DataFrame({"images": columns["images"], "references": references, "ours": columns["predictions"]})
    frame["base"] = frame["ours"].iloc[::-1].to_list()
    found = vlgauge.compare(frame, "ref_clip_s,clip_s", predictions=["ours", "base"], profile="embedded")
    assert [one.metric for one in found.statistics.metrics] == ["ref_clip_s", "clip_s"]
    scores = vlgauge.score(frame, "clip_s", predictions="ours", profile="embedded")
    assert found.systems.loc[("ref_clip_s", "ours"), "value"] == pytest.approx(scores.results["clip_s"]["ref_clip_s"])
    assert "RefCLIP-S (demo) $\\uparrow$" in found.to_latex()
    (record,) = scores.record(model="a/b", dataset="c/d", scores=["ref_clip_s"])
    assert (record.metric, record.title, record.higher_is_better) == ("ref_clip_s", "RefCLIP-S", True)
    with pytest.raises(ValueError, match=r"'clip_s_median'.*clip_s.*ref_c"):
        vlgauge.compare(frame, "clip_s_median", predictions=["ours", "base"], profile="embedded")


def test_frames_have_what_the_tables_have():
    found = compared(wide(), predictions=["ours", "base"])
    statistics = found.statistics
    assert isinstance(statistics, leaderboard.RunComparison)
    rouge, bleu = statistics.metrics
    assert found.systems.loc[("rouge_l", "ours"), "low"] == rouge.systems[0].low
    assert found.pairs.loc[("bleu", "ours", "base"), "adjusted_pvalue"] == bleu.pairs[0].adjusted_pvalue
    assert found.pairs["better"].tolist() == ["ours", "ours"]
    assert repr(found) == "\n\n".join(render(one(statistics), "text") for one in (systems_table, pairs_table))
    shown = found._repr_html_()
    assert shown.count("<table>") == 2
    assert "#" not in shown.partition("</style>")[0]


def test_no_better_system_is_none_next_to_pairs_that_have_one():
    frame = wide().assign(same=lambda one: one["ours"])
    found = compared(frame, "rouge_l", predictions=["ours", "same", "base"])
    assert {repr(one) for one in found.pairs["better"]} == {"'ours'", "'same'", "None"}


def test_rows_that_differ_have_what_was_said():
    found = compared(wide(), predictions=["ours", "base"])
    differing = found.rows_that_differ(3, metric="rouge_l")
    assert len(differing) == 3
    assert (differing["difference"] == differing["first_score"] - differing["second_score"]).all()
    assert differing["first_text"].str.contains("green").all()
    assert not differing["second_text"].str.contains("green").any()
    assert len(found.rows_that_differ(3)) == 6
    with pytest.raises(ValueError, match=r"^`metric`.*got 'cider'"):
        found.rows_that_differ(metric="cider")


def test_rows_that_differ_alike_come_by_their_ids():
    frame = wide().assign(
        name=[f"row {i}" for i in range(24)], ours="a red dog runs", base="a dog", refs="a red dog runs"
    )
    expected = [f"row {i}" for i in range(10)]
    for rows in (frame, frame[::-1], frame.sample(frac=1.0, random_state=0)):
        found = compared(rows, "rouge_l", predictions=["ours", "base"])
        assert found.rows_that_differ(10)["id"].tolist() == expected


def test_systems_are_recorded(tmp_path):
    found = compared(wide(), predictions=["ours", "base"])
    file = tmp_path / "results.jsonl"
    records = found.record(file, models={"base": "a/b", "ours": "c/d"}, dataset="e/f", date="2026-01-02", notes="ours")
    assert [(one.model.id, one.metric) for one in records] == [
        (model, metric) for model in ("a/b", "c/d") for metric in ("rouge_l", "bleu")
    ]
    own = wide()[["name", "refs", "base"]]
    scores = vlgauge.score(own, METRICS, predictions="base", references="refs", id="name")
    assert records[:2] == scores.record(model="a/b", dataset="e/f", date="2026-01-02", notes="ours")
    assert leaderboard.read_records(str(file)) == records


REFUSED_RECORDS = {
    "one model": (
        {"model": "me", "dataset": "a/b"},
        TypeError,
        r"'model'.*`models`",
    ),
    "nothing": (
        {},
        TypeError,
        r"^Comparison\.record\(\) requires `models` and `dataset`",
    ),
    "a text": (
        {"models": "me", "dataset": "a/b"},
        TypeError,
        r"^`models`.*got 'me'",
    ),
    "unknown": (
        {"models": {"our": "me"}, "dataset": "a/b"},
        ValueError,
        r"^`models`.*got 'our'.*`ours`",
    ),
}


@pytest.mark.parametrize("case", REFUSED_RECORDS)
def test_wrong_records_are_refused(case):
    given, kind, match = REFUSED_RECORDS[case]
    found = compared(wide(3), "rouge_l", predictions=["ours", "base"])
    with pytest.raises(kind, match=match):
        found.record(**given)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"scale": "a"}, r"^`scale`.*100.*got 'a'"),
        ({"intervals": "no"}, r"^`intervals`.*got 'no'"),
        ({"digits": 1.5}, r"^`digits`.*at least 0.*got 1\.5"),
    ],
)
def test_numbers_of_a_table_are_checked(given, match):
    found = compared(wide(3), "rouge_l", predictions=["ours", "base"])
    for write in (found.to_markdown, found.to_latex):
        with pytest.raises(ValueError, match=match):
            write(**given)


def test_files_and_columns_that_are_not_there_are_told():
    with pytest.raises(FileNotFoundError, match=r"^`rows`.*got 'nope\.jsonl'"):
        vlgauge.compare({"ours": "nope.jsonl", "base": "nope.jsonl"}, "rouge_l")
    with pytest.raises(ValueError, match=r"`system`.*`model`"):
        compared(long(), system="modl", predictions="caption")
    with pytest.raises(TypeError, match=r"^vlgauge\.compare\(\) got .*'limit'"):
        compared(wide(), predictions=["ours", "base"], limit=3)


def test_a_report_is_that_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wide().to_json("both.jsonl", orient="records", lines=True)
    usual = ["--id", "name", "--references", "refs", "--resamples", "200", "--predictions", "ours,base"]
    assert main(["compare", METRICS, "both.jsonl", *usual, "--report", "there.html", "--rows-that-differ", "2"]) == 0
    compared("both.jsonl", predictions="ours,base").report("here.html", n=2)
    assert (tmp_path / "here.html").read_text("utf-8") == (tmp_path / "there.html").read_text("utf-8")


def test_groups_are_a_column_or_labels():
    frame = wide()
    by_column = compared(frame, predictions=["ours", "base"], groups="album")
    assert by_column.statistics.n_groups == 12
    labels = dict(zip(frame["name"], frame["album"], strict=True))
    assert numbers(compared(frame, predictions=["ours", "base"], groups=labels)) == numbers(by_column)
    with pytest.raises(ValueError, match=r"^`groups`.*got 'albums'"):
        compared(frame, predictions=["ours", "base"], groups="albums")
    frame.loc[3, "album"] = None
    with pytest.raises(ValueError, match=r"^`groups`.*got 'album'"):
        compared(frame, predictions=["ours", "base"], groups="album")


def test_numbers_of_a_paper_are_scaled_with_their_intervals():
    found = compared(wide(), predictions=["ours", "base"])
    (system, *_) = found.statistics.metrics[0].systems
    cell = f"{100 * system.value:.1f} [{100 * system.low:.1f}, {100 * system.high:.1f}]"
    latex = found.to_latex()
    assert f"ours & \\textbf{{{cell}}} & " in latex
    assert "\\toprule" in latex
    assert "$\\times$ 100 with 95\\% bootstrap intervals; 24 rows, 200 samples, seed 0." in latex
    assert "% {\\footnotesize\\raggedright\\texttt{rouge\\_l\\textbar\\allowbreak{}v:" in latex
    plain = found.to_latex(booktabs=False, intervals=False, digits=2, scale=1)
    assert "\\hline" in plain
    assert "toprule" not in plain
    assert "interval" not in plain
    assert f"ours & \\textbf{{{system.value:.2f}}} & " in plain
    assert f"| ours | **{system.value:.4f}** |" in found.to_markdown(intervals=False)


def test_the_caption_says_what_daggers_are_and_why_nothing_is_bold():
    few = compared(wide(4), predictions=["ours", "base"])
    latex = few.to_latex()
    assert "]$^{\\dagger}$" in latex
    assert "$^{\\dagger}$ of fewer than 20 rows or groups of rows, an interval misses" in latex
    assert "Nothing is bold" in latex
    assert "textbf" not in latex
    assert "dagger" not in few.to_latex(intervals=False)


@pytest.mark.filterwarnings("ignore:meteor. means, order, groups and tests are of")
@pytest.mark.parametrize("intervals", [True, False])
def test_a_table_of_a_paper_keeps_every_caveat_of_the_comparison(intervals):
    nan = math.nan
    runs = {
        "silent": made_run([*[0.797] * 20, *[nan] * 20], "meteor"),
        "honest": made_run([*[0.8] * 20, *[0.1] * 20], "meteor"),
    }
    for run in runs.values():
        run |= {"cider_scores": [0.1 * (row % 7) for row in range(40)]}
        run |= {"cider_signature": "cider|v:0.1.0|profile:paper|df:references@0123abcd"}
    labels = {str(row): row // 2 for row in range(40)}
    found = leaderboard.compare(runs, ["meteor", "cider"], family="metric", groups=labels)
    numbers = Numbers(intervals=intervals)
    told = [one for one in systems_table(found, numbers).notes if "|v:" not in one and not one.startswith("Systems ")]
    told += [one for one in pairs_table(found, numbers).notes if one.startswith("Each metric is tested separately")]
    assert any("in 20 groups, which are resampled as a whole" in one for one in told)
    assert sum(one.startswith(("meteor: means, order", "cider: resampled rows", "Each metric")) for one in told) == 3
    told.append("meteor over all its rows: honest 0.4500 (0 undefined), silent 0.7970 (20 undefined).")
    told.append("meteor with the worst score for missing scores: honest 0.4500, silent 0.3985.")
    notes = paper_table(found, numbers).notes
    latex = paper_latex(found, numbers)
    for one in told:
        assert one in notes
        assert latex_text(one) in latex


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs LaTeX")
@pytest.mark.parametrize("booktabs", [True, False])
def test_latex_sets_the_table(tmp_path, booktabs):
    frame = wide(4).rename(columns={"ours": "ours_50%", "base": "base & co #1 ~^\\"})
    table = compared(frame, predictions=["ours_50%", "base & co #1 ~^\\"]).to_latex(booktabs=booktabs, label="tab:a")
    signatures = "\n".join(line[2:] for line in table.splitlines() if line.startswith("% {\\footnotesize"))
    parts = ["\\documentclass{article}", "\\usepackage{booktabs}", "\\begin{document}", table, signatures]
    page = "\n".join([*parts, "\\end{document}", ""])
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    words = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "page.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in done.stdout
    assert "Overfull" not in done.stdout


FRAME = wide(3)
REFUSED = {
    "one table": (FRAME, {"predictions": "ours"}, r"^`rows`.*tables"),
    "number": (FRAME, {"predictions": 3}, r"^`predictions`.*got 3"),
    "one system": ({"ours": FRAME}, {"predictions": "ours"}, r"^`rows`.*two"),
    "twice": (FRAME, {"predictions": ["ours", "ours"]}, r"^`predictions`.*got 'ours'"),
    "a column": (FRAME, {"predictions": ["ours", "bass"]}, r"^`rows`.*'bass'"),
    "rows": (
        {"ours": FRAME, "base": FRAME[:2]},
        {"predictions": "ours"},
        r"^`ids`.*ours",
    ),
    "references": (
        {"ours": FRAME, "base": FRAME.assign(refs=[["a"]] * 3)},
        {"predictions": "ours"},
        r'^`rows`.*id="COLUMN"',
    ),
    "a row twice": (
        pd.concat([long(), long()[:1]]),
        {"predictions": "caption", "system": "model"},
        r"^`ids`.*once",
    ),
    "one value": (long().assign(model="x"), {"system": "model"}, r"^`system`.*systems"),
    "no value": (
        long().assign(model=[None] * 48),
        {"system": "model"},
        r"^`system`.*got None.*row 0",
    ),
    "unnamed": (long(), {"system": "model", "id": None}, r"^`id`.*`system`"),
    "both": ({"a": FRAME, "b": FRAME}, {"system": "model"}, r"^`system`.*`rows`"),
    "baseline": (FRAME, {"predictions": ["ours", "base"], "baseline": "bas"}, "`base`"),
    "annotations": ({"ours": FRAME, "base": FRAME}, {"annotations": 3}, "^`annotations`.*got int$"),
    "no annotations": ({"ours": FRAME, "base": FRAME}, {"annotations": "lost.json"}, "^`annotations`.*'lost.json'"),
    "in one": ({"ours": FRAME, "base": 3}, {"predictions": "ours"}, r"`rows`.*DataFrame"),
    "groups": (
        {"a": {"ids": [1], "rouge_l_scores": [1.0]}, "b": {"ids": [1], "rouge_l_scores": [0.5]}},
        {"groups": "album"},
        r"'rouge_l'.*compared",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_compared_is_told_in_a_sentence(case):
    rows, how, match = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        compared(rows, "rouge_l", **how)
    assert "\n" not in str(caught.value)
    assert not {"FILE", "--"} & set(str(caught.value).split())


@pytest.mark.parametrize(
    ("metrics", "match"),
    [
        ("rouge_l,rouge_l", r"^`metrics`.*got 'rouge_l'"),
        ("rouge", "`rouge_l`"),
        ("", r"^`metrics`.*least"),
    ],
)
def test_wrong_metrics_are_told_in_a_sentence(metrics, match):
    with pytest.raises(ValueError, match=match):
        compared(wide(3), metrics, predictions=["ours", "base"])


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (
            ["both.jsonl"],
            "FILE must be at least two files, one per system, got only 'both.jsonl'; or one file with a column",
        ),
        (["both.jsonl", "both.jsonl", "--system", "x"], "--system requires one FILE with the rows of all"),
        (["both.jsonl", "--predictions", "ours,ours"], "--predictions must have distinct names, got 'ours' more"),
        (["both.jsonl", "--predictions", "ours,base", "--names", "a,b"], "--names requires a FILE per system"),
        (
            ["both.jsonl", "--predictions", "ours,base", "--booktabs"],
            "--booktabs requires --format latex, got text",
        ),
        (["both.jsonl", "--predictions", "ours,base", "--label", "x"], "--label requires --booktabs"),
        (
            ["both.jsonl", "--system", "album", "--predictions", "ours", "--id", "x"],
            "choose the column of row IDs with --id",
        ),
    ],
)
def test_the_command_tells_what_is_wrong_in_a_sentence(tmp_path, monkeypatch, capsys, words, match):
    monkeypatch.chdir(tmp_path)
    wide(3).to_json("both.jsonl", orient="records", lines=True)
    assert main(["compare", "rouge_l", *words]) == 2
    told = capsys.readouterr().err
    assert match in told
    assert told.count("\n") == 1
