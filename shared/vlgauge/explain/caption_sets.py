"""Explanations of caption-set scores, by the positions of the captions and the scores of random splits."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from vlgauge.core.results import pvalue_text

from .explanation import Explanation
from .pages import fragment, number, safe

Floats = npt.NDArray[np.float64]

SURPRISING = 0.05  # maximum p-value of a reported difference
_UNLIKELY = 0.2


class CaptionSets(Explanation):
    """Sets of model captions and human captions.

    Attributes:
        statistic: Name of the score of a split.
        ellipses: Whether to draw mean and spread of each side.
    """

    statistic: ClassVar[str] = "score"
    ellipses: ClassVar[bool] = False
    family_template = "cloud"

    def pvalue(self, row: int) -> float:
        """Return the share of the splits whose score is at least as large, or NaN without a test."""
        return self._per_row("pvalues", row)

    def _per_row(self, key: str, row: int) -> float:
        values: Sequence[float | None] = self.result.get(f"{self.name}_{key}") or []
        value = values[row] if values else None
        return math.nan if value is None else value

    def reference_value(self, row: int) -> float:
        """Return the mean score of random splits."""
        return self._per_row("null_means", row)

    @property
    def axis_values(self) -> list[float]:
        """All scores, and the mean scores of random splits."""
        return [*super().axis_values, *map(self.reference_value, range(len(self.scores)))]

    def extra(self, row: int) -> str:
        """Return the p-value, and the mean score of random splits."""
        if math.isnan(self.pvalue(row)):
            return "no test was run"
        return f"{self.pvalue_words(row)} · by chance {number(self.reference_value(row))} (tick)"

    def reason(self, row: int) -> str:
        """Return the p-value and the number of copies of the most frequent caption."""
        p = self.pvalue(row)
        most: list[tuple[str, int]] = Counter(self.predictions[row]).most_common(1)
        parts = [] if math.isnan(p) else [self.pvalue_words(row)]
        if most and most[0][1] > 1:
            parts.append(f"one caption {most[0][1]} times")
        n = len(self.predictions[row])
        return "; ".join(parts) or f"{n} captions, all different"

    def pvalue_words(self, row: int) -> str:
        """Format the p-value of a row."""
        is_exact = self.details[row].get("exact")
        return f"p {pvalue_text(self.pvalue(row), least=0.0 if is_exact else self._least_sampled)}"

    @property
    def _least_sampled(self) -> float:
        """Smallest p-value that the number of random splits in the settings allows."""
        return 1 / (1 + self._n_sampled)

    @property
    def _n_sampled(self) -> int:
        return int(self.settings.get("permutations", 9_999))

    @cached_property
    def _n_tested(self) -> int:
        """Number of rows with a p-value."""
        return sum(not math.isnan(self.pvalue(row)) for row in range(len(self.scores)))

    def is_surprising(self, row: int) -> bool:
        """Return whether the p-value of a row is small after a Bonferroni correction for the number of tested rows."""
        return self.pvalue(row) * self._n_tested <= SURPRISING

    def finding(self, row: int) -> Markup:
        """Describe whether the two sides of a row differ, corrected for the number of tested rows."""
        p = self.pvalue(row)
        if math.isnan(p):
            return super().finding(row)
        if self.least_pvalue(row) > SURPRISING:
            return safe("Too few captions to distinguish model and human captions.")
        said = f"{self.pvalue_words(row)}, the share of ways to split these captions that score as high"
        if self.is_surprising(row):
            rows = f", also as one of {self._n_tested} rows" if self._n_tested > 1 else ""
            return Markup("{} differ{}: {}.").format(Markup("<em>Model and human</em>"), rows, said)
        if p <= SURPRISING:
            return safe(f"One of {self._n_tested} rows with {said}: which alone is weak evidence.")
        return safe(f"No significant difference between model and human captions: {said}.")

    def conclusion(self) -> Markup:
        """Describe the test of the whole corpus, or the worst row if a single row or none was tested."""
        p = self.result.get(f"{self.name}_pvalue")
        if self._n_tested < 2 or p is None or math.isnan(p):
            return super().conclusion()
        said = f"{self._n_tested:,} rows together: p of the corpus {self._corpus_pvalue_text}"
        if p <= SURPRISING:
            return Markup("{} differ over {}.").format(Markup("<em>Model and human</em>"), said)
        return safe(f"No significant difference between model and human captions over {said}.")

    @property
    def _corpus_pvalue_text(self) -> str:
        return pvalue_text(self.result[f"{self.name}_pvalue"], least=self._least_sampled)

    def explain_undefined(self, row: int) -> str:
        """Return that a side has too few captions, or that the metric cannot use any of them."""
        n = len(self.predictions[row])
        references = self.columns.get("references")
        m = "?" if references is None else len(references[row])
        if n > 1 and isinstance(m, int) and m > 1:
            return "the metric knows no word of these captions, or a distance between two of them is undefined"
        return f"each side requires at least two captions, and there are {n} model captions and {m} human captions"

    def corpus_numbers(self) -> list[tuple[str, str]]:
        """Return labels and values, as text, of the test of the whole corpus. Empty if none was run."""
        if f"{self.name}_pvalue" not in self.result:
            return []
        excess = self.result[f"{self.name}_excess"]
        low, high = self.result.get(f"{self.name}_excess_interval", (math.nan, math.nan))
        return [
            ("p of the corpus:", self._corpus_pvalue_text),
            ("excess over chance:", f"{number(excess)} ({number(low)} to {number(high)})"),
        ]

    def captions(self, row: int) -> dict[str, Any]:
        """Return the distinct captions of both sides with their counts.

        Returns:
            Pairs of caption and count under ``model`` and ``people``. The latter are empty without references.
        """
        sides = {"model": self.predictions, "people": self.columns.get("references")}
        return {side: [] if rows is None else list(Counter(rows[row]).items()) for side, rows in sides.items()}

    def meaning(self, row: int) -> str:
        """Describe the meaning of the p-value of a row. Empty without a test."""
        p = self.pvalue(row)
        if math.isnan(p):
            return ""
        n, m = self._sizes(row)
        is_exact = self.details[row].get("exact")
        n_ways = self.details[row]["n_partitions"] if is_exact else 1 + self._n_sampled
        count = round(p * n_ways)
        ways = f"{count:,} of {n_ways:,} ways{'' if is_exact else ' that were tried'}"
        verb = "scores" if count == 1 else "score"
        mirror = ", this one and its mirror image" if is_exact and count == 2 and n == m else ""
        sentence = f"{ways} to split these captions in two {verb} at least as high{mirror}"
        least = self.least_pvalue(row)
        fewest = f"{n} against {m} captions have no p below {pvalue_text(least)}"
        if least > SURPRISING:
            return f"{sentence}: {fewest}, so this row alone is no evidence."
        if p <= SURPRISING:
            return f"Only {sentence} ({fewest}): {self._among_rows(p)}."
        if p <= _UNLIKELY:
            return f"{sentence} ({fewest}): the two sides may differ, but this caption set is too small to test it."
        return f"{sentence} ({fewest}): no significant difference between the two sides."

    def _sizes(self, row: int) -> tuple[int, int]:
        """Return the numbers of model captions and human captions."""
        return len(self.predictions[row]), sum(count for _, count in self.captions(row)["people"])

    def least_pvalue(self, row: int) -> float:
        """Return the smallest p-value that is possible with these numbers of captions.

        With equal numbers, the mirror image of a split has the same score, which doubles the smallest p-value.
        """
        n, m = self._sizes(row)
        detail = self.details[row]
        exact = (2 if n == m else 1) / detail["n_partitions"]
        return exact if detail.get("exact") else max(exact, self._least_sampled)

    def _among_rows(self, p: float) -> str:
        """Describe the meaning of a small p-value among the tested rows."""
        if self._n_tested == 1:
            return "the two sides differ"
        expected = p * self._n_tested
        if expected <= SURPRISING:
            return f"the two sides differ, also as one of {self._n_tested} rows"
        there = sum(self.pvalue(other) <= p for other in range(len(self.scores)))
        return (
            f"by chance, up to {number(expected, 1)} of {self._n_tested} rows have a p as small, and {there} "
            f"{'has' if there == 1 else 'have'} one, so this row alone is weak evidence"
        )

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``cloud`` and ``null``, plots of the captions and of the scores of the splits, or empty, ``captions``, and
            ``meaning`` of the p-value.
        """
        detail = self.details[row]
        n = len(self.predictions[row])
        plane, null = detail.get("plane"), detail.get("null")
        return {
            "cloud": caption_cloud(plane, n, ellipses=self.ellipses) if plane else "",
            "null": self._null_columns(null, row) if null else "",
            "captions": self.captions(row),
            "meaning": self.meaning(row),
        }

    def _null_columns(self, null: Mapping[str, Any], row: int) -> Markup:
        label = f"{self.statistic} of {sum(null['counts'])} splits; these captions {number(self.scores[row])}"
        return null_columns(null, f"{label}; {self.pvalue_words(row)}", is_surprising=self.is_surprising(row))


