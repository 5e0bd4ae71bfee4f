"""Installed metrics and their metadata, read from the front matter of the metric cards without importing the scripts.

Only `folder_module` imports modules of a metric folder.
"""

import difflib
import importlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from vlgauge.core.errors import UsageError
from vlgauge.core.suites import SUITES

Bounds: TypeAlias = tuple[float | None, float | None]
BoundsWith: TypeAlias = tuple[Mapping[str, str], float | str | None, float | str | None]

METRICS_PACKAGE = "vlgauge_metrics"
_INTERVAL = re.compile(r"[\[(](.+), (.+)[\])]")
_EVERYTHING = ("-inf", "inf")

GROUPS = ("Visual stories", "Caption sets", "Style", "Image-caption alignment", "Reference-based")
"""Groups of metrics by kind of input, in display order. Values of `group` in the front matter of cards."""

ANY_LANGUAGE = "any"
"""Value of `languages` in the front matter of cards of metrics for all languages."""

LANGUAGE_NAMES = {"en": "English"}
"""English names of the other values of `languages`, which are ISO 639-1 codes."""

WITH_REFERENCES = "ref_"
"""Prefix of the names of scores that also use references, such as "ref_clip_s"."""


@dataclass(frozen=True)
class MetricFacts:
    """Metadata of a metric, from the front matter of its card.

    Attributes:
        name: Name of the metric.
        measures: Question that the metric answers.
        score_range: Range of a score, as text.
        bounds: Lower and upper bound of a score under any settings. None for an unbounded end. If the card has none,
            the ends of `score_range`; see `parse_bounds`.
        higher_is_better: Whether higher scores are better.
        needs: Names of the extras that the metric requires.
        is_mean: Whether the corpus-level value is the mean of the row scores.
        compares_sets: Whether a score depends on the number of captions per row.
        has_references: Whether the metric can use references.
        bounds_with: Tighter bounds under certain settings. For example, ``({"estimator": "biased"}, 0.0, 2.0)`` applies
            if the signature has each of these fields, with "" as the value of absent fields. A bound may be the name of
            a field.
        bounds_with_references: Same as `bounds_with` for the score with references. None if both scores have the same
            bounds.
        other_scores: Name, title and range of additional scores with a title of their own. The range has the form of
            `score_range`.
        directions: Names of the other result values that have a direction, and whether higher is better.
        languages: ISO 639-1 codes of the languages that the default settings support, or "any".
        other_languages: Alternatives for other languages. Each consists of the settings and per-call inputs that must
            all be set, as names or as ``name="value"``.
    """

    name: str
    measures: str
    score_range: str
    higher_is_better: bool
    needs: tuple[str, ...] = ()
    is_mean: bool = True
    compares_sets: bool = False
    has_references: bool = True
    bounds: Bounds = (None, None)
    bounds_with: tuple[BoundsWith, ...] = ()
    bounds_with_references: tuple[BoundsWith, ...] | None = None
    other_scores: tuple[tuple[str, str, str], ...] = ()
    directions: tuple[tuple[str, bool], ...] = ()
    languages: tuple[str, ...] = (ANY_LANGUAGE,)
    other_languages: tuple[tuple[str, ...], ...] = ()

    @property
    def better(self) -> str:
        """Direction as a word, "higher" or "lower"."""
        return "higher" if self.higher_is_better else "lower"

    @property
    def supported_languages(self) -> str:
        """Languages of the default settings, and the settings and inputs for others, as Markdown text."""
        others = alternatives_in_words(self.other_languages)
        return languages_in_words(self.languages) + (f"; others with {others}" if others else "")

    def range_of(self, kind: str = "") -> str:
        """Return the range of a score in plain words, under the default settings.

        Args:
            kind: Name of one of several ranges in `score_range`. Empty or unknown names select the first range.
        """
        return _INTERVAL.sub(lambda found: _in_words(*found.groups()), self._range_of(kind))

    def ends_of(self, kind: str = "") -> Bounds:
        """Return the numeric ends of `range_of`. None for an infinite end.

        If the range is unbounded, has no interval or depends on a setting, the result is `bounds`.
        """
        found = _parse_interval(self._range_of(kind))
        return self.bounds if found is None or found == (None, None) else found

    def bounds_for(self, fields: Mapping[str, str]) -> Bounds:
        """Return the lower and upper bound of a score under the settings of a signature. None for an unbounded end.

        Args:
            fields: Fields of the signature. See `vlgauge.core.signatures.parse_signature`.
        """
        found = [self.bounds]
        for settings, *ends in self.bounds_with:
            if all(fields.get(name, "") == value for name, value in settings.items()):
                low, high = (_number(fields.get(end)) if isinstance(end, str) else end for end in ends)
                found.append((low, high))
        lows, highs = ([end for end in side if end is not None] for side in zip(*found, strict=True))
        return max(lows, default=None), min(highs, default=None)

    def _range_of(self, kind: str) -> str:
        ranges = self.score_range.split("; ")
        return next((one.removeprefix(f"{kind} ") for one in ranges if kind and one.startswith(f"{kind} ")), ranges[0])

    @property
    def missing(self) -> list[str]:
        """Extras that are not installed."""
        return [extra for extra in self.needs if not extra_is_present(extra)]


