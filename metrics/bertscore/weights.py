"""Weights of tokens, and baselines of scores."""

import csv
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.files import read_text
from vlgauge.core.validation import short_repr
from vlgauge.core.validation import suggest_word
from vlgauge.core.validation import valid_unicode

REFERENCES = "references"

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int32]


@dataclass(frozen=True)
class GivenWeights:
    """Weights of a user.

    Attributes:
        weights: Weight of each token id.
        other: Weight of all other tokens: the one of a `defaultdict`, or the largest one.
    """

    weights: Mapping[int, float]
    other: float

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the weights."""
        return hashlib.sha256(json.dumps([self.other, sorted(self.weights.items())]).encode()).hexdigest()

    def table(self, size: int) -> Floats:
        """Return the weights of the token ids below a size, shape ``(size,)``."""
        found = np.full(size, self.other)
        for token, weight in self.weights.items():
            if token < size:
                found[token] = weight
        return found


def check_idf(idf: Any) -> Any:
    """Check the setting ``idf``.

    Returns:
        False, "references", the path of a file of texts, a tuple of texts, or `GivenWeights`.

    Raises:
        UsageError: If it is none of these.
    """
    if idf is None or idf is False:
        return False
    if idf is True or (isinstance(idf, str) and idf == REFERENCES):
        return REFERENCES
    if isinstance(idf, (str, Path)) and Path(idf).expanduser().is_file():
        return str(idf)
    if isinstance(idf, Mapping):
        return _check_table(idf)
    if isinstance(idf, (list, tuple)) and idf and all(isinstance(text, str) for text in idf):
        if not any(map(str.strip, idf)):
            raise UsageError.about("idf", f"must have at least one text, got {short_repr(idf)}")
        return tuple(valid_unicode(text, f"idf[{i}]") for i, text in enumerate(idf))
    raise UsageError.about(
        "idf",
        f"must be False, True or {REFERENCES!r}, a list of texts, a file with one text per line, or a mapping from "
        f"token ids to weights, got {short_repr(idf)}",
        suggest_word(idf, (REFERENCES,)) if isinstance(idf, str) else "",
    )


def _check_table(table: Mapping[Any, Any]) -> GivenWeights:
    for token, weight in table.items():
        is_id = isinstance(token, (int, np.integer)) and not isinstance(token, bool) and token >= 0
        is_weight = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
        if not is_id or not is_weight or not math.isfinite(weight) or weight < 0:
            raise UsageError.about(
                "idf",
                f"must map token ids to finite weights of at least 0, got {short_repr(weight)} for {short_repr(token)}",
            )
    if not table:
        raise UsageError.about("idf", "must have the weight of at least one token, got an empty mapping")
    made = getattr(table, "default_factory", None)
    other = float(made()) if made is not None else float(max(table.values()))
    return GivenWeights({int(token): float(weight) for token, weight in table.items()}, other)


def texts_of(path: str) -> list[str]:
    """Read the texts of a file, one per line, without empty lines.

    Raises:
        UsageError: If it has none.
    """
    texts = [line for line in read_text(Path(path).expanduser(), "`idf`").splitlines() if line.strip()]
    if not texts:
        raise UsageError.about("idf", f"must have at least one text, got none in {path!r}")
    return texts


def document_counts(ids: Iterable[Ids]) -> Counter[int]:
    """Count the texts that contain each token."""
    return Counter(token for row in ids for token in set(row.tolist()))


def read_baseline(path: str, layer: int) -> tuple[Floats, str]:
    """Read the baselines of P, R and F of a layer from a file in the format of bert-score.

    Args:
        path: Comma-separated file with the columns LAYER, P, R and F.
        layer: Number of the layer.

    Returns:
        The three baselines, shape ``(3,)``, and the first digits of the SHA-256 of the file.

    Raises:
        UsageError: If the file has another format, or no such layer.
    """
    text = read_text(Path(path).expanduser(), "`baseline`")
    try:
        titles, *rows = csv.reader(text.splitlines())
        table = [dict(zip(titles, row, strict=True)) for row in rows if row]
        found = {int(row["LAYER"]): np.array([float(row[name]) for name in "PRF"]) for row in table}
        if len(found) < len(table) or len(set(titles)) < len(titles):
            raise ValueError("a repeated layer or column")
    except (KeyError, ValueError, csv.Error) as error:
        raise UsageError.about(
            "baseline",
            f"must be a file of comma-separated rows LAYER,P,R,F, one per layer, got other content in {path!r}",
        ) from error
    if layer not in found:
        raise UsageError.about("baseline", f"must have a row of layer {layer}, got none in {path!r}")
    if not (np.isfinite(found[layer]) & (found[layer] < 1)).all():
        raise UsageError.about(
            "baseline", f"must be below 1, got {found[layer].tolist()} for layer {layer} in {path!r}"
        )
    return found[layer], hashlib.sha256(text.encode()).hexdigest()[:8]
