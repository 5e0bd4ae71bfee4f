"""Bundled synthetic systems with captions of ten scenes, in one table with a column for each system."""

from functools import cache, lru_cache
from threading import Lock

from vlgauge.api.row_sources import Origin, RowReader
from vlgauge.api.row_sources.tables import UploadedRows
from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA
from vlgauge.inputs.tables.files import Rows, read_rows
from vlgauge_workbench.compared_systems import Compared, compare_systems
from vlgauge_workbench.profiles import needs_no_model
from vlgauge_workbench.scoring import metric_of

TABLE = DATA / "ten_scenes.jsonl"
NAMES = ("sampler", "greedy", "wanderer", "beam", "echo", "stranger")
FIRST = ("sampler", "wanderer")
METRICS = ("trm", "rovist_nr", "mmd_bert", "frechet_bert")  # default of the comparison
REFERENCES = "references"

_COMPARING = Lock()


@cache
def rows() -> Rows:
    """Return one row per scene, with the captions of every system and the references."""
    return read_rows(str(TABLE))


def compare_bundled(names: tuple[str, ...], metrics: tuple[str, ...], profile: str) -> Compared:
    """Compare some of the bundled systems. Results are cached, so that the same comparison is computed once."""
    with _COMPARING:
        return _compare(names, metrics, profile)


@lru_cache(maxsize=64)
def _compare(names: tuple[str, ...], metrics: tuple[str, ...], profile: str) -> Compared:
    loaded = [metric_of(metric, profile) for metric in metrics]
    columns = [column for metric in loaded for column in metric.columns]
    source = UploadedRows(rows(), Origin(TABLE.name), packed=())
    shared = {"references": [REFERENCES], "id": ["id"]}
    return compare_systems(
        loaded, {name: RowReader(source, columns, {"predictions": [name], **shared}) for name in names}
    )


def first_metrics(profile: str = "embedded") -> tuple[str, ...]:
    """Return the metrics of the first comparison, without metrics whose packages are not installed."""
    try:
        compare_bundled(FIRST, METRICS, profile)
    except UsageError:
        return tuple(name for name in METRICS if needs_no_model(name))
    return METRICS
