import dataclasses

import pytest
from made_runs import bleu_run, made_run, three_systems

from vlgauge.core.signatures import DEMO_NUMBERS
from vlgauge.families.aggregation import COUNTED
from vlgauge.leaderboard import compare
from vlgauge.leaderboard.table import Cell, Table, differences_table, pairs_table, render, systems_table

FEW = "\N{DAGGER} of fewer than 20 rows or groups of rows, an interval misses more often than its level says."
UNCORRECTED = (
    "Intervals are not corrected for multiple comparisons and may disagree with the tests: an interval may "
    'exclude 0 for a pair that is "not significant".'
)
HOSTILE = "a|b *c* _d_ <e> \x1b[2J & [f](javascript:g) {h}%$#~^\\\nnext"
TABLE = Table(["name", "x ↑"], [[Cell(HOSTILE), Cell("-1 [2, 3]", bold=True, right=True)]], "over", ["under"])


@pytest.fixture(scope="module")
def comparison():
    return compare(three_systems("d_hm"), ["d_hm"])


def test_every_form_escapes_what_it_obeys():
    safe = r"a\|b \*c\* \_d\_ \<e\> \\x1b[2J \& [f\](javascript:g) {h}%\$#\~^\\ next"
    assert render(TABLE, "markdown") == f"over\n\n| name | x ↑ |\n| --- | ---: |\n| {safe} | **-1 [2, 3]** |\n\nunder"
    latex = render(TABLE, "latex").splitlines()
    assert latex[:4] == ["% over", r"\begin{tabular}{lr}", r"\hline", r"name & x $\uparrow$ \\"]
    assert latex[5] == (
        r"a\textbar{}b *c* \_d\_ \textless{}e\textgreater{} \textbackslash{}x1b[2J \& "
        r"[f](javascript:g) \{h\}\%\$\#\textasciitilde{}\textasciicircum{}"
        r"\textbackslash{} next & \textbf{$-$1 [2, 3]} \\"
    )
    html = render(TABLE, "html")
    assert "a|b *c* _d_ &lt;e&gt; \\x1b[2J &amp; [f]" in html
    assert "<caption>over</caption>" in html
    assert html.endswith("</table>\n<p>under</p>")
    text = render(TABLE, "text").splitlines()
    assert text[0] == "over"
    assert text[2].startswith("name ")
    assert len(text[3]) == len(text[4])
    assert text[4].endswith("-1 [2, 3]")
    assert "\x1b" not in "\n".join(text)


def test_what_has_no_width_does_not_stop_latex():
    assert "a & dog" not in (text := render(Table(["x"], [[Cell("a\u200b \u2060dog")]]), "latex"))
    assert "\na dog \\\\" in text


@pytest.mark.parametrize("text", ["[x]", "*x"])
def test_the_start_of_a_row_is_no_option_of_latex(text):
    assert f"\n{{}}{text} \\\\" in render(Table(["a"], [[Cell(text)]]), "latex")


def test_the_first_group_is_bold_and_arrows_point_to_the_better_scores(comparison):
    table = systems_table(comparison)
    assert table.header == ["system", "d_hm ↓", "group", "n"]
    assert {row[0].text: row[1].bold for row in table.rows} == {"low": True, "low too": True, "high": False}
    assert [row[2].text for row in table.rows] == ["1", "1", "2"]
    assert [line.startswith("d_hm|") for line in table.notes] == [False, False, True]


def test_scores_of_demo_models_are_called_so_in_every_form():
    demo = {"clip_s_signature": "clip_s|v:0.1.0|profile:embedded|enc:vlgauge-toy-clip@0"}
    found = compare({name: run | demo for name, run in three_systems("clip_s").items()}, ["clip_s"])
    note = f"clip_s: scores of demo models, which {DEMO_NUMBERS}."
    assert note in systems_table(found).notes
    whole = {"rovist_signature": "rovist|v:0.1.0|profile:embedded|scale_vg:False|parts:5daf87e0"}
    rovist = compare({name: run | whole for name, run in three_systems("rovist").items()}, ["rovist"])
    assert systems_table(rovist).header[1].startswith("rovist (demo) ")
    for table in (systems_table(found), pairs_table(found)):
        cells = [line for line in render(table, "latex").splitlines() if not line.startswith("%")]
        assert any(r"clip\_s (demo) $\uparrow$" in line for line in cells)


