"""Names of the references of a call or corpus in signatures, independent of the order of the rows."""

import hashlib
from collections.abc import Sequence

_DIGESTS = 2**256
_DIFFERED = -1  # not a valid sum of digests


def sum_of_digests(references: Sequence[Sequence[str]]) -> int:
    """Compute the sum of the SHA-256 digests of the references of each row, modulo 2^256.

    The sum does not depend on the order of the rows.
    """
    # UTF-8 never contains the byte 255, so it separates the references unambiguously.
    digests = (hashlib.sha256(b"\xff".join(map(str.encode, own))).digest() for own in references if own)
    return sum(map(int.from_bytes, digests)) % _DIGESTS


def name_by(total: int, source: str = "references") -> str:
    """Return the signature name of the frequencies counted in texts with this sum of digests.

    Args:
        total: Value of `sum_of_digests`, or a sum of such values.
        source: Name of the texts.
    """
    digest = f"{total % _DIGESTS:064x}"
    return f"{source}@{digest[:8]}"


def compare_with_first(first: int | None, total: int) -> tuple[int, bool]:
    """Compare the references of a call with the references of the first call of a metric.

    Args:
        first: None in the first call, and otherwise the first value that the previous call returned.
        total: Value of `sum_of_digests` of the references of this call.

    Returns:
        The value to pass as `first` in the next call, and whether this is the first call with other references.
    """
    if first is None:
        return total, False
    if first in (total, _DIFFERED):
        return first, False
    return _DIFFERED, True
