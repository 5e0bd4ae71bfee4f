"""Records of a results data set of the Hub."""

from __future__ import annotations

from vlgauge.leaderboard import Record, parse_records
from vlgauge.network import NetworkError, hub_content
from vlgauge.row_sources.hub import Token, pinned

RESULTS = "results.jsonl"
MOST_BYTES = 20_000_000


def fetched_records(identity: str, token: Token = None) -> tuple[list[Record], str]:
    """The records of a data set at the commit that is now the newest, and that commit.

    Args:
        identity: Owner and name.
        token: That of a visitor, None for that of this machine, False for none.

    Raises:
        ValueError: If it is none, is not open, has no records, or a line of them is none.
        NetworkError: If the Hub cannot be asked.
    """
    data_set = pinned(identity, token=token)
    try:
        content = hub_content(
            identity, RESULTS, data_set.revision, kind="dataset", most_bytes=MOST_BYTES, token=data_set.token
        )
    except NetworkError as error:
        raise NetworkError(f"{RESULTS} of {identity!r} cannot be read, because {error}", error.status) from error
    records = parse_records(content, f"{identity}/{RESULTS}")
    if not records:
        raise ValueError(f"`dataset` must have records in its {RESULTS}, got {identity!r}, where it is empty")
    return records, data_set.revision
