"""CAPTURE: How many objects, attributes and relations match?"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from vlgauge.core import signatures  # From: "vlgauge[capture]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageTypeError  # From: "vlgauge[capture]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[capture]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import scene_graphs  # From: "vlgauge[capture]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import capture_score
from .formula import f_measure
from .formula import match

VARIANTS = ("paper", "released")
KINDS = ("objects", "attributes", "relations")


class Capture(scene_graphs.SceneGraphMetric):
    """Weighted mean of the F-scores of objects, attributes and relations, matched in three stages.

    CAPTURE compares detailed captions by their scene content: objects, attributes and relations are matched with those
    in each reference, first exact matches, then synonyms, and the remaining phrases by the similarity of sentence
    embeddings. The three F-scores are averaged with weights 5, 5 and 2. Higher is better. CAPTURE requires references.

    Args:
        predictions: Captions, one string of one or more sentences per row.
        references: References, a string or a list of strings per row.
        graphs: Scene graphs to use instead of a parser: {"predictions": one per row, "references": a list per row, one
            for each reference}. Each is a dictionary with "objects", "attributes" and "relations", a list of lists of
            one to three words, or text such as "( dog , is , brown ) , ( dog , chase , cat )".
        return_details: Whether to add the matched phrases for each reference.

    Returns:
        capture: Mean of the scores, 0 to about 1, higher is better.
        capture_scores: One score per row, the mean over its references. NaN without references.
        capture_undefined: Number of undefined scores.
        capture_objects, capture_attributes, capture_relations: Means of the F-scores, each with its own _scores,
            _undefined and _signature.
        capture_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> capture = evaluate.load("vlgauge/capture", soft=False)
        >>> result = capture.compute(
        ...     predictions=["A brown dog. It chases a cat."],
        ...     references=[["A dog chases a black cat."]],
        ...     graphs={
        ...         "predictions": ["( dog , is , brown ) , ( dog , chase , cat )"],
        ...         "references": [["( dog , chase , cat ) , ( cat , is , black )"]],
        ...     },
        ... )
        >>> print(round(result["capture"], 3))
        0.583
    """

    papers = ("https://arxiv.org/abs/2405.19092",)
    setting_groups = (scene_graphs.EncoderSettings,)

    def __init__(
        self,
        *args: Any,
        variant: str = "paper",
        soft: bool = True,
        no_objects: Iterable[str] | None = None,
        **host: Any,
    ) -> None:
        self.variant = base.check_choice("variant", variant, VARIANTS)
        self.soft = base.check_bool("soft", soft)
        self.no_objects = None if no_objects is None else _check_words(no_objects)
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings that belong in the signature, by name.

        The list of excluded words that vlgauge contains is left out. A custom list is identified by a hash of its
        words.
        """
        fields = super().signature_fields()
        unwanted = fields.pop("no_objects")
        return fields if unwanted is None else fields | {"no_objects": signatures.name_of_content(unwanted)}

    @property
    def reads_vectors(self) -> bool:
        """Whether phrases that are not synonyms are compared by their embeddings."""
        return self.soft

    def _compute(
        self, predictions: list[str], references: list[list[str]], graphs: Any = None, return_details: bool = False
    ) -> dict[str, Any]:
        self.check_sources(graphs).end()
        own, theirs, parser = self.graphs_of(predictions, references, graphs)
        left_out = (
            frozenset()
            if graphs is not None and self.no_objects is None
            else self.no_objects or scene_graphs.NO_OBJECTS
        )
        sides = [
            (_parts(graph, left_out), [_parts(one, left_out) for one in others])
            for graph, others in zip(own, theirs, strict=True)
        ]
        cosines, encoder = None, None
        if self.soft:
            every = (parts for mine, others in sides for side in (mine, *others) for parts in side)
            vectors, encoder = self.encode_phrases(" ".join(words) for parts in every for words in parts)
            cosines = vectors.cosines
        released = self.variant == "released"
        synonymous = _overlapping if released else _synonyms
        columns = np.full((len(sides), 1 + len(KINDS)), np.nan)
        details: list[dict[str, Any]] = []
        reported = base.report_progress(sides, len(sides), "Matching graphs", self.progress, block=1)
        for row, (mine, others) in enumerate(reported):
            compared, notes = [], []
            for reference in others:
                pairs = list(zip(mine, reference, strict=True))
                kinds = [match(a, b, synonymous, cosines, released=released) for a, b in pairs]
                measures = [f_measure(found, len(a), len(b)) for found, (a, b) in zip(kinds, pairs, strict=True)]
                compared.append([capture_score(*(f for *_, f in measures)), *(f for *_, f in measures)])
                notes.append(_note(mine, reference, kinds, measures))
            if compared:
                columns[row] = np.mean(compared, axis=0)
            details.append({"graph": [list(parts) for parts in own[row].tuples], "references": notes})
        row_details = details if return_details else None
        record = self.result(
            columns[:, 0].tolist(), signature_extra=self.signature_extra(parser, encoder), details=row_details
        )
        for kind, column in zip(KINDS, columns[:, 1:].T, strict=True):
            record = self.with_score(record, f"{self.name}_{kind}", column.tolist())
        return record


def _check_words(words: Iterable[str]) -> tuple[str, ...]:
    listed = [] if isinstance(words, str) else list(words)
    if isinstance(words, str) or not all(isinstance(word, str) for word in listed):
        raise UsageTypeError.about("no_objects", f"must be a list of words, got {words!r:.60}")
    return tuple(sorted({word.lower() for word in listed}))


def _parts(graph: scene_graphs.Graph, left_out: Iterable[str]) -> tuple[list[tuple[str, ...]], ...]:
    """Return the sorted objects, attributes and relations of a graph.

    They are sorted so that the matching does not depend on their order. As in the authors' code, attributes are
    separated from their objects: "red" of a car matches "red" of a bus.
    """
    unwanted = set(left_out)
    objects: list[tuple[str, ...]] = sorted((name,) for name in graph.objects if name not in unwanted)
    attributes: list[tuple[str, ...]] = sorted(
        (attribute,) for name, attribute in graph.attributes if " of" not in attribute
    )
    return objects, attributes, sorted(graph.relations)


def _synonyms(one: str, other: str) -> bool:
    """Return whether two words or compounds share a WordNet synset."""
    return not scene_graphs.synsets(one).isdisjoint(scene_graphs.synsets(other))


def _overlapping(one: str, other: str) -> bool:
    """Return whether two words match by the rule of the released code.

    They match if one is a substring of the other, such as "man" and "woman", or if they have a synonym in common.
    """
    return one in other or other in one or not scene_graphs.synonyms(one).isdisjoint(scene_graphs.synonyms(other))


def _note(mine: Any, reference: Any, kinds: Any, measures: Any) -> dict[str, Any]:
    return {
        kind: {
            "matched": [[" ".join(a[i]), " ".join(b[j])] for i, j in found.pairs],
            "caption_only": [" ".join(one) for i, one in enumerate(a) if i not in {i for i, _ in found.pairs}],
            "reference_only": [" ".join(one) for j, one in enumerate(b) if j not in {j for _, j in found.pairs}],
            "precision": precision,
            "recall": recall,
            "f": f,
        }
        for kind, a, b, found, (precision, recall, f) in zip(KINDS, mine, reference, kinds, measures, strict=True)
    }