def caption_cloud(plane: Mapping[str, Any], n: int, *, ellipses: bool = False) -> Markup:
    """Draw captions as points, discs for model captions and triangles for human captions. Similar captions are close.

    Args:
        plane: ``points``, shape ``(n_captions, 2)``, model captions first, and ``variance``, the shares of variance
            explained.
        n: Number of model captions.
        ellipses: Whether to draw mean and spread of each side.
    """
    points = np.asarray(plane["points"])
    sides = {"model": points[:n], "people": points[n:]}
    outlines = {side: _ellipse(own) for side, own in sides.items()} if ellipses else {}
    every = np.concatenate([points, *outlines.values()])
    low, high = every.min(axis=0), every.max(axis=0)
    scale = min(np.array([236, 112]) / np.maximum(high - low, 1e-6))

    def locate(own: Floats) -> list[tuple[float, float]]:
        placed = np.array([150, 74]) + (own - (low + high) / 2) * np.array([scale, -scale])
        return [(x, y) for x, y in placed.round(1).tolist()]

    return fragment(
        "plane",
        n=n,
        n_people=len(points) - n,
        outlines={side: " ".join(f"{x:g},{y:g}" for x, y in locate(outline)) for side, outline in outlines.items()},
        variance=sum(plane["variance"]),
        model=Counter(locate(sides["model"])),
        people=Counter(locate(sides["people"])),
    )


def _ellipse(points: Floats) -> Floats:
    """Return the points at one standard deviation from the mean of a side, in all directions of the plane."""
    mean = points.mean(axis=0)
    variances, directions = np.linalg.eigh((points - mean).T @ (points - mean) / max(1, len(points) - 1))
    turns = np.linspace(0.0, 2 * np.pi, 48, endpoint=False)
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return mean + circle @ (directions * np.sqrt(np.maximum(variances, 0.0))) @ directions.T


def null_columns(null: Mapping[str, Any], label: str, *, is_surprising: bool) -> Markup:
    """Draw a histogram of the scores of all splits, highlighting scores at least as large as the observed one.

    Args:
        null: ``counts`` of each column, and ``below``, the number of columns below the observed score.
        label: Text alternative of the plot.
        is_surprising: Whether the columns of larger scores are emphasized.
    """
    return fragment("splits", counts=null["counts"], below=null["below"], label=label, is_surprising=is_surprising)
