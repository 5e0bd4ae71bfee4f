"""What the numbers of a result mean, and why each example has its score, to look at."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from statistics import median
from typing import Any, ClassVar

from markupsafe import Markup, escape

from vlgauge.catalog import metric_facts
from vlgauge.corpus_values import RowCounts, corpus_interval, counted_of, row_counts
from vlgauge.errors import UsageError, UsageIndexError
from vlgauge.media.tables import without_blanks
from vlgauge.results import mean_of_defined
from vlgauge.settings import whole_number
from vlgauge.signatures import made_by_toy, parse_signature
from vlgauge.statistics import FEW, Interval

from .findings import finding_of_metrics, finding_of_rows, reason_of_the_worst
from .pages import beside_notices, fragment, number, safe, whole_page
from .plots import Axis, dots, histogram, percent, sparkline
from .shares import Share, share_bars

Columns = Mapping[str, Sequence[Any] | None]

N_UNDEFINED = 5  # rows without a score that a report shows


class Explanation(ABC):
    """The scores of a metric for some examples, and why they are what they are.

    A metric has a class of its own in its folder, in `explanation.py`, which says what explains a score, and templates
    beside it: `explanation.html.jinja`, an example, and `key.html.jinja`, what the marks mean.

    Attributes:
        name: Name of the metric.
        reading: How to read its numbers, in three sentences.
        on_axis: Values that every axis of this metric holds.
        others: Scores of other examples, which are marks on the axis of a score.
        beside: Further values that the axis holds, those of the systems that stand beside this one.
        digits: Of a score.
        first_config: Configuration that needs nothing of the user's, where a metric has several.
        note_alone: What is to be said of `settings_alone`.
        ranks_rows: Whether what explains a row shows other rows, such as captions of one picture.
        family_template: The template of an example, where a family has one for all; else that of the metric.
        family_key: The template of what the marks mean, likewise.
        bars_title: What the bars of `contributions` are of.
        why_undefined: Why an example has no score, where that is the same for all.
        is_large: Whether one example has a page to itself, where folds of what was scored stand open.
        groups: Label per row, by which the interval draws rows together; None where each is drawn by itself.
        columns: The columns that were scored.
        predictions: What was scored.
        scores: One per example.
        details: What `compute` said of each.
    """

    name: ClassVar[str]
    reading: ClassVar[tuple[str, str, str]]
    on_axis: ClassVar[tuple[float, ...]] = ()
    others: Sequence[float] = ()
    beside: Sequence[float] = ()
    digits: ClassVar[int] = 2
    first_config: ClassVar[str] = ""
    note_alone: ClassVar[str] = ""
    ranks_rows: ClassVar[bool] = False
    family_template: ClassVar[str] = ""
    family_key: ClassVar[str] = ""
    bars_title: ClassVar[str] = ""
    why_undefined: ClassVar[str] = "the metric could not score it"
    is_large: bool = False
    groups: Sequence[object] | None = None

    @classmethod
    def settings_alone(cls) -> dict[str, Any]:
        """Settings without which an example by itself has no score of use."""
        return {}

    def __init__(self, columns: Columns, result: Mapping[str, Any]) -> None:
        lacking = [f"`columns[{'predictions'!r}]`"] if columns.get("predictions") is None else []
        lacking += [
            f"`result[{key!r}]`" for part in ("scores", "details") if (key := f"{self.name}_{part}") not in result
        ]
        if lacking:
            raise UsageError(
                f"{' and '.join(lacking)} must be there to explain {self.name}; pass the columns that were scored, and "
                "what `compute(..., return_details=True)` returned for them"
            )
        references = columns.get("references")
        # As they were scored: details may say which of them was the best.
        self.columns = columns if references is None else {**columns, "references": without_blanks(references)}
        self.result = result
        self.predictions: Sequence[Any] = columns["predictions"]  # type: ignore[assignment]  # checked above
        self.scores: list[float] = [math.nan if one is None else one for one in result[f"{self.name}_scores"]]
        self.details: list[Mapping[str, Any]] = result[f"{self.name}_details"]
        for name in ("predictions", "id", "references"):
            cells = columns.get(name)
            if cells is not None and len(cells) != len(self.scores):
                raise UsageError(
                    f"`columns[{name!r}]` must have one row per score, got {len(cells)} for {len(self.scores)} scores; "
                    "pass the columns that were scored"
                )

    # -- what a metric says of itself --------------------------------------------------------------------------------
    @abstractmethod
    def reason(self, row: int) -> str:
        """Why an example has its score, in a few words."""

    @abstractmethod
    def values(self, row: int) -> dict[str, Any]:
        """What the template shows of an example."""

    def undefined(self, row: int) -> str:
        """Why an example has no score."""
        return self.why_undefined

    def finding(self, row: int) -> Markup:
        """The reason as a sentence, the headline of an example; what counts against it is emphasised."""
        reason = self.reason(row)
        return safe(f"{reason[:1].upper()}{reason[1:]}.")

    def headline(self, row: int) -> Markup:
        """The finding, or why there is no score."""
        return safe(f"No score: {self.undefined(row)}.") if self.is_undefined(row) else self.finding(row)

    def conclusion(self) -> Markup:
        """Return the sentence below the headline of a page of all rows: why the worst row has its score."""
        return reason_of_the_worst(self)

    def contributions(self, row: int) -> Sequence[Share]:
        """What each part of an example did to its score, where that can be told."""
        return ()

    def bars(self, row: int) -> Markup:
        """The shares as bars; nothing where there are none."""
        found = [] if self.is_undefined(row) else self.contributions(row)
        return share_bars(self.bars_title, found) if found else Markup("")

    def extra(self, row: int) -> str:
        """Further numbers beside a score."""
        return ""

    def reference_value(self, row: int) -> float:
        """A value to compare the score with, which gets a tick; NaN for none."""
        return math.nan

    @property
    def template(self) -> str:
        """The template of an example."""
        return self.family_template or f"{self.name}/explanation"

    @property
    def key(self) -> str:
        """The template of what the marks mean."""
        return self.family_key or f"{self.name}/key"

    @property
    def kind(self) -> str:
        """What was scored, where the range of the metric differs by that."""
        return ""

    @property
    def score_range(self) -> str:
        """Range of a score under the settings that it was made with, as the metric writes it."""
        return str(self.facts.score_range)

    @property
    def range_in_words(self) -> str:
        """The same for what was scored, in plain words."""
        return str(replace(self.facts, score_range=self.score_range).range_of(self.kind))

    @property
    def how_to_read(self) -> Sequence[str]:
        """How to read the numbers of what was scored."""
        return self.reading

    # -- facts of the whole ------------------------------------------------------------------------------------------
    @cached_property
    def facts(self) -> Any:
        """Question, range and direction."""
        return metric_facts(self.name)

    @property
    def is_mean(self) -> bool:
        """Whether the number of the whole is the mean of the scores."""
        return counted_of(self.name, self.signature) is None

    @property
    def signature(self) -> str:
        """How the numbers were made."""
        return str(self.result.get(f"{self.name}_signature", ""))

    @cached_property
    def settings(self) -> dict[str, str]:
        """The fields of the signature."""
        return parse_signature(self.signature)[1]

    @property
    def is_toy(self) -> bool:
        """Whether a toy made a number: an encoder of our own under the embedded profile."""
        return any(made_by_toy(value) for key, value in self.result.items() if key.endswith("_signature"))

    @property
    def axis_values(self) -> list[float]:
        """What the axis holds: all scores, and what stands beside them."""
        return [*self.scores, *self.on_axis, *self.beside]

    @cached_property
    def axis(self) -> Axis:
        """An axis that holds all scores."""
        return Axis.holding(self.axis_values, self.facts.higher_is_better)

    @cached_property
    def worst_first(self) -> list[int]:
        """The rows with a score, worst first; ties in the order of the file."""
        sign = 1.0 if self.facts.higher_is_better else -1.0
        rows = [row for row, score in enumerate(self.scores) if not math.isnan(score)]
        return sorted(rows, key=lambda row: sign * self.scores[row])

    def title(self, row: int) -> str:
        """What an example is called: its id, else its number from 0."""
        ids = self.columns.get("id")
        return f"row {row}" if ids is None else str(ids[row])

    def is_undefined(self, row: int) -> bool:
        """Whether an example has no score."""
        return math.isnan(self.scores[row])

    def body(self, row: int) -> Markup:
        """What explains the score of an example."""
        if self.is_undefined(row):
            return fragment("undefined", why=self.undefined(row), text=self.predictions[row])
        return fragment(self.template, metric=self, row=row, **self.values(row))

    def badge(self, row: int, tone: str = "") -> Markup:
        """The score of an example, and where it lies.

        Args:
            row: Of the example.
            tone: "good" or "bad" where that is known; neither for a file of a user.
        """
        kind = tone or "own"
        shown = [(self.scores[row], kind), (self.reference_value(row), "neither")]
        shown += [(other, "other") for other in self.others]
        label = f"{number(self.scores[row], self.digits)} on an axis whose right end is better"
        # Around one value alone an axis would have made-up ends.
        values = (*self.axis_values, *self.others, self.reference_value(row))
        known = {value for value in values if math.isfinite(value)}
        drawn = dots(shown, self.axis, label, 6)
        return fragment("badge", metric=self, row=row, tone=tone, dots=drawn, axis=len(known) != 1)

    # -- what is looked at -------------------------------------------------------------------------------------------
    def example(self, row: int, *, tone: str = "", title: str | None = None, why: str = "") -> Markup:
        """One example and what explains its score.

        Args:
            row: Its number, from 0.
            tone: "good" or "bad" where that is known; neither for a file of a user.
            title: Headline; its id or number otherwise.
            why: What it shows, in a sentence.

        Raises:
            IndexError: If there is no such row.
        """
        if not 0 <= row < len(self.scores):
            raise UsageIndexError(f"`row` must be a row of the result, 0 to {len(self.scores) - 1}, got {row}")
        headline = self.title(row) if title is None else title
        return fragment("example", metric=self, row=row, tone=tone, title=headline, why=why)

    @cached_property
    def interval(self) -> Interval | None:
        """Of the number of the whole; None for fewer than two scores."""
        return corpus_interval(self.name, self.result, groups=self.groups)

    @cached_property
    def row_counts(self) -> RowCounts:
        """Of how many rows the number of the whole is."""
        return row_counts(self.name, self.result)

    def summary(self) -> Markup:
        """The scores as a whole: mean with interval, distribution, how to read them, signature."""
        mean, n = mean_of_defined(self.scores), len(self.scores)
        defined = [score for score in self.scores if not math.isnan(score)]
        label = f"Histogram of {len(defined)} scores" + (
            f" from {number(min(defined))} to {number(max(defined))}, mean {number(mean)}; right is better"
            if defined
            else ""
        )
        return fragment(
            "summary",
            metric=self,
            mean=mean,
            n=n,
            n_undefined=self.row_counts.undefined,
            middle=median(defined) if defined else math.nan,
            interval=self.interval,
            few=FEW,
            plot=histogram(self.scores, self.axis, mean, label),
            corpus=self.corpus_numbers(),
        )

    def corpus_numbers(self) -> list[tuple[str, str]]:
        """Numbers of the corpus that are no mean of scores, and their names."""
        return []

    def bar(self, row: int) -> str:
        """Where a score lies, as a width."""
        return percent(max(0.02, self.axis.at(self.scores[row])))

    def html(self, *, worst: int = 10, best: int = 5, title: str = "") -> str:
        """A page of its own: the summary, then the worst and the best rows explained, and some without a score.

        Args:
            worst: How many rows with the worst scores.
            best: How many of the others with the best scores.
            title: Headline; what was found otherwise.

        Raises:
            ValueError: If a number is no whole number of at least 0.
        """
        return report([self], worst=worst, best=best, title=title)

    def section(self, *, worst: int, best: int, title: str, tag: str = "h1") -> Markup:
        """The part of a page that is about this metric.

        Args:
            worst: How many rows with the worst scores.
            best: How many of the others with the best scores.
            title: Headline.
            tag: Of the headline.
        """
        lowest = self.worst_first[:worst]
        others = self.worst_first[len(lowest) :]
        undefined = [row for row in range(len(self.scores)) if self.is_undefined(row)]
        return fragment(
            "section",
            metric=self,
            title=title,
            tag=tag,
            found=finding_of_rows(self) if tag != "h1" else "",
            why=self.conclusion(),
            worst=lowest,
            best=others[::-1][:best],
            undefined=undefined[:N_UNDEFINED],
            n_undefined=len(undefined),
        )

    def _repr_html_(self) -> str:
        """The page in a frame, so that its style does not touch that of a notebook."""
        return (
            f'<iframe title="{escape(self.name)}" srcdoc="{escape(self.html())}" sandbox '
            'style="width: 100%; height: 720px; border: 0"></iframe>'
        )


def report(
    explanations: Sequence[Explanation],
    *,
    worst: int = 10,
    best: int = 5,
    title: str = "",
    told: Sequence[str] = (),
) -> str:
    """A page of its own about one metric or several: a table of all, then each with its worst and best rows.

    Args:
        explanations: Of the same rows, one per metric.
        worst: How many rows with the worst scores of each.
        best: How many of the others with the best scores.
        title: Headline; what was found otherwise.
        told: Warnings of the run that scored, which stand on top.

    Raises:
        ValueError: If there is no metric, or a number is no whole number of at least 0.
    """
    if not explanations:
        raise UsageError("`explanations` must have at least one metric, got none")
    worst, best = whole_number("worst", worst, 0), whole_number("best", best, 0)
    names = [one.name for one in explanations]
    several = len(explanations) > 1
    title = title or (finding_of_metrics(explanations) if several else finding_of_rows(explanations[0]))
    sections = [
        one.section(worst=worst, best=best, title=one.name if several else title, tag="h2" if several else "h1")
        for one in explanations
    ]
    table = fragment("overview", rows=[_overview(one) for one in explanations]) if several else ""
    told = beside_notices(told, any(one.is_toy for one in explanations))
    return whole_page(sections, names=names, title=title, table=table, told=told)


def _overview(one: Explanation) -> dict[str, Any]:
    value = one.result.get(one.name)
    ends = () if one.interval is None else (one.interval.low, one.interval.high)
    few = f" (fewer than {FEW} rows)" if one.interval is not None and one.interval.of_few else ""
    return {
        "name": one.name,
        "value": math.nan if value is None else value,
        "digits": one.digits,
        "interval": " to ".join(number(end, one.digits) for end in ends) + few,
        "higher": one.facts.higher_is_better,
        "is_toy": one.is_toy,
        "spark": sparkline(one.scores, one.axis, f"{len(one.worst_first)} scores of {one.name}; right is better"),
        "score_range": one.score_range,
        "n": len(one.scores),
        "n_undefined": one.row_counts.undefined,
    }
