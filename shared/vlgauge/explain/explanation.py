"""Base class of explanations: the meaning of the values of a result, and the reason for the score of each example."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from statistics import median
from typing import Any, ClassVar

from markupsafe import Markup, escape

from vlgauge.core.catalog import metric_facts, metric_reading
from vlgauge.core.errors import UsageError, UsageIndexError
from vlgauge.core.results import mean_of_defined
from vlgauge.core.signatures import parse_signature, uses_demo_model
from vlgauge.core.validation import check_int
from vlgauge.families.aggregation import RowCounts, corpus_interval, find_counts, row_counts
from vlgauge.inputs.tables.files import without_blanks
from vlgauge.stats import FEW, Interval

from .findings import finding_of_metrics, finding_of_rows, reason_of_the_worst
from .pages import drop_repeated_notes, fragment, number, safe, whole_page
from .plots import Axis, dots, histogram, percent, sparkline
from .shares import Share, share_bars

Columns = Mapping[str, Sequence[Any] | None]

N_UNDEFINED = 5  # maximum number of undefined rows in a report


class Explanation(ABC):
    """Base class of explanations of the scores of a metric.

    The `explanation.py` in the folder of a metric defines a subclass. The folder also contains two templates:
    `explanation.html.jinja` shows an example, and `key.html.jinja` explains the marks.

    Attributes:
        name: Name of the metric.
        on_axis: Values that every axis of this metric contains.
        others: Scores of other examples, shown as marks on the axis of a score.
        compared: Additional values on the axis, namely the scores of the compared systems.
        digits: Number of digits of a score.
        first_config: Configuration that requires no files of the user, if the metric has several.
        note_alone: Note about `settings_alone`.
        ranks_rows: Whether the explanation of a row shows other rows, such as captions of the same image.
        family_template: Template of an example, if a family of metrics shares one. Empty for a template of the metric.
        family_key: Template that explains the marks, if a family shares one. Empty for a template of the metric.
        bars_title: Title of the bars of `contributions`.
        why_undefined: Reason for an undefined score, if it is the same for all examples.
        is_large: Whether an example has a separate page, on which collapsed sections are open.
        groups: Label per row, by which the interval resamples rows together. None to resample each row separately.
        columns: The scored columns.
        predictions: The scored predictions.
        scores: One score per example, NaN if undefined.
        details: Details of each example returned by `compute`.
    """

    name: ClassVar[str]
    on_axis: ClassVar[tuple[float, ...]] = ()
    others: Sequence[float] = ()
    compared: Sequence[float] = ()
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
    def settings_alone(cls, tokenizer: str | None = None) -> dict[str, Any]:
        """Return settings, by name, that a single example requires for a useful score. Empty by default.

        Args:
            tokenizer: Name of the tokenizer of the metric. None for its default.
        """
        return {}

    def __init__(self, columns: Columns, result: Mapping[str, Any]) -> None:
        lacking = [f"`columns[{'predictions'!r}]`"] if columns.get("predictions") is None else []
        lacking += [
            f"`result[{key!r}]`" for part in ("scores", "details") if (key := f"{self.name}_{part}") not in result
        ]
        if lacking:
            raise UsageError(
                f"explaining {self.name} requires {' and '.join(lacking)}; pass the columns that were scored and "
                "the output of `compute(..., return_details=True)`"
            )
        references = columns.get("references")
        # Use the references that were scored, because details may contain the index of the best one.
        self.columns = columns if references is None else {**columns, "references": without_blanks(references)}
        self.result = result
        self.predictions: Sequence[Any] = columns["predictions"]  # type: ignore[assignment]  # checked above
        self.scores: list[float] = [math.nan if one is None else one for one in result[f"{self.name}_scores"]]
        self.details: list[Mapping[str, Any]] = result[f"{self.name}_details"]
        for name in ("predictions", "id", "references"):
            cells = columns.get(name)
            if cells is not None and len(cells) != len(self.scores):
                raise UsageError.about(
                    f"columns[{name!r}]",
                    f"must have one row per score, got {len(cells)} for {len(self.scores)} scores",
                    "pass the columns that were scored",
                )

    # -- explanation of a row, per metric ------------------------------------------------------------------------------
    @abstractmethod
    def reason(self, row: int) -> str:
        """Return the reason for the score of an example in a few words."""

    @abstractmethod
    def values(self, row: int) -> dict[str, Any]:
        """Return the variables of the template `template` for an example, by name."""

    def explain_undefined(self, row: int) -> str:
        """Return the reason for an undefined score."""
        return self.why_undefined

    def finding(self, row: int) -> Markup:
        """Return the reason as a sentence, the headline of an example, with negative aspects emphasized."""
        reason = self.reason(row)
        return safe(f"{reason[:1].upper()}{reason[1:]}.")

    def headline(self, row: int) -> Markup:
        """Return the finding, or the reason for a missing score."""
        return safe(f"No score: {self.explain_undefined(row)}.") if self.is_undefined(row) else self.finding(row)

    def conclusion(self) -> Markup:
        """Return the sentence below the headline of a page about all rows, which explains the worst score."""
        return reason_of_the_worst(self)

    def contributions(self, row: int) -> Sequence[Share]:
        """Return the contribution of each part of an example to its score, if they can be computed."""
        return ()

    def bars(self, row: int) -> Markup:
        """Draw the contributions as bars, or return empty markup if there are no contributions."""
        found = [] if self.is_undefined(row) else self.contributions(row)
        return share_bars(self.bars_title, found) if found else Markup("")

    def extra(self, row: int) -> str:
        """Return additional values to show next to a score. Empty by default."""
        return ""

    def reference_value(self, row: int) -> float:
        """Return a value to compare the score with, shown as a tick, or NaN for none."""
        return math.nan

    @property
    def template(self) -> str:
        """Name of the template of an example."""
        return self.family_template or f"{self.name}/explanation"

    @property
    def key(self) -> str:
        """Name of the template that explains the marks."""
        return self.family_key or f"{self.name}/key"

    @property
    def kind(self) -> str:
        """Kind of the scored data, if the range or the meaning of the scores depends on it. Otherwise empty."""
        return ""

    @property
    def score_range(self) -> str:
        """Range of a score under the settings of the result, in the notation of the metric."""
        return str(self.facts.score_range)

    @property
    def range_in_words(self) -> str:
        """Range of a score for the scored data, in plain words."""
        return str(replace(self.facts, score_range=self.score_range).range_of(self.kind))

    @property
    def how_to_read(self) -> Sequence[str]:
        """Explanation of the values for the scored data, from the card of the metric."""
        return metric_reading(self.name, self.kind)

    # -- properties of the result --------------------------------------------------------------------------------------
    @cached_property
    def facts(self) -> Any:
        """Metadata of the metric (`MetricFacts`), such as its question, range and direction."""
        return metric_facts(self.name)

    @property
    def is_mean(self) -> bool:
        """Whether the corpus-level value is the mean of the scores."""
        return find_counts(self.name, self.signature) is None

    @property
    def signature(self) -> str:
        """Signature of the scores."""
        return str(self.result.get(f"{self.name}_signature", ""))

    @cached_property
    def settings(self) -> dict[str, str]:
        """Fields of the signature."""
        return parse_signature(self.signature)[1]

    @property
    def is_demo(self) -> bool:
        """Whether a demo model of the embedded profile produced a value."""
        return any(uses_demo_model(value) for key, value in self.result.items() if key.endswith("_signature"))

    @property
    def axis_values(self) -> list[float]:
        """Values on the axis: all scores and the values shown with them."""
        return [*self.scores, *self.on_axis, *self.compared]

    @cached_property
    def axis(self) -> Axis:
        """Axis that contains all scores."""
        return Axis.holding(self.axis_values, self.facts.higher_is_better)

    @cached_property
    def worst_first(self) -> list[int]:
        """Rows with a score, worst first. Ties are in input order."""
        sign = 1.0 if self.facts.higher_is_better else -1.0
        rows = [row for row, score in enumerate(self.scores) if not math.isnan(score)]
        return sorted(rows, key=lambda row: sign * self.scores[row])

    def title(self, row: int) -> str:
        """Return the title of an example: its id, or otherwise its index, from 0."""
        ids = self.columns.get("id")
        return f"row {row}" if ids is None else str(ids[row])

    def references_of(self, row: int) -> list[Any]:
        """Return the references of an example. Empty if there are none."""
        references = self.columns.get("references")
        own: Any = None if references is None else references[row]
        return [own] if isinstance(own, str) else list(own or ())

    def is_undefined(self, row: int) -> bool:
        """Return whether an example has no score."""
        return math.isnan(self.scores[row])

    def body(self, row: int) -> Markup:
        """Render the explanation of the score of an example."""
        if self.is_undefined(row):
            return fragment("undefined", why=self.explain_undefined(row), text=self.predictions[row])
        return fragment(self.template, metric=self, row=row, **self.values(row))

    def badge(self, row: int, tone: str = "") -> Markup:
        """Render the score of an example and its position on the axis.

        Args:
            row: Index of the example.
            tone: "good" or "bad" if known. Empty for data of a user.
        """
        kind = tone or "own"
        badges = [(self.scores[row], kind), (self.reference_value(row), "neither")]
        badges += [(other, "other") for other in self.others]
        label = f"{number(self.scores[row], self.digits)} on an axis whose right end is better"
        # With a single value, the ends of the axis would be arbitrary.
        values = (*self.axis_values, *self.others, self.reference_value(row))
        known = {value for value in values if math.isfinite(value)}
        drawn = dots(badges, self.axis, label, 6)
        return fragment("badge", metric=self, row=row, tone=tone, dots=drawn, axis=len(known) != 1)

    # -- rendering -----------------------------------------------------------------------------------------------------
    def example(self, row: int, *, tone: str = "", title: str | None = None, why: str = "") -> Markup:
        """Render one example with the explanation of its score.

        Args:
            row: Index of the example, from 0.
            tone: "good" or "bad" if known. Empty for data of a user.
            title: Headline. None for its id or index.
            why: Sentence that describes the example.

        Raises:
            IndexError: If there is no such row.
        """
        if not 0 <= row < len(self.scores):
            raise UsageIndexError.about("row", f"must be the position of a row, 0 to {len(self.scores) - 1}, got {row}")
        headline = self.title(row) if title is None else title
        return fragment("example", metric=self, row=row, tone=tone, title=headline, why=why)

    @cached_property
    def interval(self) -> Interval | None:
        """Confidence interval of the corpus-level value. None for fewer than two scores."""
        return corpus_interval(self.name, self.result, groups=self.groups)

    @cached_property
    def row_counts(self) -> RowCounts:
        """Numbers of rows that the corpus-level value is based on."""
        return row_counts(self.name, self.result)

    def summary(self) -> Markup:
        """Render the summary of all scores: mean with interval, distribution, explanation of the values, signature."""
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
        """Return names and values, as text, of corpus-level results that are not means of scores. Empty by default."""
        return []

    def bar(self, row: int) -> str:
        """Return the position of a score as a width."""
        return percent(max(0.02, self.axis.at(self.scores[row])))

    def html(self, *, worst: int = 10, best: int = 5, title: str = "") -> str:
        """Render a complete page: the summary, the worst and the best rows explained, and some rows without a score.

        Args:
            worst: Number of rows with the worst scores.
            best: Number of other rows with the best scores.
            title: Headline. Empty for a summary of the result.

        Raises:
            ValueError: If a number is not an integer of at least 0.
        """
        return report([self], worst=worst, best=best, title=title)

    def section(self, *, worst: int, best: int, title: str, tag: str = "h1") -> Markup:
        """Render the section of a page about this metric.

        Args:
            worst: Number of rows with the worst scores.
            best: Number of other rows with the best scores.
            title: Headline.
            tag: HTML tag of the headline.
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
        """Return the page in a frame, so that its style does not affect a notebook."""
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
    notes: Sequence[str] = (),
) -> str:
    """Render a complete page about one or several metrics: a table of all, then the worst and best rows of each.

    Args:
        explanations: Explanations of the same rows, one per metric.
        worst: Number of rows with the worst scores, per metric.
        best: Number of other rows with the best scores, per metric.
        title: Headline. Empty for a summary of the result.
        notes: Warnings of the run that scored, shown at the top.

    Raises:
        ValueError: If there is no metric, or a number is not an integer of at least 0.
    """
    if not explanations:
        raise UsageError.about("explanations", "must contain at least one metric, got none")
    worst, best = check_int("worst", worst, 0), check_int("best", best, 0)
    names = [one.name for one in explanations]
    several = len(explanations) > 1
    title = title or (finding_of_metrics(explanations) if several else finding_of_rows(explanations[0]))
    sections = [
        one.section(worst=worst, best=best, title=one.name if several else title, tag="h2" if several else "h1")
        for one in explanations
    ]
    table = fragment("overview", rows=[_overview(one) for one in explanations]) if several else ""
    notes = drop_repeated_notes(notes, any(one.is_demo for one in explanations))
    return whole_page(sections, names=names, title=title, table=table, notes=notes)


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
        "is_demo": one.is_demo,
        "spark": sparkline(one.scores, one.axis, f"{len(one.worst_first)} scores of {one.name}; right is better"),
        "score_range": one.score_range,
        "n": len(one.scores),
        "n_undefined": one.row_counts.undefined,
    }
