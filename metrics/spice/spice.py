"""SPICE: How many scene-graph tuples match the references?"""

from collections.abc import Sequence
from typing import Any

from vlgauge.checkpoints import preflight  # From: "vlgauge[spice]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import errors  # From: "vlgauge[spice]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[spice]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import scene_graphs  # From: "vlgauge[spice]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import KINDS
from .formula import f_score
from .formula import is_kind
from .formula import match_tuples
from .formula import merge_tuples


class Spice(scene_graphs.SceneGraphMetric):
    """F-score of the scene-graph tuples of a caption and its references, with similar concepts merged.

    SPICE compares the scene content of a caption with the combined content of all its references by an F-score:
    objects, their attributes and the relations between them, with synonyms merged. This is the matcher of SPICE with
    another parser, so scores of single captions differ from the Java program. Higher is better. SPICE requires
    references.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        graphs: Scene graphs to use instead of a parser: {"predictions": one per row, "references": a list per row, one
            for each reference}. Each is a dictionary with "objects", "attributes" and "relations", a list of lists of
            one to three words, or text such as "( dog , is , brown ) , ( dog , chase , cat )".
        return_details: Whether to add the tuples of each row and whether they are matched.

    Returns:
        spice: Mean of the scores, at least 0, higher is better. It can exceed 1 only if several tuples of a caption
            match the same reference tuple.
        spice_scores: One score per row. NaN if the references have no scene content.
        spice_undefined: Number of undefined scores.
        spice_objects, spice_attributes, spice_relations, spice_colours, spice_numbers, spice_sizes: Mean F-scores over
            the tuples of one kind, each with its own _scores, _undefined and _signature. NaN if the references have
            none of this kind.
        spice_precisions, spice_recalls: Precision and recall of each row.
        spice_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> spice = evaluate.load("vlgauge/spice")
        >>> result = spice.compute(
        ...     predictions=["a brown dog chases a cat"],
        ...     references=[["a dog runs after a black cat"]],
        ...     graphs={
        ...         "predictions": ["( dog , is , brown ) , ( dog , chase , cat )"],
        ...         "references": [["( dog , run after , cat ) , ( cat , is , black )"]],
        ...     },
        ... )
        >>> print(result["spice"])
        0.5
    """

    papers = ("https://arxiv.org/abs/1607.08822",)
    own_parsers = (scene_graphs.SPICE,)
    source_settings = ("parser", "pipeline", "jars")
    unsigned = ("java",)

    def __init__(self, *args: Any, parser: Any = "rules", java: Any = "java", jars: Any = None, **host: Any) -> None:
        self.java = scene_graphs.check_path("java", java)
        self.jars = scene_graphs.check_path("jars", jars, optional=True)
        if jars is not None and parser != scene_graphs.SPICE:
            raise errors.UsageError.about("jars", f'requires `parser` to be "{scene_graphs.SPICE}"')
        super().__init__(*args, parser=parser, **host)

    def signature_extra(self, parser: str, encoder: str | None = None) -> dict[str, Any]:
        """Return signature fields, by name, that are only known at call time.

        The profile is "paper" if the Java program parses, because it uses no model of a profile.
        """
        found = super().signature_extra(parser, encoder)
        return found | ({"profile": "paper"} if self.parser == scene_graphs.SPICE else {})

    def check_sources(self, given: Any = None) -> preflight.Preflight:
        """Check the sources that a call requires and does not pass. Nothing is parsed, loaded or downloaded.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = super().check_sources(given)
        if given is None and self.parser == scene_graphs.SPICE:
            scene_graphs.look_for_program(found, self.java, self.jars)
        return found

    def _parser_of(self, captions: Sequence[str]) -> Any:
        if self.parser != scene_graphs.SPICE:
            return super()._parser_of(captions)
        scene_graphs.warn_of_strange(captions, self.name, self.remedy_for_other_languages)
        return scene_graphs.SpiceProgram(self.java, self.jars)

    def _compute(
        self, predictions: list[str], references: list[list[str]], graphs: Any = None, return_details: bool = False
    ) -> dict[str, Any]:
        self.check_sources(graphs).end()
        own, theirs, identity = self.graphs_of(predictions, references, graphs)
        columns: dict[str, list[float]] = {name: [] for name in ("precisions", "recalls", "scores", *KINDS)}
        details = []
        pairs = zip(own, theirs, strict=True)
        for graph, others in base.report_progress(pairs, len(own), "Matching graphs", self.progress, block=1):
            candidate = merge_tuples(graph.tuples, scene_graphs.synsets)
            said = merge_tuples((one for other in others for one in other.tuples), scene_graphs.synsets)
            hits = match_tuples(candidate, said)
            found = f_score(sum(hits), len(candidate), len(said))
            for name, value in zip(("precisions", "recalls", "scores"), found, strict=True):
                columns[name].append(value)
            for kind in KINDS:
                of_kind = [hit for one, hit in zip(candidate, hits, strict=True) if is_kind(kind, one)]
                n_said = sum(is_kind(kind, one) for one in said)
                columns[kind].append(f_score(sum(of_kind), len(of_kind), n_said)[2])
            if return_details:
                details.append(_detail(candidate, hits, said))
        extra: dict[str, Any] = {name: columns[name] for name in ("precisions", "recalls")}
        row_details = details if return_details else None
        record = self.result(
            columns["scores"], signature_extra=self.signature_extra(identity), details=row_details, **extra
        )
        for kind in KINDS:
            record = self.with_score(record, f"{self.name}_{kind}", columns[kind])
        return record


def _detail(candidate: Any, hits: list[bool], said: Any) -> dict[str, Any]:
    """Return the tuples of a row, with the words of each part joined by "/" if several were merged."""
    back = match_tuples(said, candidate)
    return {
        "tuples": [{"parts": _words(one), "matched": hit} for one, hit in zip(candidate, hits, strict=True)],
        "references": [{"parts": _words(one), "matched": hit} for one, hit in zip(said, back, strict=True)],
    }


def _words(parts: Any) -> list[str]:
    return ["/".join(sorted(concept.words)) for concept in parts]
