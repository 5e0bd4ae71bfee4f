"""What explains the score of two sets of captions: where the captions lie, and what other splits would have scored."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from markupsafe import Markup

from .explanation import Explanation
from .pages import number, safe
from .plots import chart, rectangle

SURPRISING = 0.05  # a p of so much or less is told
_UNLIKELY = 0.2


class CaptionSets(Explanation):
    """Sets of captions by a model beside sets by people.

    Attributes:
        statistic: What the score of a split is called.
        ellipses: Whether mean and spread of each side are drawn.
    """

    statistic: ClassVar[str] = "score"
    ellipses: ClassVar[bool] = False
    family_template = "cloud"

    def pvalue(self, row: int) -> float:
        """Share of the splits whose score is at least as large; NaN without a test."""
        return self._per_row("pvalues", row)

    def _per_row(self, key: str, row: int) -> float:
        values: Sequence[float | None] = self.result.get(f"{self.name}_{key}") or []
        value = values[row] if values else None
        return math.nan if value is None else value

    def reference_value(self, row: int) -> float:
        """What a split at random scores."""
        return self._per_row("null_means", row)

    @property
    def axis_values(self) -> list[float]:
        """All scores and what chance gives."""
        return [*super().axis_values, *map(self.reference_value, range(len(self.scores)))]

    def extra(self, row: int) -> str:
        """p, and what a split at random scores."""
        if math.isnan(self.pvalue(row)):
            return "no test was run"
        return f"p {number(self.pvalue(row), 3)} · by chance {number(self.reference_value(row))} (tick)"

    def reason(self, row: int) -> str:
        """P and the caption that comes most often."""
        p = self.pvalue(row)
        most: list[tuple[str, int]] = Counter(self.predictions[row]).most_common(1)
        parts = [] if math.isnan(p) else [f"p {number(p, 3)}"]
        if most and most[0][1] > 1:
            parts.append(f"one caption {most[0][1]} times")
        n = len(self.predictions[row])
        return "; ".join(parts) or f"{n} captions, all different"

    def finding(self, row: int) -> Markup:
        """Whether the two sides differ, by p where a test was run."""
        p = self.pvalue(row)
        if math.isnan(p):
            return super().finding(row)
        ways = f"{p:.1%} of the ways to split these captions score as high"
        if self.least_pvalue(row) > SURPRISING:
            return safe("So few captions cannot tell the model from people.")
        if p <= SURPRISING:
            return Markup("{} differ: only {}.").format(Markup("<em>Model and people</em>"), ways)
        return safe(f"Nothing tells the model from people: {ways}.")

    def undefined(self, row: int) -> str:
        """Too few captions on a side, or none that the metric sees."""
        n = len(self.predictions[row])
        references = self.columns.get("references")
        m = "?" if references is None else len(references[row])
        if n > 1 and isinstance(m, int) and m > 1:
            return "the metric sees no word of any of these captions, or a distance between two of them is no number"
        return f"each side needs two captions or more, and there are {n} by the model and {m} by people"

    def corpus_numbers(self) -> list[tuple[str, str]]:
        """The test of the whole corpus, where one was run."""
        if f"{self.name}_pvalue" not in self.result:
            return []
        excess = self.result[f"{self.name}_excess"]
        low, high = self.result.get(f"{self.name}_excess_interval", (math.nan, math.nan))
        return [
            ("p of the corpus:", number(self.result[f"{self.name}_pvalue"], 4)),
            ("excess over chance:", f"{number(excess)} ({number(low)} to {number(high)})"),
        ]

    def captions(self, row: int) -> dict[str, Any]:
        """The captions of both sides, equal ones once."""
        sides = {"model": self.predictions, "people": self.columns.get("references")}
        return {side: [] if rows is None else list(Counter(rows[row]).items()) for side, rows in sides.items()}

    def meaning(self, row: int) -> str:
        """What p says, in words; nothing where no test was run."""
        p = self.pvalue(row)
        if math.isnan(p):
            return ""
        ways, verb, mirror = f"{p:.1%} of the ways that were tried", "score", ""
        n, m = self._sizes(row)
        if self.details[row].get("exact"):
            n_ways = self.details[row]["n_partitions"]
            count = round(p * n_ways)
            ways, verb = f"{count} of {n_ways} ways", "scores" if count == 1 else "score"
            mirror = ", this one and its mirror image" if count == 2 and n == m else ""
        sentence = f"{ways} to split these captions in two {verb} at least as high{mirror}"
        least = self.least_pvalue(row)
        fewest = f"{n} against {m} captions have no p below {number(least, 3)}"
        if least > SURPRISING:
            return f"{sentence}: {fewest}, so nothing can be told of this row by itself."
        if p <= SURPRISING:
            return f"Only {sentence} ({fewest}): {self._among_rows(p)}."
        if p <= _UNLIKELY:
            return f"{sentence} ({fewest}): the two sides may differ, but one set this small cannot tell."
        return f"{sentence} ({fewest}): nothing tells the two sides apart."

    def _sizes(self, row: int) -> tuple[int, int]:
        """Numbers of captions by the model and by people."""
        return len(self.predictions[row]), sum(count for _, count in self.captions(row)["people"])

    def least_pvalue(self, row: int) -> float:
        """The smallest p that any captions of these numbers can have; of equal numbers, mirror images tie."""
        n, m = self._sizes(row)
        detail = self.details[row]
        exact = (2 if n == m else 1) / detail["n_partitions"]
        return exact if detail.get("exact") else max(exact, 1 / (1 + int(self.settings.get("permutations", 9_999))))

    def _among_rows(self, p: float) -> str:
        """What so small a p says, one row of those that were tested."""
        tested = [one for one in map(self.pvalue, range(len(self.scores))) if not math.isnan(one)]
        if len(tested) == 1:
            return "the two sides differ"
        expected = p * len(tested)
        if expected <= SURPRISING:
            return f"the two sides differ, also as one of {len(tested)} rows"
        there = sum(one <= p for one in tested)
        return (
            f"of {len(tested)} rows chance alone gives up to {number(expected, 1)} with a p as small, and {there} "
            f"{'has' if there == 1 else 'have'} one, so this row by itself tells little"
        )

    def values(self, row: int) -> dict[str, Any]:
        """Where the captions lie, the scores of the splits, and the captions."""
        detail = self.details[row]
        n = len(self.predictions[row])
        p = self.pvalue(row)
        plane, null = detail.get("plane"), detail.get("null")
        return {
            "cloud": caption_cloud(plane, n, ellipses=self.ellipses) if plane else "",
            "null": null_columns(null, self.scores[row], p, self.statistic) if null else "",
            "captions": self.captions(row),
            "meaning": self.meaning(row),
        }


Point = tuple[float, float]


def caption_cloud(plane: Mapping[str, Any], n: int, *, ellipses: bool = False) -> Markup:
    """Captions as points: discs by the model, triangles by people; near means alike."""
    xs, ys = ([point[axis] for point in plane["points"]] for axis in (0, 1))
    outlines = [_ellipse(plane["points"][:n]), _ellipse(plane["points"][n:])] if ellipses else []
    reach = [point for outline in outlines for point in outline]
    wide, high = [*xs, *(x for x, _ in reach)], [*ys, *(y for _, y in reach)]
    middle = (max(wide) + min(wide)) / 2, (max(high) + min(high)) / 2
    scale = min(236 / max(max(wide) - min(wide), 1e-6), 112 / max(max(high) - min(high), 1e-6))

    def at(point: Point) -> Point:
        return round(150 + (point[0] - middle[0]) * scale, 1), round(74 - (point[1] - middle[1]) * scale, 1)

    parts = ['<rect class="ground" width="300" height="148" rx="6"/>']
    for outline, side in zip(outlines, ("model", "people"), strict=False):
        path = " ".join(f"{x:g},{y:g}" for x, y in map(at, outline))
        parts.append(f'<polygon class="spread {side}" points="{path}"/>')
    points = [at((x, y)) for x, y in zip(xs, ys, strict=True)]
    for (x, y), count in Counter(points[n:]).items():
        parts.append(f'<path class="people" d="M{x:g} {y - 7:g}l7 12h-14z"/>{_times(x, y, count)}')
    for (x, y), count in Counter(points[:n]).items():
        parts.append(f'<circle class="model" cx="{x:g}" cy="{y:g}" r="{9 if count > 1 else 6}"/>{_times(x, y, count)}')
    label = f"{n} captions by the model as discs, {len(points) - n} by people as triangles; near means alike"
    parts.append(f'<text x="0" y="164">The plane shows {sum(plane["variance"]):.0%} of the variance.</text>')
    return chart(300, 168, label, parts)


def _times(x: float, y: float, count: int) -> str:
    if count < 2:
        return ""
    side, anchor = (-14, "end") if x > 40 else (14, "start")
    return (
        f'<text class="k" x="{x + side:g}" y="{y + 4:g}" text-anchor="{anchor}">\N{MULTIPLICATION SIGN}{count}</text>'
    )


def _ellipse(points: Sequence[Sequence[float]]) -> list[Point]:
    """The points at one standard deviation from the mean of a side, in every direction of the plane."""
    n = len(points)
    x, y = (sum(point[axis] for point in points) / n for axis in (0, 1))
    xx, xy, yy = (
        sum((point[i] - (x, y)[i]) * (point[j] - (x, y)[j]) for point in points) / max(1, n - 1)
        for i, j in ((0, 0), (0, 1), (1, 1))
    )
    # The symmetric root of [[xx, xy], [xy, yy]].
    s = math.sqrt(max(0.0, xx * yy - xy * xy))
    t = math.sqrt(max(xx + yy + 2 * s, 0.0)) or 1.0
    a, b, c = (xx + s) / t, xy / t, (yy + s) / t
    turns = [2 * math.pi * k / 48 for k in range(48)]
    return [(x + a * math.cos(u) + b * math.sin(u), y + b * math.cos(u) + c * math.sin(u)) for u in turns]


def null_columns(null: Mapping[str, Any], observed: float, p: float, statistic: str) -> Markup:
    """The scores of all splits, those at least as large set apart."""
    counts, below = null["counts"], null["below"]
    tallest, width = max(counts), 280 / len(counts)
    parts = []
    for column, count in enumerate(counts):
        if count:
            height = max(1.5, 52 * count / tallest)
            kind = "bar" if column < below else "as-large told" if p <= SURPRISING else "as-large"
            x = 10 + column * width
            parts.append(rectangle(kind, x, 80 - height, max(1.0, width - 1), height))
    x = 10 + below * width
    anchor, shift = ("end", 4) if x > 200 else ("start", -4) if x < 100 else ("middle", 0)
    label = f"{statistic} of {sum(counts)} splits; these captions {number(observed)}; p {number(p, 3)}"
    parts += [
        f'<line class="obs" x1="{x:.1f}" x2="{x:.1f}" y1="16" y2="80"/>',
        f'<text class="k" x="{x + shift:.1f}" y="11" text-anchor="{anchor}">these captions</text>',
        '<line class="ax" x1="0" x2="300" y1="80" y2="80"/><text x="0" y="97">alike</text>',
        f'<text x="150" y="97" text-anchor="middle">each of {sum(counts)} splits</text>',
        '<text x="300" y="97" text-anchor="end">apart</text>',
    ]
    return chart(300, 104, label, parts)
