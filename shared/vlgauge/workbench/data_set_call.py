"""The call `/score_dataset`: a data set of the Hub by one metric, without a browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from vlgauge.results import without_nan
from vlgauge.row_sources import guessed_titles
from vlgauge.workbench import runs
from vlgauge.workbench.errors import hidden
from vlgauge.workbench.hosting import Hosting
from vlgauge.workbench.scoring import metric_of

_COLUMNS = ("predictions", "references", "images", "videos", "styles", "id")


def score_dataset_of(hosting: Hosting) -> Callable[..., dict[str, Any]]:
    """The function behind the call, with the limits of where it is served."""

    def score_dataset(
        metric: str,
        dataset: str,
        split: str,
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
    ) -> dict[str, Any]:
        """Score rows of a data set of the Hub with one metric.

        Args:
            metric: Name of the metric.
            dataset: OWNER/NAME of the data set.
            split: Its split.
            predictions: Title of the column of captions or stories; the likeliest if null, as with all columns.
            references: Titles of the columns of references.
            images: Title of the column of pictures.
            videos: Title of the column of clips.
            styles: Title of the column of styles.
            id_column: Title of the column that names the rows; their numbers if null.
            dataset_config: Configuration of the data set; empty for the default.
            revision: Commit, branch or tag; empty for the newest commit.
            first_row: Number of the row that is the first.
            rows: How many.
            config: Configuration of the metric, such as "demo".
            profile: "embedded", which fetches nothing, or "paper".
            token: Your token, for gated and private data sets.

        Returns:
            ``dataset`` (id, config, split, revision), ``scores`` (``id`` and ``score``, null where undefined),
            ``mean``, ``interval`` (95 %), ``left_out`` (``id`` and ``reason``), ``trouble`` (why there are fewer rows;
            empty if all were read), ``signature``, ``notes``.

        Raises:
            ValueError: If something is not there, or cannot be scored.
        """
        loaded = metric_of(metric, profile, config)
        with hidden(token):
            source = runs.opened(dataset, dataset_config, split, revision, token, hosting)
        named = zip(_COLUMNS, (predictions, references, images, videos, styles, id_column), strict=True)
        given = {name: [cell] if isinstance(cell, str) else cell for name, cell in named if cell}
        titles = guessed_titles(loaded.columns, source.kinds) | {"id": []} | given
        run = runs.begun(source, (metric, config, profile), titles, first_row, rows, hosting)
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
