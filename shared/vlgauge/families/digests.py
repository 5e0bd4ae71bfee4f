"""Names of the references of a call or corpus in signatures, independent of the order of the rows."""

import hashlib
from collections.abc import Sequence

from vlgauge.core.validation import warn

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


class FirstReferences:
    """References of the first call of a metric, with which those of later calls are compared.

    A copy starts without them, and the fingerprint that `Dataset.map` computes of a metric does not change.
    """

    def __init__(self) -> None:
        self._known: int | None = None

    def __reduce__(self) -> tuple[type["FirstReferences"], tuple[()]]:
        return FirstReferences, ()

    def warn_of_others(self, total: int, counted: str, remedy: str) -> None:
        """Warn once if two calls counted different references, such as batches of one dataset.

        Args:
            total: Value of `sum_of_digests` of the references of this call.
            counted: Clause that names what is counted, as the start of the message.
            remedy: Imperative that names the alternative.
        """
        if self._known is None:
            self._known = total
        elif self._known not in (total, _DIFFERED):
            self._known = _DIFFERED
            warn(
                f"{counted} in the references of a call, and the references of this call differ from an earlier one; "
                f"do not compare or average their scores, or {remedy}"
            )
