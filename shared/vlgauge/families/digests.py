"""Names of the references of a call or corpus in signatures, independent of the order of the rows."""

import hashlib
from collections.abc import Sequence

_DIGESTS = 2**256


def sum_of_digests(references: Sequence[Sequence[str]]) -> int:
    """Compute the sum of the SHA-256 digests of the references of each row, modulo 2^256.

    The sum does not depend on the order of the rows.
    """
    # UTF-8 never contains the byte 255, so it separates the references unambiguously.
    digests = (hashlib.sha256(b"\xff".join(map(str.encode, own))).digest() for own in references if own)
    return sum(map(int.from_bytes, digests)) % _DIGESTS


def named_by(total: int) -> str:
    """Return the signature name of the frequencies counted in references with this sum of digests."""
    return f"references@{total % _DIGESTS:064x}"[: len("references@") + 8]
