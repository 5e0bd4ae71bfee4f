"""Records of a results dataset of the Hub, and rank groups from the stored scores of each example."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from vlgauge.api.row_sources.hub import Pinned, Token, pin_with_files
from vlgauge.checkpoints.hub import hub_content
from vlgauge.core.errors import NetworkError, UsageError
from vlgauge.leaderboard import Record, parse_records
from vlgauge.leaderboard.record import Key
from vlgauge.leaderboard.record_groups import RecordGroups, column_of, record_groups
from vlgauge.leaderboard.runs import Run
from vlgauge.leaderboard.score_files import run_of_file, score_path

RESULTS = "results.jsonl"
MOST_BYTES = 20_000_000
MOST_RECORDS = 10_000  # what a page can show
# Limits of the files with scores of each row.
MOST_FILES = 100
MOST_FILE_BYTES = 5_000_000
MOST_SCORES = 200_000  # in all files, whose tests take about 20 s
MOST_SECONDS = 60.0


@dataclass(frozen=True)
class Results:
    """Content of a results dataset."""

    records: Sequence[Record] = ()
    groups: RecordGroups = field(default_factory=RecordGroups)


def fetch_results(identity: str, token: Token = None) -> tuple[Results, str]:
    """Fetch the records and groups of a dataset at its newest commit.

    Args:
        identity: Owner and name of the dataset.
        token: Token of the user, None for the token of this machine, False for no token.

    Returns:
        The results, and the commit.

    Raises:
        ValueError: If the dataset does not exist, is not accessible, or has no records or an invalid one.
        NetworkError: If the Hub cannot be reached.
    """
    data_set, files = pin_with_files(identity, token=token)
    try:
        content = _content(data_set, RESULTS, MOST_BYTES)
    except NetworkError as error:
        raise NetworkError(f"{RESULTS} of {identity!r} cannot be read, because {error}", error.status) from error
    if (n_lines := content.count(b"\n")) > MOST_RECORDS:
        raise UsageError(f"{RESULTS} of {identity!r} must have at most {MOST_RECORDS:,} records, got {n_lines:,}")
    records = parse_records(content, f"{identity}/{RESULTS}")
    if not records:
        raise UsageError.about("dataset", f"must have records in its {RESULTS}, got {identity!r}, which is empty")
    runs, faults = _runs(data_set, records, set(files))
    return Results(records, record_groups(records, runs, faults)), data_set.revision


def _runs(data_set: Pinned, records: Sequence[Record], files: set[str]) -> tuple[dict[Key, Run], dict[Key, str]]:
    """Fetch the stored scores of each example.

    Files are not fetched if no other record is in the same column.

    Returns:
        Stored scores by record key, and reasons why scores of other records are missing, by record key.
    """
    there = [record for record in records if score_path(record) in files]
    counts = Counter(map(column_of, there))
    runs: dict[Key, Run] = {}
    faults: dict[Key, str] = {}
    n_files, left, end = 0, MOST_SCORES, time.monotonic() + MOST_SECONDS
    for record in there:
        if counts[column_of(record)] < 2:
            continue
        n_files, left = n_files + 1, left - record.n - record.undefined
        if n_files > MOST_FILES or left < 0 or time.monotonic() > end:
            faults[record.key] = (
                f"at most {MOST_FILES} files, {MOST_SCORES:,} scores and {MOST_SECONDS:g} s of downloading is the "
                "limit here, which earlier records used up"
            )
            continue
        try:
            runs[record.key] = run_of_file(_content(data_set, score_path(record), MOST_FILE_BYTES), record)
        except UsageError as error:
            faults[record.key] = " ".join(str(error).split())
    return runs, faults


def _content(data_set: Pinned, path: str, most_bytes: int) -> bytes:
    return hub_content(
        data_set.id, path, data_set.revision, kind="dataset", most_bytes=most_bytes, token=data_set.token
    )
