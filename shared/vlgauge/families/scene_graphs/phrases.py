"""Phrases of scene graphs, and their embeddings."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.families.scene_graphs.graph import Graph, Tuple

Floats = npt.NDArray[np.float64]


def phrases_of(graphs: Iterable[Graph]) -> dict[str, Tuple]:
    """Return the distinct phrases of some graphs with their tuples.

    Phrases are objects, "attribute object" and "subject relation object".
    """
    found: dict[str, Tuple] = {}
    for graph in graphs:
        for parts in graph.tuples:
            found.setdefault(" ".join(reversed(parts) if len(parts) == 2 else parts), parts)
    return found


class PhraseVectors:
    """L2-normalized embeddings of phrases, each encoded once.

    Args:
        phrases: All phrases of a call.
        vectors: Shape ``(n, d)``, of any nonzero norm.
    """

    def __init__(self, phrases: Sequence[str], vectors: npt.ArrayLike) -> None:
        table = np.asarray(vectors, dtype=np.float64)
        self._table = table / np.linalg.norm(table, axis=1, keepdims=True) if len(table) else table
        self._rows = {phrase: row for row, phrase in enumerate(phrases)}

    def cosines(self, phrases: Iterable[str], others: Iterable[str]) -> Floats:
        """Compute the cosines of n and m phrases, shape ``(n, m)``, in [-1, 1]."""
        first, second = ([self._rows[phrase] for phrase in side] for side in (phrases, others))
        # Rounding may increase the cosine of a phrase with itself to more than 1.
        return np.clip(self._table[first] @ self._table[second].T, -1.0, 1.0)
