import dataclasses
import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from made_runs import bleu_run, made_run, made_signature

from vlgauge.core.catalog import score_title
from vlgauge.core.files import limits
from vlgauge.families.aggregation import corpus_interval
from vlgauge.leaderboard import Dataset, Model, RecordSource, append_records, parse_records, read_records, record_of
from vlgauge.leaderboard.record import parse_record
from vlgauge.stats import METHOD, bootstrap_interval

MODEL = Model("org/teller", "Teller", "a" * 40)
DATASET = Dataset("org/vist", "VIST", "default", "test", "b" * 40)
SOURCE = RecordSource("https://example.org/scores", "Per-story scores", org="org")
LINE = (
    '{"schema": 1, "metric": "rovist_nr", "title": "RoViST-NR", "version": "0.1.0", "value": 0.5, "ci": {"low": '
    f'{bootstrap_interval([0.25, 0.5, 0.75]).low!r}, "high": 1.0, "level": 0.95, "method": "{METHOD}", '
    '"resamples": 10000, "seed": 0, "groups": 3}, '
    '"n": 3, "undefined": 1, "higher_is_better": true, "profile": "paper", "model": {"id": "org/teller", '
    f'"name": "Teller", "revision": "{40 * "a"}"}}, "dataset": {{"id": "org/vist", "name": "VIST", '
    f'"config": "default", "split": "test", "revision": "{40 * "b"}"}}, "signature": "{made_signature()}", '
    '"date": "2026-11-20", "source": {"url": "https://example.org/scores", "name": "Per-story scores", "org": "org"}, '
    '"notes": null, "scores_sha256": "d0763f1628249c93d48a95e8c02fb29317af266133b9acc2314927d1de748243"}\n'
)


SIGNED = made_signature()
PAPER = SIGNED.replace("variant:released", "variant:paper")
EVERY = "the range of {} with these settings"
SIGNATURES = {
    **{name: made_signature(name) for name in ("trm", "groovist")},
    "bleu": "bleu|v:0.1.0|profile:paper|tokenizer:ptb-3.4.1",
    "cider": "cider|v:0.1.0|profile:paper|tokenizer:ptb-3.4.1|df:references@01234567",
    "d_hm": "d_hm|v:0.1.0|profile:paper|apply_tanh:True",
    "mmd_bert": "mmd_bert|v:0.1.0|profile:paper|enc:mine|variant:paper|estimator:unbiased|bandwidth:median",
    "onlystyle": "onlystyle|v:0.1.0|profile:paper|orders:available|variant:paper|exclude_self:False|n:4|tok:words-1|"
    "styles:4|captions:100|table:6a365648a6bd",
}


def record(scores=(0.25, 0.5, 0.75, math.nan), **options):
    options = {"date": "2026-11-20", "source": SOURCE} | options
    return record_of(made_run(scores), "rovist_nr", options.pop("model", MODEL), DATASET, **options)


def test_a_line_has_every_key_in_order(tmp_path):
    assert record().line() == LINE
    assert append_records(tmp_path / "results.jsonl", [record()]) == [record()]
    assert (tmp_path / "results.jsonl").read_text("utf-8") == LINE
    assert read_records(tmp_path / "results.jsonl") == [record()]


def test_the_interval_is_that_of_the_defined_scores():
    ours, expected = record().ci, bootstrap_interval([0.25, 0.5, 0.75]).within((None, 1.0), 0.5)
    assert (ours.low, ours.high, ours.resamples) == (expected.low, expected.high, expected.resamples)
    assert record([1.0, math.nan]).ci is None


def test_what_is_optional_may_be_null(tmp_path):
    bare = record(source=None, model=Model("org/teller", "Teller"), notes="by hand")
    append_records(tmp_path / "r.jsonl", [bare])
    assert read_records(tmp_path / "r.jsonl") == [bare]
    assert '"source": null, "notes": "by hand"' in bare.line()


def test_floats_and_letters_come_back_as_they_are(tmp_path):
    own = record([0.1, 0.2, 1e-17], model=Model("org/teller", "Erzähler \u2028 2"))
    append_records(tmp_path / "r.jsonl", [own])
    (back,) = read_records(tmp_path / "r.jsonl")
    assert back == own
    assert back.value == math.fsum([0.1, 0.2, 1e-17]) / 3


