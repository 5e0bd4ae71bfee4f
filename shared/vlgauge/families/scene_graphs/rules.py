"""Scene graphs of English captions by rules over the dependency parses of spaCy pipelines.

The rules extract the kinds of tuples that SPICE uses (Anderson et al., 2016, Section 3.1): subject, verb and object;
nouns with their prepositions, possessors, adjectives and numbers; participles after a noun; predicates with "is". The
rules are our own and use the labels of spaCy, so graphs of single captions differ from the Stanford parser. The metric
cards report the agreement of scores. Pronouns are not objects and are not resolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from vlgauge.core.errors import UsageError
from vlgauge.core.progress import Progress
from vlgauge.families.scene_graphs.graph import Graph, Tuple
from vlgauge.families.scene_graphs.synsets import infinitive, lemma, singular
from vlgauge.inputs.text.noun_phrases import ENGLISH, PARSED, SpacyPhrases, phrase_source

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_NOUNS = ("NN", "NNS", "NNP", "NNPS")
_PLURALS = ("NNS", "NNPS")
_SUBJECTS = ("nsubj", "nsubjpass", "csubj")
_OBJECTS = ("dobj", "obj", "dative")
_CLAUSES = ("acl", "relcl")
_RELATIVE = ("WDT", "WP", "WP$", "WRB")
# "A lot of dogs": the dogs are an object, and the first noun is a quantity.
_QUANTITIES = frozenset({"bunch", "couple", "dozen", "handful", "lot", "number", "pair", "plenty", "variety"})
# "In front of", "on top of": the noun between two prepositions is not an object.
_PLACES = frozenset({"back", "bottom", "center", "centre", "edge", "front", "left", "middle", "right", "side", "top"})
_BEFORE_NOUNS = ("amod", "compound")
# Dependencies of nouns that a small tagger tags as another part of speech after adjectives: "a large pink cross".
_NOUN_PLACES = ("attr", "dobj", "nsubj", "nsubjpass", "pobj")


class GraphParser(Protocol):
    """Protocol for parsers that the metrics over scene graphs use.

    Attributes:
        identity: Name and version, for signatures.
    """

    identity: str

    def graphs(self, captions: Sequence[str], *, progress: Progress = None) -> list[Graph]:
        """Parse captions into graphs, in input order. A caption without a noun has an empty graph."""


class RuleParser:
    """Scene graph parser with rules over a spaCy pipeline. Each distinct caption of a call is parsed once, separately.

    Args:
        pipeline: Setting of `vlgauge.inputs.text.noun_phrases.phrase_source`.
        profile: "paper" or "embedded".

    Raises:
        UsageError: If the pipeline is not English.
    """

    def __init__(self, pipeline: Any = None, *, profile: str = "paper") -> None:
        source = phrase_source(pipeline, profile=profile, argument="pipeline")
        if not isinstance(source, SpacyPhrases):
            raise UsageError.about("pipeline", 'must be a pipeline with a parser, got "nltk", which finds only nouns')
        if source.language != ENGLISH:
            raise UsageError.about(
                "pipeline",
                f"must be an English pipeline, whose labels the rules use, got {source.identity} of language "
                f"{source.language!r}",
                "for other languages pass graphs or objects, or a `parser`",
            )
        self._source = source
        self.identity = f"rules-1+{source.identity}"

    def graphs(self, captions: Sequence[str], *, progress: Progress = None) -> list[Graph]:
        """Parse captions into graphs. A caption without a noun has an empty graph.

        Raises:
            ValueError: If the pipeline has no parser, or a caption is too long for it.
        """
        found = self._source.read_docs(captions, PARSED, _tuples, progress)
        return [Graph.of(tuples) for tuples in found]

    def object_groups(self, captions: Sequence[str], *, progress: Progress = None) -> list[list[list[str]]]:
        """Return the lowercased singular objects of each caption, each as a list of alternatives.

        "A dog or a cat" is one object with two alternatives.

        Raises:
            ValueError: If the pipeline has no parser, or a caption is too long for it.
        """
        found = self._source.read_docs(captions, PARSED, _alternatives, progress)
        return [[list(group) for group in groups] for groups in found]


def _alternatives(doc: Doc) -> list[Tuple]:
    """Return the objects of a caption. Objects joined by "or" are alternatives of one object."""
    groups: dict[int, list[str]] = {}
    first: dict[int, int] = {}
    for token in doc:
        if not _is_thing(token):
            continue
        other = token.head
        joined = token.dep_ == "conj" and other.i in first and _has(other, "cc", "or")
        first[token.i] = first[other.i] if joined else token.i
        groups.setdefault(first[token.i], []).append(_lemma(token))
    return [tuple(dict.fromkeys(group)) for group in groups.values()]


def _tuples(doc: Doc) -> list[Tuple]:
    """Return all tuples of a caption, objects first."""
    things = {token.i: _lemma(token) for token in doc if _is_thing(token)}
    found: list[Tuple] = [(name,) for name in things.values()]
    for token in doc:
        if token.i in things:
            found += _of_noun(token, things)
        if token.pos_ in ("VERB", "AUX") or token.dep_ in _CLAUSES:
            found += _of_verb(token, things)
    return found


def _is_thing(token: Token) -> bool:
    """Return whether a noun names an object of the scene."""
    if token.dep_ in _BEFORE_NOUNS or not any(letter.isalpha() for letter in token.text):
        return False
    if token.tag_ not in _NOUNS:
        return token.tag_ == "JJ" and token.dep_ in _NOUN_PLACES and any(one.dep_ == "det" for one in token.children)
    return not (_is_place(token) or (_has(token, "prep", "of") and _lemma(token) in _QUANTITIES))


def _is_place(token: Token) -> bool:
    return token.dep_ in ("appos", "pobj") and _lemma(token) in _PLACES and _has(token, "prep", "of")


def _has(token: Token, dependency: str, word: str) -> bool:
    return any(child.dep_ == dependency and child.lower_ == word for child in token.children)


def _lemma(token: Token) -> str:
    """Return the lemma of a noun, a verb or an adjective, or the lowercased word otherwise."""
    if token.tag_ in _NOUNS:
        return singular(token.lower_) if token.tag_ in _PLURALS else token.lower_
    if token.pos_ in ("VERB", "AUX"):
        return infinitive(token.lower_)
    return lemma(token.lower_, "adj") if token.pos_ == "ADJ" else token.lower_


def _of_noun(noun: Token, things: dict[int, str]) -> Iterator[Tuple]:
    """Yield the tuples of a noun with its adjectives, numbers, compounds, possessors and prepositions."""
    name = things[noun.i]
    for child in noun.children:
        if child.dep_ == "amod":
            yield from ((name, _lemma(one)) for one in _find_joined(child))
        elif child.dep_ == "nummod" and noun.tag_ in _PLURALS and child.i < noun.i:
            yield name, child.lower_
        elif child.dep_ == "compound":
            # As in SPICE, a "traffic light" is a light of the kind "traffic".
            yield name, _lemma(child)
        elif child.dep_ == "poss" and child.i in things:
            yield things[child.i], "have", name
        elif child.dep_ == "appos" and child.i in things:
            yield name, things[child.i]
        elif child.dep_ == "appos" and _is_place(child):  # "a dog right of a cat"
            yield from ((name, place, other) for place, other in _behind(child, "", things))
    for preposition, other in _prepositions(noun, things):
        yield name, preposition, other


def _of_verb(verb: Token, things: dict[int, str]) -> Iterator[Tuple]:
    subjects = [things[noun.i] for noun in _subjects(verb) if noun.i in things]
    if not subjects:
        return
    passive = any(child.dep_ in ("nsubjpass", "auxpass") for child in verb.children)
    predicate = " ".join([_lemma(verb), *(child.lower_ for child in verb.children if child.dep_ == "prt")])
    is_copula = _lemma(verb) == "be"
    objects = [] if is_copula else _dependents(verb, *_OBJECTS)
    relations = [(predicate, things[noun.i]) for noun in objects if noun.i in things]
    for preposition, other in _prepositions(verb, things):
        relations.append((preposition if is_copula else f"{predicate} {preposition}", other))
    by = [child for child in verb.children if child.dep_ == "agent"]
    agents = [things[noun.i] for child in by for noun in _dependents(child, "pobj") if noun.i in things]
    for subject in subjects:
        yield from ((agent, predicate, subject) for agent in agents)
        yield from ((subject, relation, other) for relation, other in relations)
        yield from ((subject, quality) for quality in _qualities(verb, things))
        if not relations and not agents and not is_copula and verb.dep_ not in ("aux", "auxpass"):
            yield subject, verb.lower_ if passive else predicate


def _subjects(verb: Token) -> list[Token]:
    """Return the subjects of a verb: its nouns, the noun that it modifies, or the subjects of its head verb."""
    own = _dependents(verb, *_SUBJECTS)
    if any(child.tag_ in _RELATIVE for child in own) or (not own and verb.dep_ in _CLAUSES):
        return _find_joined(verb.head) if verb.dep_ in _CLAUSES else []
    if own or verb.head is verb:
        return own
    if verb.dep_ in ("conj", "advcl", "xcomp") and verb.head.pos_ in ("VERB", "AUX"):
        return _subjects(verb.head)
    return _subjects(verb.head) if verb.dep_ == "conj" and verb.head.dep_ in _CLAUSES else []


def _dependents(token: Token, *dependencies: str) -> list[Token]:
    """Return the words that depend on a word, and all words that are joined to them."""
    return [one for child in token.children if child.dep_ in dependencies for one in _find_joined(child)]


def _qualities(verb: Token, things: dict[int, str]) -> Iterator[str]:
    """Yield the predicates after "is", and adjectives after other verbs: "looks happy"."""
    for child in verb.children:
        if child.dep_ in ("acomp", "oprd") and child.tag_ not in _NOUNS:
            yield from (_lemma(one) for one in _find_joined(child))
        elif child.dep_ == "attr" and child.i in things:
            yield things[child.i]


def _prepositions(token: Token, things: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Yield the prepositions that depend on a word, with their nouns: ("in front of", "house")."""
    for child in token.children:
        if child.dep_ == "prep":
            yield from _reach(child, child.lower_, things)


def _reach(preposition: Token, said: str, things: dict[int, str]) -> Iterator[tuple[str, str]]:
    for child in preposition.children:
        if child.dep_ == "pobj":
            if child.i in things:
                yield from ((said, things[one.i]) for one in _find_joined(child) if one.i in things)
            else:
                yield from _behind(child, said, things)
        elif child.dep_ == "prep":
            yield from _reach(child, f"{said} {child.lower_}", things)


def _behind(noun: Token, said: str, things: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Yield the noun after a place or a quantity: "in front of a house", "with a lot of dogs"."""
    for child in noun.children:
        if child.dep_ == "prep" and child.lower_ == "of":
            words = said if _lemma(noun) in _QUANTITIES else f"{said} {noun.lower_} of".strip()
            yield from _reach(child, words, things)


def _find_joined(token: Token) -> list[Token]:
    """Return a word and all words that are joined to it by "and" or a comma."""
    found = [token]
    for child in token.children:
        if child.dep_ == "conj":
            found += _find_joined(child)
    return found
