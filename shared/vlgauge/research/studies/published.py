"""Results published in the papers and by the authors' code: all tables and figures, and the values of the tables.

They are stored once, in ``data/published.json``, for metric cards, `vlgauge protocol` and `vlgauge verify`.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from statistics import NormalDist
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA
from vlgauge.core.signatures import parse_signature
from vlgauge.models.clip.architectures import TABLE

FILE = DATA / "published.json"
# Families whose scores do not depend on the number of references per row.
REFERENCE_FREE = ("clip_s", "pac_s", "length", "groovist", "rovist_vg", "rovist_c")


@dataclass(frozen=True)
class PublishedTable:
    """Table or figure of a paper, or output of its authors' code.

    Attributes:
        paper: Key of `list_papers`.
        table: Name such as "Table 1".
        about: Content of the table.
        command: Command that recomputes it. None if there is no such command.
        needs: Data and weights that the command requires. None if it requires nothing.
        checked: "yes" if this project has recomputed values of it, "with data" if `vlgauge verify` does so with the
            data, otherwise "no".
        why: Reason for `checked`.
    """

    paper: str
    table: str
    about: str
    command: str | None
    needs: str | None
    checked: str
    why: str


@dataclass(frozen=True)
class PublishedRow:
    """Row of a published table.

    Attributes:
        paper: Key of `list_papers`.
        table: Name such as "Table 1".
        protocol: Name of a protocol or of another check.
        rules: Rules of the protocol, which must match the rules of our scores.
        row: Name of the row in the table.
        metric: Our family of scores. None if there is no such metric.
        backbone: Name of the CLIP backbone. None if there is none.
        values: Values by column. Columns without a published value are missing.
        digits: Number of digits after the decimal point.
        apart: Reason why our value is not expected to be equal. "" if it is expected to be equal.
        tolerance: Known difference of our value.
        because: Reason for `tolerance`.
        settings: Settings of the metric by name, if the value was not computed with the default ones.
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
        """Paper and table in which the row is published."""
        return f"{list_papers()[self.paper]}, {self.table}"

    def text(self, column: str) -> str:
        """Format a value with the published number of digits, or "-" if there is none."""
        return f"{self.values[column]:.{self.digits}f}" if column in self.values else "-"


@cache
def _content() -> Any:
    return json.loads(FILE.read_text("utf-8"))


def list_papers() -> dict[str, str]:
    """Return the authors and year of each paper, by its key."""
    return dict(_content()["papers"])


def published_data(protocol: str) -> dict[str, Any]:
    """Return the data of a protocol: ``files``, their published names, and ``source``, a clause about their source."""
    return dict(_content()["protocols"][protocol])


def list_published_tables() -> list[PublishedTable]:
    """Return every table and figure of the papers, and the outputs of the authors' code."""
    return [PublishedTable(**record) for record in _content()["tables"]]


@cache
def rows() -> tuple[PublishedRow, ...]:
    """Return every row of the tables."""
    found = []
    for part in _content()["values"]:
        common = {name: value for name, value in part.items() if name not in ("columns", "rows")}
        for record in part["rows"]:
            pairs = zip(part["columns"], record["values"], strict=True)
            values = {column: value for column, value in pairs if value is not None}
            found.append(PublishedRow(**common | record | {"values": values}))
    return tuple(found)


def find_published_rows(protocol: str, rules: Mapping[str, Any], family: str, signature: str) -> list[PublishedRow]:
    """Return the published rows that match a family of scores, the rules of a protocol and a signature.

    Scores of unpublished weights have no published rows.
    """
    backbone, fields = backbone_of(signature), _fields_of(signature)
    return [
        row
        for row in rows()
        if row.protocol == protocol
        and row.metric == family
        and row.backbone == (backbone if row.backbone else None)
        # Each version has different weights and therefore separate rows.
        and ("version" in row.settings) == ("version" in fields)
        # A signature contains "factual:MODEL" together with a version and a commit.
        and all(part in fields.get(name, "") for name, text in row.settings.items() for part in text.split(":"))
        and all(
            rules.get(name) == value
            for name, value in row.rules.items()
            if not (name in ("references", "draws") and family in REFERENCE_FREE)
        )
    ]


def backbone_of(signature: str) -> str | None:
    """Return the name of the published CLIP backbone of a signature, or None for other backbones or without one."""
    fields = _fields_of(signature)
    if "version" in fields:  # the weights are a file, identified by its digest
        return next((name for name, row in TABLE.items() if row.architecture == fields.get("arch")), None)
    repository = fields.get("enc", "").partition("@")[0]
    return next((name for name, row in TABLE.items() if repository and row.repository == repository), None)


def _fields_of(signature: str) -> dict[str, str]:
    """Return the fields of a signature, or no fields for score files with custom signatures."""
    try:
        return parse_signature(signature)[1]
    except UsageError:
        return {}


def spread_of_draws(row: PublishedRow, ours: float, n_draws: int, deviation: float) -> tuple[float, float]:
    """Return the range of the published value in 95% of cases if only its draws of references differ.

    The published value is a mean over the number of draws in the rules of the row, our value a mean over `n_draws`
    draws. Both use the same images and captions. Their difference is nearly normal, because each pair has separate
    references.

    Args:
        row: Published row.
        ours: Our value.
        n_draws: Number of our draws.
        deviation: Standard deviation of our value between draws. NaN if unknown.

    Returns:
        Low and high end. NaN if references are not drawn or not used.
    """
    n_published = row.rules.get("draws")
    if not isinstance(n_published, int) or row.metric in REFERENCE_FREE or n_draws < 2:
        return math.nan, math.nan
    reach = NormalDist().inv_cdf(0.975) * deviation * math.sqrt(1 / n_draws + 1 / n_published)
    return ours - reach, ours + reach


def verdict(row: PublishedRow, column: str, ours: float, n_draws: int = 1, deviation: float = math.nan) -> str:
    """Return a text that compares our value with the published one: "same" if it rounds to it.

    If references are drawn at random, a published value that other draws explain also counts as met. See
    `spread_of_draws`.

    Args:
        row: Published row.
        column: Column of the value.
        ours: Our value. NaN if undefined.
        n_draws: Number of our draws of references.
        deviation: Standard deviation of our value between draws.
    """
    if row.apart:
        return f"not compared: {row.apart}"
    if math.isnan(ours):
        return "undefined"
    published = row.values[column]
    # A value exactly between two roundings may have been rounded either way.
    rounding = 0.5 * 10**-row.digits + 1e-9
    if abs(ours - published) <= rounding:
        return "same"
    low, high = spread_of_draws(row, ours, n_draws, deviation)
    if low - rounding <= published <= high + rounding:
        return "within the spread of draws"
    if abs(ours - published) <= row.tolerance:
        return f"within {row.tolerance:g}: {row.because}"
    return f"differs by {ours - published:+.{row.digits + 1}f}"