def test_a_record_is_added_once_and_never_replaced(tmp_path):
    path = tmp_path / "results.jsonl"
    assert append_records(path, [record()]) == [record()]
    assert append_records(path, [record(date="2026-11-21")]) == []
    other = record(model=dataclasses.replace(MODEL, revision=None))
    assert append_records(path, [record(), other]) == [other]
    with pytest.raises(ValueError, match=r"rovist_nr.*org/teller.*org/vist.*value"):
        append_records(path, [record([0.5, 0.0])])
    assert path.read_text("utf-8") == LINE + other.line()


def test_another_signature_of_the_same_result_is_told_once(tmp_path):
    path = tmp_path / "results.jsonl"
    append_records(path, [record()])
    run = made_run([0.25, 0.5])
    run["rovist_nr_signature"] = run["rovist_nr_signature"].replace("n:4", "n:3")
    other = record_of(run, "rovist_nr", MODEL, DATASET, date="2026-11-20")
    with pytest.warns(UserWarning, match=r"2 results.*org/teller.*org/vist") as told:
        assert append_records(path, [other]) == [other]
    (message,) = (str(one.message) for one in told)
    assert f"{record().signature} and {other.signature};" in message
    # Existing signatures are not repeated in the warning, and neither is another split.
    moved = dataclasses.replace(other, dataset=dataclasses.replace(DATASET, split="val"))
    assert append_records(path, [other, moved]) == [moved]


def test_a_last_line_without_an_end_is_ended(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text(LINE.rstrip("\n"), encoding="utf-8")
    other = record(notes=None, model=Model("org/other", "Other"))
    append_records(path, [other])
    assert path.read_text("utf-8") == LINE + other.line()


def test_no_record_of_several_writers_is_lost(tmp_path):
    path = tmp_path / "results.jsonl"
    own = [record(model=Model(f"org/m{i}", f"m{i}")) for i in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda one: append_records(path, [one]), own))
    assert {one.model.id for one in read_records(path)} == {one.model.id for one in own}
    assert list(tmp_path.iterdir()) == [path]  # the lock is removed


def changed(**values):
    content = json.loads(LINE)
    for key, value in values.items():
        *path, last = key.split("__")
        inner = content
        for step in path:
            inner = inner[step]
        if value is ...:
            del inner[last]
        else:
            inner[last] = value
    return json.dumps(content)


def of_metric(name, value, **more):
    told = SIGNATURES.get(name, f"{name}|v:0.1.0|profile:paper")
    title = "Somebody's" if name == "of_somebody_else" else score_title(name)
    lower = {"higher_is_better": False} if name in ("d_hm", "mmd_bert") else {}
    return changed(**{"metric": name, "title": title, "signature": told, "value": value, "ci": None, **lower, **more})


