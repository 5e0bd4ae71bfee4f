"""Soft-SPICE: How similar are scene-graph phrases to the references?"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.families import base  # From: "vlgauge[soft-spice]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import scene_graphs  # From: "vlgauge[soft-spice]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

Floats = npt.NDArray[np.float64]
DIRECTIONS = ("precision", "both")


def soft_spice_score(cosines: Floats, direction: str = "precision") -> float:
    """Compute Soft-SPICE of a caption (Li et al., 2023).

    Args:
        cosines: Cosine similarities of the phrases of a caption and its references, shape ``(n, m)``, with n and m
            positive.
        direction: "precision" is the mean over the caption's phrases of their maximum similarity. "both" is the
            harmonic mean of precision and the corresponding recall over the references' phrases, in [0, 1]. Both means
            are mapped from c to (c + 1) / 2 first, as by ``bidirectional`` in the released code.
    """
    nearest = cosines.max(axis=1)
    if direction == "precision":
        return float(nearest.mean())
    precision, recall = ((side.mean() + 1) / 2 for side in (nearest, cosines.max(axis=0)))
    return float(2 * precision * recall / (precision + recall)) if precision + recall > 0 else 0.0


class SoftSpice(scene_graphs.SceneGraphMetric):
    """Mean maximum similarity of the phrases of a caption to the phrases of its references, by sentence embeddings.

    Soft-SPICE compares each object, attribute and relation in a caption with the most similar one in its references, by
    the cosine similarity of sentence embeddings. The score is the mean: hallucinated content lowers it, omitted content
    does not. Higher is better. Soft-SPICE requires references.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        graphs: Scene graphs to use instead of a parser: {"predictions": one per row, "references": a list per row, one
            for each reference}. Each is a dictionary with "objects", "attributes" and "relations", a list of lists of
            one to three words, or text such as "( dog , is , brown ) , ( dog , chase , cat )".
        return_details: Whether to add the phrases of each row and the most similar phrases of its references.

    Returns:
        soft_spice: Mean of the scores, in [-1, 1], higher is better.
        soft_spice_scores: One score per row. 0 for a caption without scene content, NaN if its references have none.
        soft_spice_undefined: Number of undefined scores.
        soft_spice_n_empty: Number of captions without scene content whose references have some.
        soft_spice_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> vectors = {"dog": [1.0, 0.0], "hound": [0.8, 0.6], "cat": [0.0, 1.0]}
        >>> encoder = lambda phrases: [vectors[phrase] for phrase in phrases]
        >>> soft_spice = evaluate.load("vlgauge/soft_spice", encoder=encoder)
        >>> result = soft_spice.compute(
        ...     predictions=["a hound"],
        ...     references=[["a dog", "a cat"]],
        ...     graphs={"predictions": ["( hound )"], "references": [["( dog )", "( cat )"]]},
        ... )
        >>> print(round(result["soft_spice"], 3))
        0.8
    """

    papers = ("https://aclanthology.org/2023.findings-acl.398",)
    rewards_silence = True
    setting_groups = (scene_graphs.EncoderSettings,)

    def __init__(self, *args: Any, direction: str = "precision", **host: Any) -> None:
        self.direction = base.check_choice("direction", direction, DIRECTIONS)
        super().__init__(*args, **host)

    def _compute(
        self, predictions: list[str], references: list[list[str]], graphs: Any = None, return_details: bool = False
    ) -> dict[str, Any]:
        self.check_sources(graphs).end()
        own, theirs, parser = self.graphs_of(predictions, references, graphs)
        said = [
            (scene_graphs.phrases_of([graph]), scene_graphs.phrases_of(others))
            for graph, others in zip(own, theirs, strict=True)
        ]
        vectors, encoder = self.encode_phrases(phrase for sides in said for side in sides for phrase in side)
        scores = np.zeros(len(said))
        details: list[dict[str, Any]] = []
        for row, (phrases, others) in enumerate(said):
            cosines = vectors.cosines(phrases, others) if phrases and others else np.zeros((len(phrases), 0))
            if cosines.size:
                scores[row] = soft_spice_score(cosines, self.direction)
            elif not others:
                scores[row] = np.nan
            if return_details:
                details.append(_detail(phrases, others, cosines))
        n_empty = sum(not phrases and bool(others) for phrases, others in said)
        row_details = details if return_details else None
        return self.result(
            scores.tolist(), signature_extra=self.signature_extra(parser, encoder), details=row_details, n_empty=n_empty
        )


def _detail(phrases: dict[str, tuple[str, ...]], others: Iterable[str], cosines: Floats) -> dict[str, Any]:
    """Return the phrases of a row, each with the most similar phrase of its references."""
    theirs = list(others)
    nearest = [
        {"phrase": phrase, "parts": list(parts), "nearest": theirs[int(row.argmax())], "cosine": float(row.max())}
        for (phrase, parts), row in zip(phrases.items(), cosines, strict=True)
        if row.size
    ]
    return {"phrases": nearest, "references": theirs}
