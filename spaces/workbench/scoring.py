"""Scores of rows with their explanations."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.api.row_sources import CheckedFiles, RowLimits, check_cell
from vlgauge.core.catalog import metric_facts, metric_names
from vlgauge.core.errors import UsageError
from vlgauge.core.results import without_nan
from vlgauge.core.validation import PROFILES, check_choice, setting_names, short_repr
from vlgauge.explain import Explanation, explain, explanation_of
from vlgauge.explain.examples import Example
from vlgauge.families.base import Metric
from vlgauge.families.base.evaluate_adapter import lock_of
from vlgauge.inputs.text.tokenizers import is_installed
from vlgauge.leaderboard.runs import RowGroups
from vlgauge_workbench.inputs import FILES, check_size, file_of
from vlgauge_workbench.profiles import check_models_present
from vlgauge_workbench.stopping import report, turn_at


def metric_of(name: str, profile: str = "embedded", config: str = "", **settings: Any) -> Metric:
    """Load a metric. The same arguments return the same object, unless they contain a file of a user.

    Args:
        name: Name of the metric.
        profile: Profile of the models.
        config: Configuration of the metric. Empty for the default of the form.
        **settings: Settings that differ from the defaults of the metric.

    Raises:
        ValueError: If the metric, profile or configuration does not exist.
    """
    # Check before the cache lookup, because untrusted values may be lists, which are not hashable.
    check_choice("metric", name, metric_names())
    check_choice("profile", profile, PROFILES)
    if not isinstance(config, str):
        raise UsageError.about("config", f"must be the name of a configuration, got {short_repr(config)}")
    # A table of questions belongs to one run, and its file is deleted afterwards.
    load = _load.__wrapped__ if "questions" in settings else _load
    return load(name, profile, config, **settings)


def takes_questions(name: str) -> bool:
    """Return whether a metric has a table of questions as a setting."""
    return "questions" in setting_names(type(metric_of(name)))


def tokenizers_of(name: str, config: str = "") -> tuple[str, ...]:
    """Return the names of the tokenizers that a metric supports and whose packages are installed, the default first."""
    metric: Any = metric_of(name, config=config)
    names = getattr(metric, "tokenizers", ())
    return tuple(sorted(filter(is_installed, names), key=lambda one: one != metric.tokenizer))


def normalize_tokenizer(name: str, config: str, tokenizer: Any) -> str:
    """Return the name of a chosen tokenizer. Empty for the default of the metric.

    Args:
        name: Name of the metric.
        config: Configuration of the metric.
        tokenizer: Name of the tokenizer. Empty for the default.

    Raises:
        UsageError: If the metric does not support it, or a package is not installed.
    """
    if tokenizer == "":
        return ""
    offered = tokenizers_of(name, config)
    if not offered:
        raise UsageError.about("tokenizer", f"must be empty for {name}, got {short_repr(tokenizer)}")
    chosen = check_choice("tokenizer", tokenizer, offered)
    return "" if chosen == offered[0] else chosen


@cache
def _load(name: str, profile: str, config: str, **settings: Any) -> Metric:
    if profile == "paper":
        check_models_present(name)
    chosen = config or first_config(name) or None
    return vlgauge.load(name, chosen, profile=profile, keep_in_memory=True, progress=report, **settings)


def first_config(name: str) -> str:
    """Return the configuration that a form starts with. Empty for a metric without configurations.

    Raises:
        UsageError: If there is no such metric.
    """
    return explanation_of(check_choice("metric", name, metric_names())).first_config


def config_of(name: str, config: str | None) -> str:
    """Return the configuration of a form, or the first one while the form still has one of another metric."""
    return config if config and config in metric_of(name).configs else first_config(name)


@dataclass(frozen=True)
class ScoredTable:
    """Scores of rows.

    Attributes:
        explanation: Explanation of the scores.
        result: Result of `compute`, with details.
        ids: IDs of the scored rows.
        left_out: IDs of the rows that were not scored, with reasons.
        notes: Warnings of the metric.
        groups: Groups of rows that belong together. None if rows are independent.
    """

    explanation: Explanation
    result: Mapping[str, Any]
    ids: Sequence[Any]
    left_out: Sequence[tuple[Any, str]] = ()
    notes: Sequence[str] = field(default_factory=tuple)
    groups: RowGroups | None = None


def score_rows(metric: Metric, columns: Mapping[str, Sequence[Any]], ids: Sequence[Any]) -> ScoredTable:
    """Check and score rows.

    Args:
        metric: A loaded metric.
        columns: Cells by column name.
        ids: IDs of the rows.

    Raises:
        UsageError: If a row cannot be scored.
    """
    checked: CheckedFiles = {}
    for column in metric.columns:
        for row in range(len(ids)):
            cells = columns.get(column.name)
            check_cell(column, cells and cells[row], f"{column.name}[{row}]", RowLimits(), checked)
    return score_checked(metric, columns, ids)


def score_checked(
    metric: Metric,
    columns: Mapping[str, Sequence[Any] | None],
    ids: Sequence[Any],
    left_out: Sequence[tuple[Any, str]] = (),
    groups: RowGroups | None = None,
) -> ScoredTable:
    """Score rows that were checked already. Rows left out before are added to the result."""
    own = {column.name: columns.get(column.name) for column in metric.columns}
    with turn_at(lock_of(metric)), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        result = metric.compute(**own, return_details=True) or {}
    explanation = explain(metric.name, own | {"id": ids}, result, groups=None if groups is None else groups.labels)
    return ScoredTable(explanation, result, ids, left_out, notes_of(caught), groups)


def notes_of(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Return the messages of the warnings for users, without duplicates."""
    return list(dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning)))