def parse_bounds(score_range: str) -> Bounds:
    """Return the lowest and the highest end of the intervals in a range, such as ``(-1.0, 2.0)`` for several settings.

    Args:
        score_range: Range in the form of `MetricFacts.score_range`, such as ``"images [0, 2]; videos [-1, 1]"``.

    Returns:
        Both ends. None for an unbounded end, and for both if the range has no interval or an end is a variable.
    """
    intervals = [_parse_interval(one) or (None, None) for one in score_range.split("; ")]
    lows, highs = ([end for end in side if end is not None] for side in zip(*intervals, strict=True))
    n = len(intervals)
    return min(lows) if len(lows) == n else None, max(highs) if len(highs) == n else None


def _parse_interval(text: str) -> Bounds | None:
    """Return the numeric ends of the interval in a text. None if it has no interval, or an end is a variable."""
    found = _INTERVAL.search(text)
    if found is None:
        return None
    try:
        low, high = (None if end in _EVERYTHING else float(Fraction(end)) for end in found.groups())
    except ValueError:  # the end is the name of a setting
        return None
    return low, high


def languages_in_words(languages: Sequence[str]) -> str:
    """Return the names of languages as text, such as "English", or "any language"."""
    return " and ".join(LANGUAGE_NAMES.get(one, f"{one} language") for one in languages)


def alternatives_in_words(alternatives: Sequence[Sequence[str]]) -> str:
    """Return the alternatives of `MetricFacts.other_languages` as text, such as "`graphs`, or `parser` and `encoder`".

    Empty if there are none.
    """
    return ", or ".join(" and ".join(f"`{one}`" for one in together) for together in alternatives)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:  # signatures are untrusted
        return None
    return number if math.isfinite(number) else None


def _in_words(low: str, high: str) -> str:
    """Describe an interval in words, such as "0 or more". Infinite ends are "-inf" and "inf"."""
    if low == "-inf":
        return "any number" if high == "inf" else f"{high} or less"
    return f"{low} or more" if high == "inf" else f"{low} to {high}"


def metrics_root() -> Path:
    """Return the folder that contains the metric folders."""
    return Path(importlib.import_module(METRICS_PACKAGE).__path__[0])


def metric_names() -> list[str]:
    """Return the names of the installed metrics, sorted."""
    return list(_names_in(metrics_root()))


@cache
def _names_in(root: Path) -> tuple[str, ...]:
    return tuple(name for name in sorted(os.listdir(root)) if os.path.isfile(f"{root}/{name}/{name}.py"))


