"""Phrases of scene graphs, and how alike those of two captions are by an encoder of sentences."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.base.encoding import EncodingMetric
from vlgauge.scene_graphs.graph import Graph, Tuple
from vlgauge.scene_graphs.metric import SceneGraphMetric
from vlgauge.weights.preflight import Preflight

Floats = npt.NDArray[np.float64]


def phrases_of(graphs: Iterable[Graph]) -> dict[str, Tuple]:
    """Objects, "attribute object" and "subject relation object" of some graphs, each once, and the tuple of each."""
    found: dict[str, Tuple] = {}
    for graph in graphs:
        for parts in graph.tuples:
            found.setdefault(" ".join(reversed(parts) if len(parts) == 2 else parts), parts)
    return found


class PhraseVectors:
    """Unit vectors of phrases, each encoded once.

    Args:
        phrases: All phrases of a call.
        vectors: Shape ``(n, d)``, of any norm but 0.
    """

    def __init__(self, phrases: Sequence[str], vectors: npt.ArrayLike) -> None:
        table = np.asarray(vectors, dtype=np.float64)
        self._table = table / np.linalg.norm(table, axis=1, keepdims=True) if len(table) else table
        self._rows = {phrase: row for row, phrase in enumerate(phrases)}

    def cosines(self, phrases: Iterable[str], others: Iterable[str]) -> Floats:
        """Cosines of n and m phrases, shape ``(n, m)``."""
        first, second = ([self._rows[phrase] for phrase in side] for side in (phrases, others))
        # Rounding takes the cosine of a phrase with itself above 1.
        return np.clip(self._table[first] @ self._table[second].T, -1.0, 1.0)


class PhraseGraphMetric(EncodingMetric, SceneGraphMetric):
    """Base of the metrics over scene graphs that ask an encoder how alike two phrases are."""

    @property
    def reads_vectors(self) -> bool:
        """Whether the settings ask for vectors of phrases."""
        return True

    def look_for_sources(self, given: Any = None) -> Preflight:
        """As the base has it, and the encoder of the phrases."""
        found = super().look_for_sources(given)
        if self.reads_vectors:
            self.look_for_encoder(found)
        return found

    def encoded_phrases(self, phrases: Iterable[str]) -> tuple[PhraseVectors, str]:
        """Vectors of all phrases of a call, and what made them."""
        distinct = list(dict.fromkeys(phrases))
        encoder = self.text_encoder()
        vectors: Any = encoder.encode(distinct, batch_size=self.batch_size, progress=self.progress) if distinct else []
        return PhraseVectors(distinct, vectors), encoder.identity
