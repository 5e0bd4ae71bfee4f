"""Files of a run that the user can download."""

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

from vlgauge.api.recording import records_of
from vlgauge.api.row_sources import Origin
from vlgauge.core.errors import UsageError
from vlgauge.leaderboard.record import Dataset, is_hub_id
from vlgauge.leaderboard.run_files import run_files
from vlgauge_workbench.pages import report_of
from vlgauge_workbench.scoring import ScoredTable

ENDINGS = (".json", ".csv", ".jsonl", ".parquet")


def write_downloads(
    found: ScoredTable, origin: Origin, model: str = "", extent: str = ""
) -> tuple[list[str], list[str]]:
    """Write files of the scores like `vlgauge score --output`, the report, and the record.

    Args:
        found: Scores.
        origin: Source of the rows.
        model: Model of the predictions on the Hub. Empty for no record.
        extent: Part of the rows that was scored, as a note in the record. Empty for all rows.

    Returns:
        Paths of the files, and the reason if there is no record although a model is passed.
    """
    check_model_id(model, origin)
    name = found.explanation.name
    left_out = [{"id": one, "reason": reason} for one, reason in found.left_out]
    record: dict[str, Any] = {"ids": list(found.ids), "dataset": asdict(origin), "left_out": left_out}
    record |= {} if found.groups is None else found.groups.metadata
    record |= {key: value for key, value in found.result.items() if key != f"{name}_details"}
    contents: dict[str, str | bytes] = {f"{name}.html": report_of(found.explanation)}
    for ending in ENDINGS:
        contents |= {f"scores{ending}{added}": text for added, text in run_files(record, ending).items()}
    if left_out:
        lines = [json.dumps(one, ensure_ascii=False) for one in left_out]
        contents["left_out.jsonl"] = "".join(f"{line}\n" for line in lines)
    try:
        contents |= {"results.jsonl": _record_line(found, origin, model, extent)} if model else {}
    except ValueError as error:
        return keep_files(contents), [f"There is no record: {error}"]
    return keep_files(contents), []


def keep_files(contents: Mapping[str, str | bytes]) -> list[str]:
    """Write files into a new folder from which Gradio serves and later deletes them, and return their paths."""
    folder = Path(get_upload_folder(), secrets.token_hex(16))
    folder.mkdir(parents=True)
    paths = []
    try:
        for title, content in contents.items():
            path = folder / title
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
            paths.append(str(path))
    except BaseException:  # e.g. because the run was stopped
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return paths


def check_model_id(model: str, origin: Origin) -> None:
    """Check that a record can name the model. An empty name means no record.

    Raises:
        UsageError: If the rows are from a file, or the name is not a Hub id.
    """
    if model and origin.split is None:
        raise UsageError.about("Model", "must be empty for a file, since a record requires a dataset of the Hub")
    if model and not is_hub_id(model):
        raise UsageError.about("Model", f"must be OWNER/NAME on the Hub, or empty for no record, got {model[:60]!r}")


def _record_line(found: ScoredTable, origin: Origin, model: str, extent: str) -> str:
    split = origin.split or ""  # without a split, `check_model_id` rejects any model
    title = origin.id.rpartition("/")[2]
    dataset = Dataset(origin.id, title, origin.config or "default", split, origin.revision)
    grouped = {} if found.groups is None else found.groups.metadata
    run, names = {**found.result, **grouped, "ids": found.ids}, [found.explanation.name]
    (record,) = records_of(run, names, model, dataset, split=split, date=None, notes=extent or None)
    return record.line()
