"""The protocol of the paper: Eqs. 9 and 10, and human rankings."""

import math

import numpy as np
import pytest
from hypothesis import given
from style_definition import ASYMMETRIC, CORPORA, FEW, GOLDEN, TOY, columns_of, definition_of, goemotions, table_of

from vlgauge.families.style import StyleTable, formula
from vlgauge.families.style.formula import cosine_sums
from vlgauge.research.studies.style_agreement import Rate, style_agreement

CORPUS = {"toy": TOY["corpus"], "asymmetric": ASYMMETRIC["corpus"]}
VARIANTS = ("paper", "released")


def counts(agreement):
    rates = (agreement.eq10, agreement.eq10_pairs, agreement.eq10_pooled)
    return [agreement.eq9.won, agreement.eq9_pairs.won, *(rate.won for rate in rates), agreement.eq10_undefined]


def pair_loop(table, definition, rows, variant, *, include_self=True, references=None):
    """Count the pairs of Eqs. 9 and 10 one by one."""
    references = rows if references is None else references
    won = dict.fromkeys(("eq9", "eq9_pairs", "eq10", "eq10_pairs", "eq10_pooled", "undefined"), 0)
    for i, (caption, style) in enumerate(rows):
        others = [other for other in table.styles if other != style]
        own = float(definition.onlystyle(caption, style, variant))
        beaten = [own > float(definition.onlystyle(caption, other, variant)) + 1e-12 for other in others]
        won["eq9"] += all(beaten)
        won["eq9_pairs"] += sum(beaten)
        scores = {other: [] for other in table.styles}
        for j, (reference, other) in enumerate(references):
            if include_self or references is not rows or i != j:
                scores[other].append(definition.stylecider(caption, [reference], style, variant))
        there = [other for other in others if scores[other]]
        if not scores[style] or not there:
            won["undefined"] += 1
            continue
        mine = sum(scores[style]) / len(scores[style])
        beaten = [mine > sum(scores[other]) / len(scores[other]) + 1e-12 for other in there]
        pool = [score for other in there for score in scores[other]]
        won["eq10"] += all(beaten)
        won["eq10_pairs"] += sum(beaten)
        won["eq10_pooled"] += mine > sum(pool) / len(pool) + 1e-12
    return list(won.values())


# -- golden -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("section", GOLDEN["protocol"], ids=lambda section: section["corpus"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("include_self", "key"), [(True, "include_self"), (False, "exclude_own_copy_from_references")])
def test_golden_counts_and_means(section, variant, include_self, key):
    captions, styles = columns_of(CORPUS[section["corpus"]])
    expected = section[variant] | section[variant][key]
    found = style_agreement(captions, styles, variant=variant, include_self=include_self)
    names = ("eq9_all", "eq9_pairs", "eq10_all", "eq10_pairs", "eq10_pooled", "undefined")
    assert counts(found) == [expected[name] for name in names]
    assert (found.captions, found.eq9.of, found.eq9_pairs.of) == (section["captions"],) * 2 + (section["pairs"],)
    assert found.eq10.of == section["captions"] - expected["undefined"]

    table = StyleTable.fit(captions, styles)
    own, tokens = table.style_ids(styles), table.tokenize(captions)
    sums, selves = np.zeros((len(own), len(table.styles))), np.zeros(len(own))
    for block in cosine_sums(table, tokens, own, tokens, own, variant):
        assert set(own[block.captions].tolist()) == {block.style}
        sums[block.captions], selves[block.captions] = block.sums, block.selves
    sizes = np.tile(table.captions, (len(own), 1))
    if not include_self:
        sums[np.arange(len(own)), own] -= selves
        sizes[np.arange(len(own)), own] -= 1
    for i, row in enumerate(expected["rows"]):
        means = {style: sums[i, q] / sizes[i, q] if sizes[i, q] else None for q, style in enumerate(table.styles)}
        rest = np.arange(len(table.styles)) != own[i]
        means["pooled_other_styles"] = sums[i, rest].sum() / sizes[i, rest].sum()
        assert means == pytest.approx(row["mean_over_references_of"], abs=1e-12)


# -- the definition ---------------------------------------------------------------------------------------------------
@given(CORPORA)
@FEW
def test_agreement_equals_the_pair_loop(rows):
    table, definition = table_of(rows), definition_of(rows)
    captions, styles = [" ".join(caption) for caption, _ in rows], [style for _, style in rows]
    for variant in VARIANTS:
        for include_self in (True, False):
            found = style_agreement(captions, styles, table, variant, include_self)
            assert counts(found) == pair_loop(table, definition, rows, variant, include_self=include_self)
        references = rows[::-2]
        given_references = tuple(zip(*[(" ".join(caption), style) for caption, style in references], strict=True))
        found = style_agreement(captions, styles, table, variant, references=given_references)
        assert counts(found) == pair_loop(table, definition, rows, variant, references=references)