def of_score(name, title):
    """Return a record of a metric for which higher is better."""
    return changed(metric=name, title=title, signature=f"{name}|v:0.1.0|profile:paper", ci=None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (of_score("chair_s", "CHAIRs"), "`higher_is_better` must be that of chair_s, False, got True"),
        (of_score("trm_pvalue", "TRM pvalue"), "`metric` must be a score with a direction, got 'trm_pvalue'; trm has"),
        (of_metric("bleu", 3.0), f"`value` must be at least 0 and at most 1, {EVERY.format('bleu')}, got 3.0"),
        (of_metric("cider", -0.5), f"`value` must be at least 0 and at most 10, {EVERY.format('cider')}, got -0.5"),
        (of_metric("d_hm", -1.0), f"`value` must be at least 0, {EVERY.format('d_hm')}, got -1.0"),
        (changed(value=1.5), f"`value` must be at most 1, {EVERY.format('rovist_nr')}, got 1.5"),
        (changed(ci__high=1.5), f"`ci.high` must be at most 1, {EVERY.format('rovist_nr')}, got 1.5"),
        # Includes the settings of the signature.
        (of_metric("mmd_bert", 3.0), f"`value` must be at least -1 and at most 2, {EVERY.format('mmd_bert')}, got 3.0"),
        (
            of_metric(
                "mmd_bert", -0.5, signature=SIGNATURES["mmd_bert"].replace("paper|estimator:unbiased", "released")
            ),
            f"`value` must be at least 0 and at most 4.00002, {EVERY.format('mmd_bert')}, got -0.5",
        ),
        (of_metric("onlystyle", 1.2), f"`value` must be at least -1 and at most 1, {EVERY.format('onlystyle')}"),
        (
            of_metric("spider_spice", 2.5, title="SPICE"),
            f"`value` must be at least 0 and at most 2, {EVERY.format('spider_spice')}, got 2.5",
        ),
        (
            changed(signature=PAPER, value=-0.5, ci=None),
            f"`value` must be at least 0 and at most 1, {EVERY.format('rovist_nr')}, got -0.5",
        ),
        # Fields that follow from the name of the metric and its signature.
        (changed(higher_is_better=False), "`higher_is_better` must be that of rovist_nr, True, got False"),
        (changed(title="TRM"), "`title` must be that of rovist_nr, 'RoViST-NR', got 'TRM'"),
        # Consistency of the numbers.
        (changed(value=0.76, ci__low=0.25, ci__high=0.75), "`value` must be in its interval, 0.25 to 0.75, got 0.76"),
        (changed(value=0.2, ci__low=0.25, ci__high=0.75), "`value` must be in its interval, 0.25 to 0.75, got 0.2"),
        (
            changed(n=10**30),
            "`n` must be at least 1, and `n` + `undefined` at most 1,000,000,000,000",
        ),
        (changed(undefined=10**12), "`n` must be at least 1, and `n` + `undefined` at most"),
        (changed(n=0), "`n` must be at least 1, and `n` + `undefined` at most"),
        (changed(n=1), "`ci` must be null for fewer than 2 rows, got one for 1"),
        (changed(ci__groups=4), "`ci.groups` must be at least 2 and at most `n`, 3, got 4"),
        (changed(ci__groups=1), "`ci.groups` must be at least 2 and at most `n`, 3, got 1"),
        (changed(scores_sha256="x"), "`scores_sha256` must be a digest of 64 hexadecimal digits or null, got 'x'"),
        (changed(schema=2), "`schema` must be 1, the only supported version, got 2"),
        (changed(schema=True), "`schema` must be 1"),
        (changed(value=..., n=...), "`record` lacks value, n"),
        (changed(extra=1), "`record` has 'extra', which are not valid keys"),
        (changed(model__extra=1, model__id=...), "`model` lacks id and has 'extra', which are not valid keys"),
        (changed(value=math.nan), "`value` must be a finite number, got nan"),
        (changed(value=math.inf), "`value` must be a finite number, got inf"),
        (changed(value=True), "`value` must be a finite number, got True"),
        (changed(ci__low=math.nan), "`ci.low` must be a finite number, got nan"),
        (changed(ci__low=0.75, ci__high=0.25), "`ci` must have its low end first and a level between 0 and 1"),
        (changed(n=-1), "`n` must be an integer of at least 0, got -1"),
        (changed(higher_is_better=1), "`higher_is_better` must be true or false, got 1"),
        (changed(profile="demo"), "`profile` must be paper or embedded, got 'demo'"),
        (changed(profile="embedded"), "`profile` must be that of the signature, 'paper', got 'embedded'"),
        (changed(version="0.2"), "`version` must be that of the signature, '0.1.0', got '0.2'"),
        (changed(metric="trm"), "`metric` must be that of the signature, 'rovist_nr', got 'trm'"),
        (changed(metric="../x"), "`metric` must be a metric name, got"),
        (changed(title=" "), "`title` must be a string, got ' '"),
        (changed(model="org/teller"), "`model` must be an object, got 'org/teller'"),
        (changed(model__id="teller"), "`model.id` must be an id of the Hub, owner/name, got 'teller'"),
        (changed(model__revision="main"), "`model.revision` must be a commit of 40 hexadecimal digits or null"),
        (changed(dataset__id="a/../b"), "`dataset.id` must be an id of the Hub"),
        (changed(dataset__split=None), "`dataset.split` must be a string, got None"),
        (changed(signature="x|y"), "`signature` must be the signature of a result"),
        (changed(date="20 Nov 2026"), "`date` must be an ISO 8601 date, such as 2026-11-20, got '20 Nov 2026'"),
        (
            changed(source__url="ftp://x"),
            "`source.url` must be a URL that begins with https://, without spaces, got 'ftp://x'",
        ),
        (changed(source__url=...), "`source` lacks url"),
        (changed(source__user="me"), "`source` must have a user or an org, not both"),
        (changed(notes=3), "`notes` must be a string, got 3"),
        (changed(notes="\ud800"), r"`notes` must be a string, got '\ud800'"),
        ("[1]", "`record` must be an object, got [1]"),
        ("{", "FILE must contain JSON"),
        (changed(undefined=2), "must have one record per metric, signature, model and dataset, got line 1 of"),
    ],
)
def test_what_is_no_record_is_told_with_its_line(tmp_path, line, message):
    path = tmp_path / "results.jsonl"
    path.write_text(f"{LINE}\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line.* 3") as caught:
        read_records(path)
    assert message in str(caught.value)
    with pytest.raises(ValueError, match=r"line.* 3"):
        append_records(path, [record()])
    assert path.read_text("utf-8") == f"{LINE}\n{line}\n"


