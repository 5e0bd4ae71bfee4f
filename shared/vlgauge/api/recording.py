"""Records of scores and comparisons computed in Python, with model, dataset and date."""

from collections.abc import Sequence
from datetime import UTC, datetime

from vlgauge.leaderboard.record import Dataset, Model, Record, RecordSource
from vlgauge.leaderboard.records import record_of
from vlgauge.leaderboard.runs import Run

_DATASET = {"dataset": '`dataset` is the id of the dataset, such as dataset="owner/images"'}
_MODELS = '`models` contains ids by system, such as models={"ours": "owner/captioner"}'
# Hints for missing arguments.
OF_ONE = {"model": '`model` is the id of the captioning model, such as model="owner/captioner"', **_DATASET}
OF_SEVERAL = {"models": _MODELS, "model": _MODELS, **_DATASET}


def records_of(
    run: Run,
    names: Sequence[str],
    model: str | Model,
    dataset: str | Dataset,
    *,
    split: str,
    date: str | None,
    notes: str | None,
    source: RecordSource | None = None,
) -> list[Record]:
    """Return the records of scores of one system.

    Raises:
        ValueError: If no row has a score, or a record cannot contain a value.
    """
    whose = model if isinstance(model, Model) else Model(model, model.rpartition("/")[2])
    of = dataset if isinstance(dataset, Dataset) else Dataset(dataset, dataset.rpartition("/")[2], "default", split)
    when = date or f"{datetime.now(UTC):%Y-%m-%d}"
    return [record_of(run, name, whose, of, date=when, source=source, notes=notes) for name in names]