@given(CORPORA)
@FEW
def test_leaving_one_out_equals_fitting_again(rows):
    table, definition = table_of(rows), definition_of(rows)
    found = style_agreement([" ".join(c) for c, _ in rows], [s for _, s in rows], table, exclude_self=True)
    won = total = 0
    for caption, style in rows:
        fitted = definition.without(caption, style)
        scores = {other: float(fitted.onlystyle(caption, other)) for other in table.styles}
        own = scores.pop(style)
        won += all(own > score + 1e-12 for score in scores.values())
        total += own
    assert found.eq9 == Rate(won, len(rows))
    assert found.mean_onlystyle == pytest.approx(total / len(rows), abs=1e-12)
    assert found.eq10 is found.eq10_pairs is found.eq10_pooled is found.eq10_undefined is None


def test_few_rows_at_a_time_give_the_same(monkeypatch):
    captions, styles = columns_of(ASYMMETRIC["corpus"])
    expected = [style_agreement(captions, styles, variant=variant) for variant in VARIANTS]
    monkeypatch.setattr(formula, "_MAX_CELLS", 1)
    assert [style_agreement(captions, styles, variant=variant) for variant in VARIANTS] == expected


def test_ties_lose():
    # Both styles have the same captions, so that they cannot be separated.
    found = style_agreement(["a b", "c d", "a b", "c d"], ["x", "x", "y", "y"])
    assert counts(found) == [0, 0, 0, 0, 0, 0]


def test_rates():
    found = style_agreement(*columns_of(TOY["corpus"]))
    assert found.record() == {
        **{"captions": 6, "mean_onlystyle": pytest.approx(found.mean_onlystyle)},
        **{"eq9": 1.0, "eq9_won": 6, "eq9_of": 6, "eq9_pairs": 1.0, "eq9_pairs_won": 12, "eq9_pairs_of": 12},
        **{"eq10": 1.0, "eq10_won": 6, "eq10_of": 6, "eq10_pairs": 1.0, "eq10_pairs_won": 12, "eq10_pairs_of": 12},
        **{"eq10_pooled": 1.0, "eq10_pooled_won": 6, "eq10_pooled_of": 6, "eq10_undefined": 0},
    }
    assert math.isnan(Rate(0, 0).share)


def test_styles_with_one_caption_each_are_undefined_without_themselves():
    found = style_agreement(["a b", "c d"], ["x", "y"], include_self=False)
    assert (found.eq10, found.eq10_pairs, found.eq10_undefined) == (Rate(0, 0), Rate(0, 0), 2)


def test_references_of_one_style_only_leave_nothing_to_compare():
    found = style_agreement(["a b", "c d"], ["x", "y"], references=(["a", "b"], ["x", "x"]))
    assert (found.eq10, found.eq10_pooled, found.eq10_undefined) == (Rate(0, 0), Rate(0, 0), 2)


@pytest.mark.parametrize(("captions", "styles"), [([], ["A"]), (["a"], ["A", "B"]), (["a", "b"], ["A"])])
def test_unequal_columns_are_refused(captions, styles):
    table = StyleTable.fit(*columns_of(TOY["corpus"]))
    message = rf"^`styles`.*{len(captions)} in all, got {len(styles)}"
    with pytest.raises(ValueError, match=message):
        style_agreement(captions, styles, table)
    with pytest.raises(ValueError, match=message.replace("styles", "references", 1)):
        style_agreement(["i love it"], ["A"], table, references=(captions, styles))


def test_no_captions_are_refused():
    with pytest.raises(ValueError, match=r"^`captions`.*got none"):
        style_agreement([], [])


def test_unknown_style_is_refused():
    table = StyleTable.fit(*columns_of(TOY["corpus"]))
    with pytest.raises(ValueError, match=r"^`styles\[0\]`.*3 styles.*'D'"):
        style_agreement(["i love it"], ["D"], table)
    with pytest.raises(ValueError, match=r"^`references\[1\]\[0\]`.*'D'"):
        style_agreement(["i love it"], ["A"], table, references=(["x"], ["D"]))


# -- real text --------------------------------------------------------------------------------------------------------
def test_goemotions(shared_folder):
    train, test, table = goemotions(shared_folder)
    expected = GOLDEN["goemotions"]
    references = (train.captions, train.styles)
    held_out = style_agreement(test.captions, test.styles, table, references=references)
    eq9, eq10 = expected["eq9_counts"], expected["eq10_counts_test_against_train_paper"]
    assert [held_out.eq9.won, held_out.eq9_pairs.won] == list(eq9["test_held_out_paper"].values())
    assert [held_out.eq10.won, held_out.eq10_pairs.won, held_out.eq10_pooled.won] == list(eq10.values())
    assert held_out.mean_onlystyle == pytest.approx(expected["means"]["onlystyle_paper_own_style_test"], rel=1e-9)
