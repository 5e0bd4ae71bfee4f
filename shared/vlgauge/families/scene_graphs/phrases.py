"""Phrases of scene graphs, and their embeddings."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.families.base.encoding import EncodingMetric
from vlgauge.families.scene_graphs.graph import Graph, Tuple
from vlgauge.families.scene_graphs.metric import SceneGraphMetric

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


class PhraseGraphMetric(EncodingMetric, SceneGraphMetric):
    """Base class of metrics over scene graphs that compare phrases by their embeddings."""

    @property
    def reads_vectors(self) -> bool:
        """Whether the settings require embeddings of phrases."""
        return True

    def check_sources(self, given: Any = None) -> Preflight:
        """Check the requirements of the base class, and the encoder of the phrases."""
        found = super().check_sources(given)
        if self.reads_vectors:
            self.look_for_encoder(found)
        return found

    def encoded_phrases(self, phrases: Iterable[str]) -> tuple[PhraseVectors, str]:
        """Encode all phrases of a call, and return their embeddings with the identity of the encoder."""
        distinct = list(dict.fromkeys(phrases))
        encoder = self.text_encoder()
        vectors: Any = encoder.encode(distinct, batch_size=self.batch_size, progress=self.progress) if distinct else []
        return PhraseVectors(distinct, vectors), encoder.identity
