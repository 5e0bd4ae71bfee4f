"""The published numbers against the papers' texts and the cards, with every table and figure listed."""

import json
import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from folders import GOLDEN

from vlgauge.research.studies.published import (
    PublishedRow,
    backbone_of,
    find_published_rows,
    list_published_tables,
    rows,
    spread_of_draws,
    verdict,
)

TEXTS = {"distribution": "distribution_aware.txt"}
# Tables and figures of each paper, counted by hand.
COUNTS = {"groovist": (3, 5), "rovist": (2, 7), "stylem": (4, 2), "distribution": (4, 14), "pac_s": (11, 8)}


@pytest.fixture(params=COUNTS)
def paper(request, shared_folder):
    """Return the name and text of each paper."""
    name = request.param
    return name, (shared_folder / "papers" / TEXTS.get(name, f"{name}.txt")).read_text("utf-8")


def numbered(name):
    return [
        one.table
        for one in list_published_tables()
        if one.paper == name and one.table.startswith(("Table ", "Figure "))
    ]


@pytest.mark.parametrize("name", COUNTS)
def test_every_table_and_figure_is_listed_once(name):
    found = numbered(name)
    assert max(Counter(found).values()) == 1
    assert tuple(sum(one.startswith(kind) for one in found) for kind in ("Table", "Figure")) == COUNTS[name]


def test_the_list_has_what_the_text_has(paper):
    name, text = paper
    captions = re.findall(r"^(?:Figure B\.\d|(?:Table|Figure) [B.\d]*\d(?=:))", text, re.MULTILINE)
    assert set(captions) == set(numbered(name))


def written(number):
    """Return a pattern of a number as a table may print it."""
    forms = {f"{number:.{digits}f}" for digits in range(5) if round(number, digits) == number}
    forms |= {f"{number / 100:.3f}", *(one.replace("0.", ".", 1) for one in forms)}
    return f"(?:{'|'.join(map(re.escape, sorted(forms)))})"


def test_every_row_stands_in_the_text(paper):
    name, text = paper
    text = re.sub(r"</?b>|[*|$]", " ", text).replace("24 1 31.4", "24.1 31.4")
    transposed = {"coco_systems", "speed, 5 references, 10 candidates"}
    for row in rows():
        if row.paper != name or not row.table.startswith(("Table", "Figure")):
            continue
        numbers = [written(number) for number in row.values.values()]
        for found in numbers if row.protocol in transposed else [r"[ \t]+".join(numbers)]:
            assert re.search(rf"(?<![\d.]){found}(?![\d])", text), row


def test_reasons_and_commands_are_whole():
    for one in list_published_tables():
        assert one.checked in ("yes", "with data", "no")
        assert one.why
        assert one.about
        assert one.checked == "no" or (one.command and one.needs)
    listed = {(one.paper, one.table) for one in list_published_tables()}
    assert {(row.paper, row.table) for row in rows()} <= listed


def test_three_digits_of_the_authors_code_are_the_one_of_the_paper():
    wanted = json.loads((GOLDEN / "pac_s" / "protocol_published.json").read_text("utf-8"))["pacscore_readme"]
    names = {"BLEU-1": "bleu_1", "BLEU-4": "bleu_4", "METEOR": "meteor", "ROUGE": "rouge_l", "CIDEr": "cider"}
    names["PAC-S"] = "pac_s"
    for protocol in ("flickr8k_expert", "flickr8k_cf"):
        found = {(row.table, row.metric): list(row.values.values()) for row in rows() if row.protocol == protocol}
        for label, metric in names.items():
            assert found["README of aimagelab/pacscore", metric] == wanted[protocol][label]
            # The paper prints 22.2 for 22.269.
            assert found["Table 1", metric] == pytest.approx(wanted[protocol][label], abs=0.07)


# -- rows and their fields --------------------------------------------------------------------------------------------
EXPERT = {"references": "all", "ratings": "rows"}
B32 = "pac_s|v:0.1.0|enc:timm/vit_base_patch32_clip_224.openai@12345678|w:2"