def test_a_line_that_is_longer_than_any_record_is_not_parsed(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text(f"\n \n\n{LINE}\n\n[{'[],' * 50_000}0]\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"at most 131,072 characters.*got 150,003.*line 7"):
        read_records(path)


def test_records_are_bounded_in_number(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text(f"\n{LINE}\n \n{LINE}", encoding="utf-8")
    with limits(max_rows=1), pytest.raises(ValueError, match=r"at most 1 rows.*results\.jsonl"):
        read_records(path)
    with limits(max_rows=2):
        assert len(read_records(path)) == 1


@pytest.mark.parametrize(
    ("name", "value", "more"),
    [
        ("bleu", 1.0 + 1e-9, {}),
        ("groovist", -5.0, {}),
        ("of_somebody_else", 300.0, {"higher_is_better": False}),
        ("mmd_bert", 3.7, {"signature": SIGNATURES["mmd_bert"].replace("paper|estimator:unbiased", "released")}),
        ("onlystyle", 1.0, {"signature": SIGNATURES["onlystyle"].replace("variant:paper", "variant:released")}),
    ],
)
def test_values_that_a_metric_can_have_are_records(tmp_path, name, value, more):
    path = tmp_path / "results.jsonl"
    path.write_text(of_metric(name, value, **more), encoding="utf-8")
    assert [one.value for one in read_records(path)] == [value]


def test_a_record_has_the_direction_of_its_own_score():
    assert parse_records(of_score("chair_recall", "CHAIR recall").encode(), "x")[0].higher_is_better
    run = {"ids": [0, 1], "chair_recall_scores": [0.5, 1.0], "chair_recall_signature": "chair_recall|v:1|profile:paper"}
    made = record_of(run, "chair_recall", record().model, record().dataset, date="2026-11-22")
    assert (made.title, made.higher_is_better) == ("CHAIR recall", True)


def test_an_undefined_value_is_not_recorded():
    with pytest.raises(ValueError, match=r"^`rovist_nr_scores`"):
        record([math.nan])


@pytest.mark.parametrize("options", [{"date": "soon"}, {"model": Model("teller", "x")}, {"source": RecordSource("x")}])
def test_what_no_record_can_hold_is_refused_at_once(options):
    with pytest.raises(ValueError, match=r"`(date|model\.id|source\.url)` must"):
        record(**options)


def test_bleu_is_recorded_as_that_of_the_corpus_with_its_interval():
    result = bleu_run(["a dog runs on the grass", "two cats", "a cat"], ["a dog runs on the grass", "two red cats", []])
    found = record_of(result, "bleu", MODEL, DATASET, date="2026-11-20")
    assert (found.value, found.n, found.undefined) == (result["bleu"], 2, 1)
    assert found.value != pytest.approx(np.nanmean(result["bleu_scores"]), abs=0.01)
    interval = corpus_interval("bleu", result)
    assert (found.ci.low, found.ci.high) == (interval.low, interval.high)
    assert found.ci.low < found.value < found.ci.high


def test_an_interval_beyond_the_range_of_the_settings_is_refused():
    run = made_run([0.0] * 9 + [0.9])
    run["rovist_nr_signature"] = PAPER
    found = record_of(run, "rovist_nr", MODEL, DATASET, date="2026-11-20")
    assert found.ci.low == 0.0
    beyond = dataclasses.replace(found, ci=dataclasses.replace(found.ci, low=-0.02))
    with pytest.raises(ValueError, match=r"^`ci\.low`.*at least 0.*at most 1"):
        parse_record(json.loads(beyond.line()))
