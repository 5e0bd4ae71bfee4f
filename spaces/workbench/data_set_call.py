"""API endpoint `/score_dataset`, which scores a dataset of the Hub or an uploaded table with one metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from vlgauge.api.row_sources import Source, guess_titles
from vlgauge.core.errors import UsageError
from vlgauge.core.results import without_nan
from vlgauge.core.validation import short_repr
from vlgauge_workbench import runs
from vlgauge_workbench.errors import hidden
from vlgauge_workbench.hosting import Hosting
from vlgauge_workbench.scoring import metric_of
from vlgauge_workbench.uploads import is_upload

_HOW = "send it with gradio_client.handle_file"
_COLUMNS = ("predictions", "references", "images", "videos", "styles", "id", "groups")


def _source(dataset: Any, files: Sequence[Any], of_hub: tuple[str, str, str], token: str, hosting: Hosting) -> Source:
    """Return the rows of a dataset of the Hub, or of an uploaded table and its files."""
    if isinstance(dataset, str):
        if files:
            raise UsageError.about("files", "cannot be combined with a dataset of the Hub", "they belong to a table")
        with hidden(token):
            return runs.open_hub_rows(dataset, *of_hub, token, hosting)
    for name, sent in (("dataset", dataset), *((f"files[{i}]", one) for i, one in enumerate(files))):
        if not is_upload(sent):
            raise UsageError.about(name, f"must be a file that was uploaded, got {short_repr(sent)}", _HOW)
    if given := [name for name, word in zip(("dataset_config", "split", "revision"), of_hub, strict=True) if word]:
        raise UsageError.about(given[0], "cannot be combined with an uploaded table")
    return runs.open_upload(dataset["path"], [one["path"] for one in files], hosting)


def score_dataset_of(hosting: Hosting) -> Callable[..., dict[str, Any]]:
    """Return the endpoint function with the limits of the hosting."""

    def score_dataset(
        metric: str,
        dataset: str | dict[str, Any],
        split: str = "",
        predictions: str | None = None,
        references: list[str] | None = None,
        images: str | None = None,
        videos: str | None = None,
        styles: str | None = None,
        id_column: str | None = None,
        dataset_config: str = "",
        revision: str = "",
        first_row: int = 0,
        rows: int = 100,
        config: str = "",
        profile: str = "embedded",
        token: str = "",
        files: list[dict[str, Any]] | None = None,
        groups: str | None = None,
        tokenizer: str = "",
        questions: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Score rows of a dataset of the Hub, or of an uploaded table, with one metric.

        Args:
            metric: Name of the metric.
            dataset: OWNER/NAME of a dataset of the Hub, or a table or archive from ``gradio_client.handle_file``.
            split: Split of the dataset. For datasets of the Hub only.
            predictions: Name of the column of captions or stories. The likeliest column if null, as for all columns.
            references: Names of the columns of references.
            images: Name of the column of images.
            videos: Name of the column of videos.
            styles: Name of the column of styles.
            id_column: Name of the column of row IDs. Row numbers if null.
            dataset_config: Configuration of the dataset. Empty for the default.
            revision: Commit, branch or tag. Empty for the newest commit.
            first_row: Number of the first row.
            rows: Number of rows.
            config: Configuration of the metric, such as "demo".
            profile: "embedded", which downloads nothing, or "paper".
            token: Your token, for gated and private datasets.
            files: Images and videos that a table names, from ``gradio_client.handle_file``.
            groups: Name of the column whose equal values mark rows that belong together, such as captions of one image.
            tokenizer: Name of the tokenizer, such as "zh". Empty for the default of the metric.
            questions: Table with the questions of dsg, from ``gradio_client.handle_file``.

        Returns:
            ``dataset`` (id, config, split, revision), ``scores`` (``id`` and ``score``, null if undefined), ``mean``,
            ``interval`` (95%), ``left_out`` (``id`` and ``reason``), ``trouble`` (reason why not all rows were read,
            empty otherwise), ``signature``, ``notes``.

        Raises:
            ValueError: If an input does not exist or cannot be scored.
        """
        loaded = metric_of(metric, profile, config)
        if questions is not None and not is_upload(questions):
            raise UsageError.about("questions", f"must be a file that was uploaded, got {short_repr(questions)}", _HOW)
        source = _source(dataset, files or [], (dataset_config, split, revision), token, hosting)
        named = zip(_COLUMNS, (predictions, references, images, videos, styles, id_column, groups), strict=True)
        given = {name: [cell] if isinstance(cell, str) else cell for name, cell in named if cell}
        titles = guess_titles(loaded.columns, source.kinds) | {"id": []} | given
        run = runs.begin_run(
            source,
            (metric, config, profile),
            titles,
            first_row,
            rows,
            hosting,
            tokenizer,
            questions["path"] if questions else None,
        )
        try:
            for _ in run.read():
                pass
            found = run.scored()
        finally:
            run.clear()
        ends = found.explanation.interval
        scores = zip(found.ids, found.explanation.scores, strict=True)
        answer = {
            "dataset": asdict(source.origin),
            "mean": found.result[metric],
            "interval": None if ends is None else [ends.low, ends.high],
            "scores": [{"id": one, "score": score} for one, score in scores],
            "left_out": [{"id": one, "reason": reason} for one, reason in found.left_out],
            "trouble": run.trouble,
            "signature": found.explanation.signature,
            "notes": [*filter(None, [run.extent]), *found.notes],
        }
        return without_nan(answer)

    return score_dataset
