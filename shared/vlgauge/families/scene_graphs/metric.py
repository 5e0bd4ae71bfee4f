"""Base class of metrics that compare the scene graphs of captions, which are parsed or supplied."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.validation import PROFILES, check_int, check_one_each, short_repr
from vlgauge.families.base.columns import References, Text
from vlgauge.families.base.encoding import EncoderSettings
from vlgauge.families.base.metric import Metric
from vlgauge.families.scene_graphs.factual import FactualParser, look_for_factual, model_of, names_factual
from vlgauge.families.scene_graphs.graph import Graph, convert_graph
from vlgauge.families.scene_graphs.phrases import PhraseVectors
from vlgauge.families.scene_graphs.rules import GraphParser, RuleParser
from vlgauge.families.scene_graphs.spice_program import SpiceProgram
from vlgauge.families.scene_graphs.strange_captions import warn_of_strange
from vlgauge.inputs.text.noun_phrases import check_source, look_for_phrases
from vlgauge.inputs.text.word_lists import word_list
from vlgauge.models.sentences.given import look_for_text_encoder

RULES = "rules"
GIVEN = "given"
"""Name of the parser in a signature if the call supplies the graphs."""

NO_OBJECTS = word_list("nouns_of_no_object")
"""Nouns that name the image or a place in it instead of an object of the scene."""

LONGEST = 2_000
"""Maximum number of words of a caption, because parsers require more than linear time and memory."""


class SceneGraphMetric(Metric):
    """Base class of metrics over the scene graphs of captions and references.

    The settings select the parser: ``parser`` ("rules", "factual", or an object with ``graphs`` and ``identity``),
    ``pipeline`` (the spaCy pipeline of the rules), and ``device`` and ``batch_size`` of models. A metric that compares
    phrases by their embeddings has the group `EncoderSettings`.

    Attributes:
        own_parsers: Additional values of ``parser``. The metric creates these parsers itself.
    """

    own_parsers: ClassVar[tuple[str, ...]] = ()

    columns = (Text("predictions"), References("references"))
    needs = ("english",)
    checks_words = True
    source_settings: ClassVar[tuple[str, ...]] = ("parser", "pipeline")

    def __init__(
        self,
        *args: Any,
        parser: Any = RULES,
        pipeline: Any = None,
        device: str = "auto",
        batch_size: int = 64,
        **host: Any,
    ) -> None:
        self.parser = _check_parser(parser, self.own_parsers)
        self.pipeline = check_source(pipeline, "pipeline")
        if parser != RULES and pipeline is not None:
            raise UsageError.about("pipeline", f'cannot be combined with a `parser` other than "{RULES}"')
        self.device = device
        self.batch_size = check_int("batch_size", batch_size, 1)
        super().__init__(*args, **host)
        self.encoding: Any = self.grouped.get(EncoderSettings)

    @property
    def reads_vectors(self) -> bool:
        """Whether the settings require embeddings of phrases."""
        return EncoderSettings in self.setting_groups

    def signature_extra(self, parser: str, encoder: str | None = None) -> dict[str, Any]:
        """Return the signature fields that are only known at call time.

        Args:
            parser: Source of the graphs, from `graphs_of`.
            encoder: Identity of the encoder. None if no embeddings were used.

        Returns:
            Values by field of the signature. None removes a field.
        """
        if encoder is not None:
            return {"enc": encoder, "parser": parser}
        # With supplied graphs no model is used, so the score is the same under both profiles.
        return {"parser": parser, "dtype": None, "pooling": None} | (
            {"profile": PROFILES[0]} if parser == GIVEN else {}
        )

    def check_sources(self, given: Any = None) -> Preflight:
        """Check the requirements of a call that are not passed with it, without parsing or downloading anything.

        Args:
            given: Graphs or objects passed to the call. None if captions are parsed.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = Preflight(self.name)
        if given is None and names_factual(self.parser):
            found.look(lambda: look_for_factual(self.parser, self.profile))
        elif given is None and self.parser == RULES:
            look_for_phrases(found, self.pipeline, profile=self.profile, argument="pipeline")
        if self.reads_vectors:
            look_for_text_encoder(found, self.encoding.encoder, profile=self.profile)
        return found

    def _parser_of(self, captions: Sequence[str]) -> Any:
        """Return the parser of the settings. Warn about captions that are not English, except with a user's parser."""
        if not isinstance(self.parser, str):
            return self.parser
        warn_of_strange(captions, self.name, self.remedy_for_other_languages)
        if names_factual(self.parser):
            own: dict[str, Any] = {"device": self.device, "batch_size": self.batch_size, "profile": self.profile}
            return FactualParser(model_of(self.parser), **own)
        return RuleParser(self.pipeline, profile=self.profile)

    def _parse(self, parser: Any, method: str, captions: Sequence[str]) -> dict[str, Any]:
        """Call a method of a parser for all captions. User-supplied parsers are called without `progress`."""
        ours = isinstance(parser, (RuleParser, FactualParser, SpiceProgram))
        found = list(getattr(parser, method)(captions, **({"progress": self.progress} if ours else {})))
        if len(found) != len(captions):
            raise UsageError.about(
                f"parser.{method}", f"must return one entry per caption, {len(captions)} in all, got {len(found)}"
            )
        return dict(zip(captions, found, strict=True))

    def graphs_of(
        self, predictions: Sequence[str], references: Sequence[Sequence[str]], graphs: Any
    ) -> tuple[list[Graph], list[list[Graph]], str]:
        """Return the graphs of captions and references, and the name of their source.

        Args:
            predictions: One caption per row.
            references: References of each row.
            graphs: Argument of `compute`. None to parse each distinct caption once.

        Raises:
            ValueError: If the number of graphs differs from the number of captions, or a caption is too long for the
                parser.
            TypeError: If a parser does not return graphs.
        """
        if graphs is not None:
            return *_convert_given(graphs, references), GIVEN
        captions = _distinct(predictions, references)
        parser: GraphParser = self._parser_of(captions)
        known = self._parse(parser, "graphs", captions)
        for graph in known.values():
            if not isinstance(graph, Graph):
                raise UsageTypeError.about(
                    "parser.graphs",
                    f"must return a `vlgauge.families.scene_graphs.Graph` per caption, got {type(graph).__name__}",
                )
        return [known[one] for one in predictions], [[known[one] for one in own] for own in references], parser.identity

    def object_groups(
        self, predictions: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[list[list[list[str]]], list[list[list[str]]], str]:
        """Return the objects of each caption, of all its references together, and the name of their source.

        Returns:
            For each row a list of objects, each of which is a list of alternatives (see `RuleParser.object_groups`),
            for captions and for references, and the identity of the parser.

        Raises:
            ValueError: If a caption is too long, or the parser does not return objects.
        """
        captions = _distinct(predictions, references)
        parser = self._parser_of(captions)
        if not callable(getattr(parser, "object_groups", None)):
            raise UsageTypeError.about(
                "parser", f"must have `object_groups(captions)`, got {type(parser).__name__}", "give `objects`"
            )
        known = self._parse(parser, "object_groups", captions)
        of_references = [_once(chain.from_iterable(known[one] for one in own)) for own in references]
        return [_once(known[one]) for one in predictions], of_references, parser.identity

    def encode_phrases(self, phrases: Iterable[str]) -> tuple[PhraseVectors, str]:
        """Encode all distinct phrases of a call.

        Returns:
            The embeddings by phrase, and the identity of the encoder.

        Raises:
            WeightsNotFoundError: If the encoder cannot be found.
        """
        distinct = list(dict.fromkeys(phrases))
        encoder = self.encoding.text_encoder(profile=self.profile, device=self.device, extra=self.needs[0])
        vectors: Any = encoder.encode(distinct, batch_size=self.batch_size, progress=self.progress) if distinct else []
        return PhraseVectors(distinct, vectors), encoder.identity


class ObjectMetric(Metric):
    """Base class of metrics on the objects that a caption names. A call may supply objects instead of references."""

    columns = (Text("predictions"), References("references", optional=True))
    checks_words = True


def _once(groups: Iterable[list[str]]) -> list[list[str]]:
    return [list(group) for group in dict.fromkeys(map(tuple, groups))]


def _distinct(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
    captions = list(dict.fromkeys(chain(predictions, chain.from_iterable(references))))
    for caption in captions:
        if (n_words := len(caption.split())) > LONGEST:
            raise UsageError(
                f"a caption must have at most {LONGEST} words to be parsed, got {n_words} in {caption!r:.60}; "
                "shorten it, or pass its graph or objects"
            )
    return captions


def _check_parser(parser: Any, own_parsers: Sequence[str]) -> Any:
    if isinstance(parser, str):
        if parser not in (RULES, *own_parsers) and not names_factual(parser):
            names = "".join(f'"{name}", ' for name in (RULES, *own_parsers))
            raise UsageError.about(
                "parser",
                f'must be {names}"factual", "factual:" followed by a folder or a Hub id, or an object with '
                f"`graphs(captions)` and `identity`, got {short_repr(parser)}",
            )
    elif not (callable(getattr(parser, "graphs", None)) and hasattr(parser, "identity")):
        raise UsageTypeError.about(
            "parser", f"must have `graphs(captions)` and `identity`, got {type(parser).__name__}"
        )
    return parser


def _convert_given(graphs: Any, references: Sequence[Sequence[str]]) -> tuple[list[Graph], list[list[Graph]]]:
    """Check and convert the graphs passed to a call, one per caption."""
    if not isinstance(graphs, Mapping) or set(graphs) != {"predictions", "references"}:
        got = ", ".join(map(repr, graphs)) if isinstance(graphs, Mapping) else type(graphs).__name__
        raise UsageError.about("graphs", f'must be a dictionary with "predictions" and "references", got {got}')
    own, theirs = graphs["predictions"], graphs["references"]
    for name, lists in (("predictions", own), ("references", theirs)):
        check_one_each(f"graphs[{name!r}]", lists, len(references), "graph per row")
    for index, (captions, lists) in enumerate(zip(references, theirs, strict=True)):
        check_one_each(f"graphs['references'][{index}]", lists, len(captions), "graph per reference")
    return (
        [convert_graph(graph, f"graphs['predictions'][{index}]") for index, graph in enumerate(own)],
        [
            [convert_graph(graph, f"graphs['references'][{index}][{place}]") for place, graph in enumerate(lists)]
            for index, lists in enumerate(theirs)
        ],
    )
