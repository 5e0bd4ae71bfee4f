"""ALOHa: How well do references support each object in a caption?"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge.core import validation  # From: "vlgauge[aloha]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[aloha]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageTypeError  # From: "vlgauge[aloha]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[aloha]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import scene_graphs  # From: "vlgauge[aloha]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import MOST_CHOICES
from .formula import best_matching
from .formula import choices

VARIANTS = ("paper", "released")


class Aloha(scene_graphs.SceneGraphMetric):
    """Similarity of the least supported object of a caption to its references.

    ALOHa matches the objects of a caption one to one with the objects of its references by the similarity of sentence
    embeddings. The score is the similarity of the least supported object, so a single hallucinated object is enough for
    a low score. All nouns count, not only those of a fixed list. Higher is better. A caption without objects
    hallucinates nothing, so report recall as well.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        objects: Objects to use instead of a parser: {"predictions": a list of objects per row, "references": a list per
            row}. An object is a string or a list of alternatives: ["dog", "cat"] for "a dog or a cat".
        return_details: Whether to add the matched pairs of each row.

    Returns:
        aloha: Mean of the scores, in [-1, 1], higher is better.
        aloha_scores: One score per row. A caption without objects scores 1, or NaN with `variant="released"`. NaN if
            there are no references or if they contain no objects.
        aloha_undefined: Number of undefined scores.
        aloha_n_empty: Number of captions without objects.
        aloha_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> vectors = {"dog": [1.0, 0.0], "hound": [0.8, 0.6], "cat": [0.0, 1.0]}
        >>> aloha = evaluate.load("vlgauge/aloha", encoder=lambda words: [vectors[word] for word in words])
        >>> result = aloha.compute(
        ...     predictions=["a hound and a cat"],
        ...     references=[["a dog"]],
        ...     objects={"predictions": [["hound", "cat"]], "references": [["dog"]]},
        ... )
        >>> print(result["aloha"])
        0.0
    """

    papers = ("https://aclanthology.org/2024.naacl-short.30",)
    rewards_silence = True
    setting_groups = (scene_graphs.EncoderSettings,)

    def __init__(self, *args: Any, variant: str = "paper", **host: Any) -> None:
        self.variant = base.check_choice("variant", variant, VARIANTS)
        super().__init__(*args, **host)

    def _compute(
        self, predictions: list[str], references: list[list[str]], objects: Any = None, return_details: bool = False
    ) -> dict[str, Any]:
        self.check_sources(objects).end()
        if objects is None:
            *sides, parser = self.object_groups(predictions, references)
            own, theirs = ([_of_the_scene(groups) for groups in side] for side in sides)
        else:
            own, theirs = _check_objects(objects, len(predictions))
            parser = scene_graphs.GIVEN
        _check_choices(own, theirs)
        every = (name for lists in (own, theirs) for groups in lists for group in groups for name in group)
        vectors, encoder = self.encode_phrases(every)
        scores, details = [], []
        with base.progress_bar(len(own), "Matching objects", self.progress) as advance:
            for mine, others in zip(own, theirs, strict=True):
                score, found = best_matching(mine, others, vectors.cosines, self.variant)
                # The released code returns -inf if one side has no objects.
                scores.append(score if others and np.isfinite(score) else float("nan"))
                pairs = [
                    {"object": one.object, "reference": one.reference, "similarity": one.similarity} for one in found
                ]
                details.append({"matches": pairs, "references": [list(group) for group in others]})
                advance(1)
        row_details = details if return_details else None
        n_empty = sum(not mine for mine in own)
        return self.result(
            scores, signature_extra=self.signature_extra(parser, encoder), details=row_details, n_empty=n_empty
        )


def _of_the_scene(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """Remove words that name the image or a position in it, and drop the groups that this empties."""
    kept = ([word for word in group if word not in scene_graphs.NO_OBJECTS] for group in groups)
    return [group for group in kept if group]


def _check_objects(objects: Any, n_rows: int) -> tuple[list[list[list[str]]], list[list[list[str]]]]:
    """Validate the `objects` of a call and return the groups of alternatives of the captions and of the references."""
    if not isinstance(objects, Mapping) or set(objects) != {"predictions", "references"}:
        got = ", ".join(map(repr, objects)) if isinstance(objects, Mapping) else type(objects).__name__
        raise UsageError.about("objects", f'must be a dictionary with "predictions" and "references", got {got}')
    found = []
    for name in ("predictions", "references"):
        place = f"objects[{name!r}]"
        validation.check_one_each(place, objects[name], n_rows)
        found.append([_groups(row, f"{place}[{index}]") for index, row in enumerate(objects[name])])
    return found[0], found[1]


def _groups(row: Any, name: str) -> list[list[str]]:
    """Return the objects of one row in lowercase, each as a list of alternatives."""
    if isinstance(row, str) or not isinstance(row, Sequence):
        raise UsageTypeError.about(name, f"must be a list of objects, got {type(row).__name__}")
    groups = []
    for place, one in enumerate(row):
        group = [one] if isinstance(one, str) else one
        if not isinstance(group, Sequence) or not group or not all(isinstance(word, str) for word in group):
            raise UsageTypeError.about(f"{name}[{place}]", f"must be a word or a list of alternatives, got {one!r:.60}")
        words = [" ".join(word.lower().split()) for word in group]
        if not all(words):
            raise UsageError.about(f"{name}[{place}]", f"must not contain an empty word, got {one!r:.60}")
        groups.append(words)
    return groups


def _check_choices(own: Sequence[Sequence[Sequence[str]]], theirs: Sequence[Sequence[Sequence[str]]]) -> None:
    """Raise if the alternatives allow too many choices, because their numbers multiply."""
    for row, (mine, others) in enumerate(zip(own, theirs, strict=True)):
        if (ways := choices(mine) * choices(others)) > MOST_CHOICES:
            raise UsageError(
                f"the alternatives of row {row} must have at most {MOST_CHOICES} choices, got {ways}; pass "
                "`objects` with fewer alternatives"
            )