def test_rows_by_metric_backbone_and_rules():
    (first, second) = find_published_rows("flickr8k_expert", EXPERT, "pac_s", B32)
    assert (first.source, first.text("tau_b")) == ("Sarto et al., 2023, Table 1", "53.9")
    assert second.text("tau_b") == "53.919"
    # A metric without references has one value for all.
    assert find_published_rows("flickr8k_expert", EXPERT | {"references": 1}, "pac_s", B32) == [first, second]
    assert find_published_rows("flickr8k_expert", EXPERT | {"references": 1}, "ref_pac_s", B32) == []
    assert find_published_rows("flickr8k_expert", EXPERT | {"ratings": "averaged"}, "pac_s", B32) == []
    large = B32.replace("base_patch32", "large_patch14")
    assert [row.table for row in find_published_rows("flickr8k_expert", EXPERT, "pac_s", large)] == ["Table 8"]
    one, nine = (
        find_published_rows("vatex_eval", {"references": n, "ratings": "annotators"}, "cider", "") for n in (1, 9)
    )
    assert (one[0].values["tau_b"], nine[0].values["tau_b"]) == (17.3, 27.8)


@pytest.mark.parametrize(
    "signature", ["", "mine", "pac_s|made", "pac_s|enc:local@sha256-123456789abc", "x|enc:me/my@1"]
)
def test_weights_that_nobody_published_have_no_row(signature):
    assert backbone_of(signature) is None
    assert find_published_rows("flickr8k_expert", EXPERT, "pac_s", signature) == []


def row(apart="", metric="cider", **rules):
    return PublishedRow("pac_s", "Table 1", "x", rules, "CIDEr", metric, None, {"tau_b": 43.6}, 1, apart)


def test_a_wrong_number_differs_although_other_images_would_explain_it():
    # 1,000 pairs: other images would give any number between 80 and 85, draws of references change few of the pairs.
    rng = np.random.default_rng(0)
    right = rng.random(1000) < 0.83
    draws = np.array([right ^ (rng.random(1000) < 0.005) for _ in range(5)])
    ours, deviation = 100 * float(draws.mean()), 100 * math.sqrt(draws.var(axis=0, ddof=1).sum()) / 1000
    told = [
        verdict(replace(row(draws=5), values={"HC": round(ours + apart, 1)}), "HC", ours, 5, deviation)
        for apart in (0.2, 1)
    ]
    assert [one.partition("-")[0] for one in told] == ["within the spread of draws", "differs by "]


def test_verdicts():
    plain = row()
    assert [verdict(plain, "tau_b", ours) for ours in (43.6, 43.56, 43.649, 43.55, 43.65)] == ["same"] * 5
    assert verdict(plain, "tau_b", 43.7) == "differs by +0.10"
    assert verdict(plain, "tau_b", 43.0, 5, 0.4) == "differs by -0.60"
    assert verdict(plain, "tau_b", float("nan")) == "undefined"
    assert verdict(row(apart="of Java"), "tau_b", 43.6) == "not compared: of Java"
    drawn = row(draws=5)
    reach = 1.959964 * 0.4 * math.sqrt(2 / 5)
    assert spread_of_draws(drawn, 43.0, 5, 0.4) == pytest.approx((43.0 - reach, 43.0 + reach))
    assert verdict(drawn, "tau_b", 42.9, 5, 0.4) == "differs by -0.70"
    assert verdict(drawn, "tau_b", 43.1, 5, 0.4) == "within the spread of draws"
    assert verdict(drawn, "tau_b", 43.0) == "differs by -0.60"
    assert verdict(row(metric="clip_s", draws=5), "tau_b", 43.1, 5, 0.4) == "differs by -0.50"
    assert all(math.isnan(end) for end in spread_of_draws(row(draws="fixed"), 43.0, 5, 0.4))
    assert (plain.text("tau_b"), plain.text("tau_c")) == ("43.6", "-")