def test_text_marks_the_first_group_with_a_star(comparison):
    table = systems_table(comparison)
    lines = render(table, "text").splitlines()
    assert ["* " in line for line in lines[2:5]] == [True, True, False]
    assert lines[6] == "*: the first group"
    assert len({len(line) for line in lines[:5]}) == 1
    for form, begin in (("markdown", "bold: "), ("latex", "% bold: "), ("html", "<p>bold: ")):
        assert f"{begin}the first group" in render(table, form)
        assert "* " not in render(table, form).replace("**", "")
    assert "* " not in render(pairs_table(comparison), "text")


@pytest.mark.parametrize(
    ("metrics", "notes"),
    [
        (["bleu"], ("Values of the corpus with 95%", "do not differ significantly in tests that swap rows (0.05).")),
        (
            ["rovist_nr", "bleu"],
            (
                "Means, for bleu values of the corpus, with 95%",
                "in paired sign-flip tests, for bleu tests that swap rows (Holm's correction for 1 pair by each of 2",
            ),
        ),
    ],
)
def test_what_adds_counts_is_told(metrics, notes):
    references = ["a dog runs on the grass", "two cats sleep"]
    said = {"a": references, "b": ["", ""]}
    runs = {name: bleu_run(own, references) | made_run([1, 2]) for name, own in said.items()}
    table = compare(runs, metrics)
    told = systems_table(table).notes
    assert told[0].startswith(notes[0])
    assert notes[1] in told[1]
    assert pairs_table(table).notes == [
        *(["p (Holm) corrects for the 1 pair of all 2 metrics together, 2 tests."] if len(metrics) > 1 else []),
        UNCORRECTED,
        "too few differing rows for a test: with so few differing rows, no outcome is significant; such pairs "
        "make nothing bold.",
        "bleu: wins, losses and ties count single rows, all other values are corpus-level. A row in which "
        "neither system matches four words in a row ties.",
        FEW,
    ]
    compared = table.metrics[-1]
    caption = differences_table(table, compared, compared.pairs[0], 1, {}).caption
    assert caption == "Rows in which a and b differ most by bleu (row) ↑"


def test_only_a_metric_with_noise_tells_which_rows_tie(monkeypatch):
    counted = dataclasses.replace(COUNTED["bleu"], is_noise=None, noise="")
    monkeypatch.setattr(type(COUNTED), "__getitem__", lambda self, name: counted)
    table = compare({"a": bleu_run(["a dog"], ["a cat"]), "b": bleu_run(["cats"], ["a cat"])}, ["bleu"])
    assert table.metrics[0].noise == {}
    assert table.metrics[0].pairs[0].wins == 1
    (note,) = [one for one in pairs_table(table).notes if one.startswith("bleu: ")]
    assert note == "bleu: wins, losses and ties count single rows, all other values are corpus-level."


RUNS_OF_40 = {"a": list(range(40)), "b": [0.5] * 40}


def test_both_tables_tell_how_many_pairs_they_correct_for():
    # b differs significantly from the baseline among two pairs, but not among three.
    scores = {"base": [0.0] * 10, "a": [1.0] * 10, "b": [2.0] * 8 + [-0.1] * 2}
    runs = {name: made_run(own) for name, own in scores.items()}
    compared = compare(runs, ["rovist_nr"], baseline="base", level=0.99)
    systems, pairs = systems_table(compared), pairs_table(compared)
    assert [row[2].text for row in systems.rows] == ["1,2", "1", "2"]
    assert [row[-1].text for row in pairs.rows] == ["a", "b"]
    assert "(Holm's correction for 3 pairs, 0.01)" in systems.notes[1]
    assert pairs.notes == [
        "p (Holm) corrects for 2 pairs.",
        "The groups correct for all 3 pairs: a pair may differ significantly here and still share a group.",
        UNCORRECTED,
        FEW,
    ]


@pytest.mark.parametrize(("rows", "few"), [(19, True), (20, False)])
def test_intervals_of_few_rows_are_marked(rows, few):
    compared = compare({"a": made_run(range(rows)), "b": made_run([0.5] * rows)}, ["rovist_nr"])
    for table, column in ((systems_table(compared), 1), (pairs_table(compared), 2)):
        assert [row[column].text.endswith("]\N{DAGGER}") for row in table.rows] == [few] * len(table.rows)
        assert (FEW in table.notes) == few