def metric_folder(name: str, argument: str = "name") -> Path:
    """Return the folder of a metric, in the form that `evaluate.load` accepts.

    Args:
        name: Name of the metric.
        argument: Name of the argument in error messages.

    Raises:
        ValueError: If there is no such metric. The message lists the installed metrics.
    """
    root = metrics_root()
    if name in _names_in(root):
        return root / name
    if name in SUITES:
        raise UsageError(
            f"`{argument}` must be a metric, got the suite {name!r}, which only vlgauge.score and vlgauge.compare "
            f"accept; its metrics: {', '.join(SUITES[name].metrics)}"
        )
    names = metric_names()
    # Accept titles such as "CIDEr" and Hub names such as "vlgauge/rouge_l" for the suggestion.
    plain = name.rpartition("/")[2].lower().replace("-", "_") if isinstance(name, str) else ""
    close = difflib.get_close_matches(plain, names, n=1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    raise UsageError(f"`{argument}` must be one of the installed metrics ({', '.join(names)}), got {name!r}{hint}")


def metric_facts(name: str) -> MetricFacts:
    """Return the metadata of a metric, from the front matter of its card.

    Raises:
        ValueError: If there is no such metric, or its card lists no scores.
    """
    return _facts(metric_folder(name))


def metric_of_score(name: str) -> str:
    """Return the metric that produces a score: "clip_s" for "clip_s" and "ref_clip_s", "chair" for "chair_s".

    Raises:
        ValueError: If no metric has a score with this name.
    """
    root = metrics_root()
    plain = name.removeprefix(WITH_REFERENCES) if isinstance(name, str) else name
    for one in (name, plain):
        if one in _names_in(root):
            return one
    owners = [one for one in metric_names() if str(name).startswith(f"{one}_")]
    return max(owners, key=len) if owners else metric_folder(name).name


def is_score(name: str) -> bool:
    """Return whether a metric can have a score with this name."""
    try:
        metric_of_score(name)
    except UsageError:
        return False
    return True


def score_facts(name: str) -> MetricFacts:
    """Return the metadata of a score: its direction and bounds, and otherwise the metadata of its metric.

    Scores other than the main one are means. Their bounds are the bounds of the metric, unless the card specifies
    bounds for the score with references, or a range for the score. The range of another score is empty if the card has
    none.

    Raises:
        UsageError: If no metric has a score with this name, or its direction is unknown.
    """
    owner = metric_of_score(name)
    facts = metric_facts(owner)
    if owner == name:
        return facts
    directions = {WITH_REFERENCES + owner: facts.higher_is_better, **dict(facts.directions)}
    if name not in directions:
        raise UsageError.about(
            "name", f"must be a score with a direction, got {name!r}; {owner} has {', '.join(directions)}"
        )
    known = {own: score_range for own, _, score_range in facts.other_scores}
    own_ends = facts.bounds_with_references if name == WITH_REFERENCES + owner else None
    ends = facts.bounds_with if own_ends is None else own_ends
    own_range = known.get(name, "")
    facts = replace(facts, name=name, is_mean=True, score_range=own_range, bounds_with=ends)
    facts = replace(facts, higher_is_better=directions[name])
    return replace(facts, bounds=parse_bounds(own_range), bounds_with=()) if own_range else facts


def direction_of(name: str) -> bool | None:
    """Return whether higher is better for a result value. None if its direction is unknown, as for counts."""
    try:
        return score_facts(name).higher_is_better
    except UsageError:
        return None


def score_title(name: str) -> str:
    """Return the display name of a score, such as "CLIP-S", "RefCLIP-S", "CHAIRs" or "SPICE objects".

    Raises:
        ValueError: If no metric has a score with this name.
    """
    owner = metric_of_score(name)
    if name == owner:
        return metric_title(name)
    if name == WITH_REFERENCES + owner:
        return f"Ref{metric_title(owner)}"
    if known := [title for own, title, _ in metric_facts(owner).other_scores if own == name]:
        return known[0]
    return f"{metric_title(owner)} {name.removeprefix(owner).strip('_').replace('_', ' ')}"


@cache
def _facts(folder: Path) -> MetricFacts:
    front = _front_matter(folder)
    if not front.get("scores"):
        raise ValueError(f"the card of {folder.name} must list its scores in the front matter, see CONTRIBUTING.md")
    first, *others = front["scores"]
    with_references = [one for one in others if one["key"] == WITH_REFERENCES + folder.name]
    named = [one for one in others if one not in with_references]
    return MetricFacts(
        folder.name,
        measures=front["short_description"],
        score_range=first["range"],
        higher_is_better=first["direction"] == "higher",
        needs=(front["extra"],) if "extra" in front else (),
        is_mean=first["value"] == "mean",
        compares_sets=front.get("compares_sets", False),
        has_references=first.get("references") != "none",
        bounds=_bounds(first["bounds"]) if "bounds" in first else parse_bounds(first["range"]),
        bounds_with=_bounds_with(first),
        bounds_with_references=_bounds_with(with_references[0]) if with_references else None,
        other_scores=tuple((one["key"], one["title"], one.get("range", "")) for one in named),
        directions=tuple((one["key"], one["direction"] == "higher") for one in named),
        languages=_languages(front.get("languages", ANY_LANGUAGE)),
        other_languages=tuple(tuple(one.split(", ")) for one in front.get("other_languages", ())),
    )


def _languages(languages: str | list[str]) -> tuple[str, ...]:
    return (languages,) if isinstance(languages, str) else tuple(languages)


def _bounds(ends: Sequence[float | None]) -> Bounds:
    low, high = (None if end is None else float(end) for end in ends)
    return low, high


def _bounds_with(score: Mapping[str, Any]) -> tuple[BoundsWith, ...]:
    found = []
    for one in score.get("bounds_with", ()):
        low, high = (end if end is None or isinstance(end, str) else float(end) for end in one["bounds"])
        found.append((one["if"], low, high))
    return tuple(found)


@cache
def _front_matter(folder: Path) -> dict[str, Any]:
    """Return the front matter of the card in a folder. Empty if there is no card or no front matter."""
    import yaml  # not needed for metric scripts outside of the package

    text = _card(folder)
    if not text.startswith("---\n"):
        return {}
    return yaml.load(text.partition("---\n")[2].partition("\n---")[0], getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def card_fact(name: str, key: str) -> str:
    """Return a string from the front matter of a metric card, such as "short_description". Empty if it is missing.

    Raises:
        ValueError: If there is no such metric.
    """
    return str(_front_matter(metric_folder(name)).get(key, ""))


def metric_reading(name: str, kind: str = "") -> tuple[str, ...]:
    """Return the sentences on how to read the scores of a metric, from its card. Empty if it has none.

    Args:
        name: Name of the metric.
        kind: Kind of the scored data, such as "videos". Its sentences are under ``reading_of_<kind>``, if they differ.

    Raises:
        ValueError: If there is no such metric.
    """
    front = _front_matter(metric_folder(name))
    return tuple(front.get(f"reading_of_{kind}") or front.get("reading", ()))


def citation(name: str) -> str:
    """Return the BibTeX entries of a metric card. Empty if there are none.

    Raises:
        ValueError: If there is no such metric.
    """
    return "\n".join(re.findall(r"^```bibtex\n(.*?)^```$", _card(metric_folder(name)), re.MULTILINE | re.DOTALL))


@cache
def _card(folder: Path) -> str:
    """Return the text of the card in a folder, cached because every metric needs it. Empty if there is no card."""
    card = folder / "README.md"
    return card.read_text("utf-8") if card.is_file() else ""


def metric_title(name: str) -> str:
    """Return the display name of a metric, from its card. If the card has none, return the plain name.

    Raises:
        ValueError: If there is no such metric.
    """
    return card_fact(name, "title") or name


def metrics_by_group() -> dict[str, list[str]]:
    """Return the names of the installed metrics by group, in the order of `GROUPS`, then other groups of cards."""
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in metric_names():
        found.setdefault(card_fact(name, "group"), []).append(name)
    return {group: names for group, names in found.items() if names}


def folder_module(name: str, module: str) -> ModuleType:
    """Import a module from the folder of a metric.

    Args:
        name: Name of the metric.
        module: Name of the module, such as "formula". The module with the name of the metric is its script.

    Raises:
        ValueError: If there is no such metric.
        ModuleNotFoundError: If its folder has no such file.
    """
    return importlib.import_module(f"{METRICS_PACKAGE}.{metric_folder(name).name}.{module}")


def extra_is_present(extra: str) -> bool:
    """Return whether all packages of an extra are installed, without importing them.

    An extra that the installed package does not declare is not present. This happens if the extra is newer than the
    package, or if vlgauge itself is not installed.
    """
    brought = brought_by(extra)
    return brought is not None and all(_distribution(name) is not None for name in brought)


def brought_by(extra: str) -> set[str] | None:
    """Return the names of the packages of an extra, including nested extras. None if there is no such extra.

    They are read from the metadata of the installed package, which are generated from setup.cfg.
    """
    # Import these here, because vlgauge itself is imported without them.
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    installed = _distribution("vlgauge")
    if installed is None:
        return None
    declared = set(map(canonicalize_name, installed.metadata.get_all("Provides-Extra", [])))
    requirements = [Requirement(line) for line in installed.requires or ()]
    found: set[str] = set()
    seen: set[str] = set()
    wanted = {str(canonicalize_name(extra))}
    while wanted:
        one = wanted.pop()
        if one not in declared:
            return None
        seen.add(one)
        for requirement in requirements:
            if requirement.marker is not None and requirement.marker.evaluate({"extra": one}):
                if requirement.name == "vlgauge":
                    wanted |= set(map(canonicalize_name, requirement.extras)) - seen
                else:
                    found.add(requirement.name)
    return found


def _distribution(name: str) -> Any:
    """Return the metadata of an installed package. None if it is not installed."""
    from importlib.metadata import distributions  # slow to import

    return next(iter(distributions(name=name)), None)
