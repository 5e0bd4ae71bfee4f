"""What the papers and the code of their authors published: every table and figure, and the numbers of the tables.

They stand once, in ``data/published.json``; cards, `vlgauge protocol` and `vlgauge verify` take them from there.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from statistics import NormalDist
from typing import Any

from vlgauge.encoders.clip.architectures import TABLE
from vlgauge.errors import UsageError
from vlgauge.files import DATA
from vlgauge.signatures import parse_signature

FILE = DATA / "published.json"
PAPERS = {
    "groovist": "Surikuchi et al., 2023",
    "rovist": "Wang et al., 2022",
    "stylem": "Li and Harrison, 2022",
    "distribution": "Chan et al., 2024",
    "pac_s": "Sarto et al., 2023",
    "fleur": "Lee et al., 2024",
    "factual": "Li et al., 2023",
    "pac_s_plus": "Sarto et al., 2025",
    "specs": "Chen et al., 2025",
    "polos": "Wada et al., 2024",
    "deneb": "Matsuda et al., 2024",
    "dn": "Zhou et al., 2023",
}
# Families whose scores do not depend on how many references a row has.
REFERENCE_FREE = ("clip_s", "pac_s", "length", "groovist", "rovist_vg", "rovist_c")


@dataclass(frozen=True)
class PublishedTable:
    """A table or figure of a paper, or a number that its authors' code prints.

    Attributes:
        paper: Key of `PAPERS`.
        table: Such as "Table 1".
        about: What it shows.
        command: What recomputes it; None if nothing here does.
        needs: Data and weights for that; None if there is nothing to need.
        checked: "yes" if this project has recomputed numbers of it, "with data" if `vlgauge verify` does where the data
            are, else "no".
        why: Of `checked`.
    """

    paper: str
    table: str
    about: str
    command: str | None
    needs: str | None
    checked: str
    why: str


@dataclass(frozen=True)
class Row:
    """A row of a published table.

    Attributes:
        paper: Key of `PAPERS`.
        table: Such as "Table 1".
        protocol: Name of a protocol or of another check.
        rules: What the protocol was told; a signature must have the same.
        row: Its name in the table.
        metric: Family of scores here; None if there is no such metric.
        backbone: Name of the CLIP; None if there is none.
        values: By column; those that the paper left out are not there.
        digits: Behind the point.
        apart: Why ours is not to be the same; "" if it is.
        tolerance: By how much ours is known to differ.
        because: Of that.
        settings: Of the metric, by name, where the number is not that of the default ones.
    """

    paper: str
    table: str
    protocol: str
    rules: Mapping[str, Any]
    row: str
    metric: str | None
    backbone: str | None
    values: Mapping[str, float]
    digits: int
    apart: str = ""
    tolerance: float = 0.0
    because: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Where it is published."""
        return f"{PAPERS[self.paper]}, {self.table}"

    def text(self, column: str) -> str:
        """A value with the digits that were published; "-" for none."""
        return f"{self.values[column]:.{self.digits}f}" if column in self.values else "-"


@cache
def _content() -> Any:
    return json.loads(FILE.read_text("utf-8"))


def published_tables() -> list[PublishedTable]:
    """Every table and figure of the papers, and what their authors' code prints."""
    return [PublishedTable(**record) for record in _content()["tables"]]


@cache
def rows() -> tuple[Row, ...]:
    """Every row of the tables."""
    found = []
    for part in _content()["values"]:
        common = {name: part[name] for name in ("paper", "table", "protocol", "rules", "digits")}
        for record in part["rows"]:
            pairs = zip(part["columns"], record["values"], strict=True)
            values = {column: value for column, value in pairs if value is not None}
            more = {name: record[name] for name in ("apart", "tolerance", "because", "settings") if name in record}
            own = {name: record[name] for name in ("row", "metric", "backbone")}
            found.append(Row(**common, **own, values=values, **({"apart": part.get("apart", "")} | more)))
    return tuple(found)


def rows_beside(protocol: str, rules: Mapping[str, Any], family: str, signature: str) -> list[Row]:
    """The published rows of a family of scores under the rules of a protocol.

    Scores of weights that were not published have none.
    """
    backbone, fields = backbone_of(signature), _fields_of(signature)
    return [
        row
        for row in rows()
        if row.protocol == protocol
        and row.metric == family
        and row.backbone == (backbone if row.backbone else None)
        # Another version has other weights: its rows are its own.
        and ("version" in row.settings) == ("version" in fields)
        # "factual:MODEL" is written into a signature with a version and a commit.
        and all(part in fields.get(name, "") for name, text in row.settings.items() for part in text.split(":"))
        and all(
            rules.get(name) == value
            for name, value in row.rules.items()
            if not (name in ("references", "draws") and family in REFERENCE_FREE)
        )
    ]


def backbone_of(signature: str) -> str | None:
    """Name of the published CLIP by which scores were made; None for any other one, or none."""
    fields = _fields_of(signature)
    if "version" in fields:  # whose weights are a file, named by its digest
        return next((name for name, row in TABLE.items() if row.architecture == fields.get("arch")), None)
    repository = fields.get("enc", "").partition("@")[0]
    return next((name for name, row in TABLE.items() if repository and row.repository == repository), None)


def _fields_of(signature: str) -> dict[str, str]:
    """Fields of a signature; none of a file of scores that somebody else made."""
    try:
        return parse_signature(signature)[1]
    except UsageError:
        return {}


def spread_of_draws(row: Row, ours: float, n_draws: int, deviation: float) -> tuple[float, float]:
    """Return where the published number lies in 95 of 100 cases if only its draws of references are others.

    The published number is a mean over as many draws as the rules of the row say, ours over those that are given; both
    are of the same images and captions. Their difference is nearly normal, as each pair has references of its own.

    Args:
        row: The published row.
        ours: Our number.
        n_draws: Number of our draws.
        deviation: Standard deviation of our number from one draw to another; NaN if it is not known.

    Returns:
        Low and high end; NaN where references are not drawn, or are not read.
    """
    n_published = row.rules.get("draws")
    if not isinstance(n_published, int) or row.metric in REFERENCE_FREE or n_draws < 2:
        return math.nan, math.nan
    reach = NormalDist().inv_cdf(0.975) * deviation * math.sqrt(1 / n_draws + 1 / n_published)
    return ours - reach, ours + reach


def verdict(row: Row, column: str, ours: float, n_draws: int = 1, deviation: float = math.nan) -> str:
    """Return how our number compares with the published one: "same" if it rounds to it.

    Where references are drawn at random, a published number that other draws explain is as good; see
    `spread_of_draws`.

    Args:
        row: The published row.
        column: Name of the number in it.
        ours: Our number; NaN if it is undefined.
        n_draws: Number of our draws of references.
        deviation: Standard deviation of our number from one of them to another.
    """
    if row.apart:
        return f"not compared: {row.apart}"
    if math.isnan(ours):
        return "undefined"
    published = row.values[column]
    # A number that lies exactly between two roundings may have gone either way.
    rounding = 0.5 * 10**-row.digits + 1e-9
    if abs(ours - published) <= rounding:
        return "same"
    low, high = spread_of_draws(row, ours, n_draws, deviation)
    if low - rounding <= published <= high + rounding:
        return "within the spread of draws"
    if abs(ours - published) <= row.tolerance:
        return f"within {row.tolerance:g}: {row.because}"
    return f"differs by {ours - published:+.{row.digits + 1}f}"