def test_intervals_of_few_groups_are_marked():
    labels = {str(row): row // 4 for row in range(40)}
    runs = {name: made_run(own) | {"ids": [str(row) for row in range(40)]} for name, own in RUNS_OF_40.items()}
    (compared,) = compare(runs, ["rovist_nr"], groups=labels).metrics
    assert all(one.few for one in (*compared.systems, *compared.pairs))
    (alone,) = compare(runs, ["rovist_nr"]).metrics
    assert not any(one.few for one in (*alone.systems, *alone.pairs))


def test_a_system_in_several_groups_is_explained():
    runs = {"a": made_run([1.0] * 6), "b": made_run([0.5] * 6), "c": made_run([2.0, 0.5] * 3)}
    told = systems_table(compare(runs, ["rovist_nr"], level=0.9))
    assert [row[2].text for row in told.rows] == ["1,2", "1", "2"]
    assert "Group 1,2: member of each of these groups, without significant differences within each." in told.notes


def test_a_pvalue_at_its_floor_is_a_bound():
    runs = {"a": made_run(range(1, 41)), "b": made_run([0] * 40)}
    for form, text in (("text", "  ≤ 1.0e-04  "), ("markdown", " | ≤ 1.0e-04 | "), ("html", ">≤ 1.0e-04<")):
        assert text in render(pairs_table(compare(runs, ["rovist_nr"])), form)
    assert "$\\le$ 1.0e$-$04 &" in render(pairs_table(compare(runs, ["rovist_nr"])), "latex")
    # All signs of ten rows are enumerated: the p-value is exact, not a bound.
    few = {name: made_run(run["rovist_nr_scores"][:10]) for name, run in runs.items()}
    assert "≤" not in render(pairs_table(compare(few, ["rovist_nr"], resamples=1024)), "text")


def test_groups_that_are_drawn_whole_are_told():
    runs = {"a": made_run([1, 2]), "b": made_run([2, 2])}
    note = systems_table(compare(runs, ["rovist_nr"], groups={"0": 1, "1": 1})).notes[0]
    assert note.endswith("2 rows in 1 groups, which are resampled as a whole, 10000 samples, seed 0.")


def test_pairs_name_the_better_system(comparison):
    better = {row[1].text: row[-1].text for row in pairs_table(comparison).rows}
    assert better == {"high - low": "low", "high - low too": "low too", "low - low too": "not significant"}


def test_undefined_rows_are_counted_and_means_of_one_row_have_no_interval():
    runs = {"a": made_run([1, float("nan")]), "b": made_run([2, float("nan")])}
    row = systems_table(compare(runs, ["rovist_nr"])).rows[0]
    assert [cell.text for cell in row] == ["b", "2.0000", "1", "1 (+1 undefined)"]


@pytest.mark.filterwarnings("ignore:meteor. means, order, groups and tests are of")
def test_rows_that_a_system_lacks_stand_next_to_the_means():
    lacking = [*[0.797] * 30, *[float("nan")] * 10]
    runs = {"silent": made_run(lacking, "meteor"), "honest": made_run([*[0.8] * 30, *[0.1] * 10], "meteor")}
    comparison = compare(runs, ["meteor"])
    table = systems_table(comparison)
    assert table.header == ["system", "meteor ↑", "group", "own rows", "undefined", "worst for missing", "n"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["honest", "0.8000 [0.8000, 0.8000]", "1", "0.6250", "0", "0.6250", "30 of 40"],
        ["silent", "0.7970 [0.7970, 0.7970]", "2", "0.7970", "10", "0.5978", "30 of 40"],
    ]
    assert [row[1].bold for row in table.rows] == [True, False]
    (told,) = comparison.metrics[0].notes
    assert f"{told}." in table.notes


@pytest.mark.filterwarnings("ignore:meteor. means, order, groups and tests are of")
def test_metrics_of_unequal_rows_each_have_their_number():
    runs = {name: made_run([1.0, 2.0, 3.0]) | made_run([0.1, 0.2, 0.3], "meteor") for name in "ab"}
    runs["b"]["meteor_scores"] = [0.1, 0.2, None]
    table = systems_table(compare(runs, ["rovist_nr", "meteor"]))
    expected = ["rovist_nr ↑", "group", "n", "meteor ↑", "group", "own rows", "undefined", "worst for missing", "n"]
    assert table.header == ["system", *expected]
    assert [cell.text for cell in table.rows[0]][3::6] == ["3", "2 of 3"]


def test_too_few_rows_are_told_and_nothing_is_bold():
    comparison = compare({"a": made_run([2.0] * 5), "b": made_run([1.0] * 5)}, ["rovist_nr"])
    systems, pairs = systems_table(comparison), pairs_table(comparison)
    assert [cell.text for cell in pairs.rows[0]][-1] == "too few differing rows for a test"
    assert pairs.notes[-2].startswith("too few differing rows for a test: with so few differing rows, no outcome")
    assert not any(cell.bold for row in [*systems.rows, *pairs.rows] for cell in row)
    assert systems.bold == ""


def test_holm_is_written_only_if_several_pvalues_were_corrected():
    runs = {name: run | three_systems("d_hm")[name] for name, run in three_systems().items()}
    two = {name: runs[name] for name in ("high", "low")}
    alone = compare(two, ["rovist_nr"])
    each = compare(two, ["rovist_nr", "d_hm"], family="metric")
    for comparison in (alone, each):
        for table in (systems_table(comparison), pairs_table(comparison)):
            assert "Holm" not in render(table, "text")
        assert pairs_table(comparison).header == [
            *("metric", "systems", "difference", "p", "wins", "losses", "ties", "better")
        ]
    assert pairs_table(each).notes[0] == (
        "Each metric is tested separately: the probability of an error in any of the 2 metrics exceeds 0.05; the "
        "family `all` has 2 tests."
    )
    for comparison in (compare(two, ["rovist_nr", "d_hm"]), compare(runs, ["rovist_nr"])):
        assert "p (Holm)" in pairs_table(comparison).header
        assert "(Holm's correction for " in systems_table(comparison).notes[1]


def test_the_family_of_all_metrics_is_told():
    runs = {name: run | three_systems("d_hm")[name] for name, run in three_systems().items()}
    comparison = compare(runs, ["rovist_nr", "d_hm"])
    assert "(Holm's correction for 3 pairs by each of 2 metrics, 0.05)" in systems_table(comparison).notes[1]
    told = "p (Holm) corrects for the 3 pairs of all 2 metrics together, 6 tests."
    assert pairs_table(comparison).notes[0] == told


def test_samples_of_the_tests_are_told_where_they_are_more():
    runs = {f"s{i}": made_run([float(i + row % 3) for row in range(12)]) for i in range(11)}
    told = "12 rows, 10000 samples, 11000 for tests, seed 0."
    assert systems_table(compare(runs, ["rovist_nr"])).notes[0].endswith(told)


def test_samples_that_keep_the_document_frequencies_are_told():
    run = made_run([1.0, 2.0], "cider")
    told = "cider: resampled rows keep the document frequencies of all rows."
    for df, is_told in (("references@0123abcd", True), ("coco@0123abcd", False)):
        runs = {name: run | {"cider_signature": f"cider|v:0.1.0|df:{df}"} for name in "ab"}
        assert (told in systems_table(compare(runs, ["cider"])).notes) == is_told


def test_rows_that_are_scored_by_their_neighbours_are_told():
    told = "polos: row scores depend on other rows, but intervals and tests treat rows as independent."
    runs = three_systems("polos")
    assert told not in systems_table(compare(runs, ["polos"])).notes
    signed = {"polos_signature": "polos|v:0.1.0|profile:paper|variant:released|released_batch:32"}
    assert told in systems_table(compare({name: run | signed for name, run in runs.items()}, ["polos"])).notes


def test_rows_that_differ_name_the_better_one(comparison):
    (compared,) = comparison.metrics
    texts = {"high": {str(row): f"text {row}" for row in range(40)}}
    table = differences_table(comparison, compared, compared.pairs[0], 2, texts)
    assert table.header == ["id", "high", "low", "difference", "better", "text of high"]
    assert [row[4].text for row in table.rows] == ["low", "low"]
    assert table.rows[0][5].text == f"text {table.rows[0][0].text}"
    ties = compare({"a": made_run([1, 2]), "b": made_run([1, 2])}, ["rovist_nr"])
    empty = differences_table(ties, ties.metrics[0], ties.metrics[0].pairs[0], 2, {})
    assert empty.caption == "Rows in which a and b differ most by rovist_nr ↑: none, because all rows tie"
    assert render(empty, "text")


def test_unknown_form():
    with pytest.raises(ValueError, match=r"^`form`.*got 'pdf'"):
        render(TABLE, "pdf")