def score_example(
    name: str,
    profile: str,
    config: str,
    cells: Mapping[str, Any],
    title: str,
    *,
    tokenizer: str = "",
    tested: bool = False,
    bundled: Sequence[Example] = (),
) -> ScoredTable:
    """Score one example.

    Args:
        name: Name of the metric.
        profile: Profile of the models.
        config: Configuration of the metric. Empty for the default of the form.
        cells: Cells by column name. None for a cell that is not passed.
        title: ID of the example.
        tokenizer: Name of the tokenizer. Empty for the default.
        tested: Whether to compute p-values of caption sets, which takes seconds for the largest sets.
        bundled: Bundled examples. Examples with the same image are scored too, if the explanation of a row shows other
            rows.

    Raises:
        UsageError: If a cell is too large or not valid for the metric.
    """
    given = {column: cell for column, cell in cells.items() if cell is not None}
    explanation = explanation_of(name)
    chosen = normalize_tokenizer(name, config, tokenizer)
    settings = explanation.settings_alone(chosen or None) | ({"tokenizer": chosen} if chosen else {})
    if tested and "pvalue" in setting_names(type(metric_of(name, profile, config))):
        settings["pvalue"] = "auto"
    loaded = metric_of(name, profile, config, **settings)
    for column, cell in given.items():
        check_size(column, cell)
    given, others = among(given, bundled if explanation.ranks_rows else ())
    rows = [given, *(one.cells for one in others)]
    found = score_rows(
        loaded, {column: [row.get(column) for row in rows] for column in given}, [title, *(one.id for one in others)]
    )
    return replace(found, notes=[*found.notes, explanation.note_alone]) if explanation.note_alone else found


def among(cells: Mapping[str, Any], examples: Sequence[Example]) -> tuple[dict[str, Any], list[Example]]:
    """Find bundled examples with the same images as the cells.

    An example is left out if it lacks one of the cells.

    Returns:
        The cells, with copies of bundled files replaced by the bundled files, and the other examples with the same
        files.
    """
    found = []
    own = dict(cells)
    for one in examples:
        same = all(same_file(own[name], one.cells.get(name)) for name in FILES if name in own)
        if same and all(name in one.cells for name in own) and one.cells["predictions"] != own["predictions"]:
            own |= {name: one.cells[name] for name in FILES if name in own}
            found.append(one)
    return own, found


def same_file(one: Any, other: Any) -> bool:
    """Return whether two cells are the same image or video, or the same list of them."""
    if isinstance(one, list) and len(one) == 1 and isinstance(other, str):
        one = one[0]
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_file, one, other))
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    return one == other or (
        Path(one).stat().st_size == Path(other).stat().st_size and Path(one).read_bytes() == Path(other).read_bytes()
    )


def score(
    metric: str,
    predictions: str | list[str] | dict[str, float],
    references: str | list[str] | dict[str, float] | None = None,
    images: str | dict[str, Any] | list[str | dict[str, Any]] | None = None,
    styles: str | None = None,
    videos: str | dict[str, Any] | None = None,
    config: str = "",
    profile: str = "embedded",
    tokenizer: str = "",
) -> dict[str, Any]:
    """Score one example with one metric. Columns that the metric does not use are ignored, as by `compute`.

    Args:
        metric: Name of the metric.
        predictions: Caption, story (a list of sentences), set of captions, or scores of a story by metric.
        references: References, human captions, or scores of a human story.
        images: Images, one or as many as the story has. Files from ``gradio_client.handle_file``, or base64.
        styles: Style that the caption should have.
        videos: Video. A file from ``gradio_client.handle_file``, or base64.
        config: Configuration of the metric, such as "demo".
        profile: "embedded", which downloads nothing, or "paper".
        tokenizer: Name of the tokenizer, such as "zh". Empty for the default of the metric.

    Returns:
        ``score`` (null if undefined), ``higher_is_better``, ``range``, ``signature``, ``notes``.

    Raises:
        UsageError: If an input is not valid for the metric.
    """
    sent = {"predictions": predictions, "references": references, "images": images, "styles": styles, "videos": videos}
    read = [column.name for column in metric_of(metric, profile, config).columns]
    given: dict[str, Any] = {name: cell for name, cell in sent.items() if cell is not None and name in read}
    ignored = [name for name, cell in sent.items() if cell is not None and name not in read]
    notes = [f"{metric} reads no {' and '.join(ignored)}, but {', '.join(read)}"] if ignored else []
    if "images" in given:
        of_story = images if isinstance(images, list) else [images]
        given["images"] = [file_of(one, f"images[{i}]") for i, one in enumerate(of_story)]
    with tempfile.TemporaryDirectory(prefix="vlgauge-clip-") as folder:
        if "videos" in given:
            given["videos"] = file_of(videos, "videos")
            if isinstance(given["videos"], bytes):  # metrics read videos from files
                clip = Path(folder, "clip")
                clip.write_bytes(given["videos"])
                given["videos"] = str(clip)
        found = score_example(metric, profile, config, given, "0", tokenizer=tokenizer)
    facts = metric_facts(metric)
    answer = {
        "score": found.explanation.scores[0],
        "higher_is_better": facts.higher_is_better,
        "range": facts.score_range,
        "signature": found.explanation.signature,
        "notes": [*notes, *found.notes],
    }
    return without_nan(answer)
