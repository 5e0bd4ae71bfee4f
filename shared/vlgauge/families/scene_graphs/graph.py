"""Scene graph of a caption: its objects, their attributes, and the relations between them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from vlgauge.core.errors import UsageError, UsageTypeError

Tuple: TypeAlias = tuple[str, ...]
"""(object), (object, attribute) or (subject, relation, object)."""

# Maximum number of tuples of a supplied graph. No caption has that many.
MOST_TUPLES = 10_000
# "( dog , is , brown ) , ( dog , chase , cat )": the format of parsers that write text.
_FACT = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True)
class Graph:
    """Distinct objects, attributes and relations, in the order in which they were found.

    Attributes:
        objects: Lowercased words or compounds.
        attributes: Pairs of object and attribute.
        relations: Triples of subject, relation and object.
    """

    objects: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of(cls, tuples: Iterable[Tuple]) -> "Graph":
        """Build a graph from tuples of one, two or three parts. Objects of longer tuples are added to the objects.

        Args:
            tuples: Tuples in any order. A tuple with an empty part is left out.
        """
        objects: dict[str, None] = {}
        attributes: dict[tuple[str, str], None] = {}
        relations: dict[tuple[str, str, str], None] = {}
        for parts in tuples:
            words = tuple(" ".join(part.lower().split()) for part in parts)
            if not all(words):
                continue
            objects[words[0]] = None
            if len(words) == 2:
                attributes[words[0], words[1]] = None
            elif len(words) == 3:
                objects[words[2]] = None
                relations[words[0], words[1], words[2]] = None
        return cls(tuple(objects), tuple(attributes), tuple(relations))

    @property
    def tuples(self) -> tuple[Tuple, ...]:
        """All tuples: objects, then attributes, then relations."""
        return (*((name,) for name in self.objects), *self.attributes, *self.relations)

    def __bool__(self) -> bool:
        return bool(self.objects)


def merge_graphs(graphs: Iterable[Graph]) -> Graph:
    """Merge several graphs into one without duplicates."""
    return Graph.of(one for graph in graphs for one in graph.tuples)


def convert_graph(value: Any, name: str) -> Graph:
    """Convert a graph supplied by the caller.

    Args:
        value: A `Graph`, a dictionary with "objects" and optionally "attributes" and "relations", a list of lists of
            one to three words, or text such as "( dog , is , brown ) , ( dog , chase , cat )".
        name: Position of the graph in the input, for error messages.

    Raises:
        TypeError: If `value` has another type.
        ValueError: If a tuple has no parts or more than three, a part is empty, a relation or attribute refers to an
            object that is not in the dictionary, an object occurs twice in the dictionary, or there are more than
            10,000 tuples.
    """
    if isinstance(value, Graph):
        value = {"objects": value.objects, "attributes": value.attributes, "relations": value.relations}
    if isinstance(value, str):
        tuples = _facts(value, name)
    elif isinstance(value, Mapping):
        tuples = _parts(value, name)
    elif isinstance(value, (list, tuple)):
        tuples = [_check_tuple(parts, (1, 2, 3), f"{name}[{index}]") for index, parts in enumerate(value)]
    else:
        raise UsageTypeError.about(
            name,
            f"must be a graph: a dictionary of objects, attributes and relations, a list of lists of words, "
            f"or text such as '( dog , is , brown )', got {type(value).__name__}",
        )
    if len(tuples) > MOST_TUPLES:
        raise UsageError.about(
            name, f"must have at most {MOST_TUPLES} tuples, got {len(tuples)}; pass the graph of one caption"
        )
    return Graph.of(tuples)


def _parts(value: Mapping[str, Any], name: str) -> list[Tuple]:
    """Return the tuples of a dictionary, whose objects must be complete."""
    if unknown := sorted(set(map(str, value)) - {"objects", "attributes", "relations"}):
        raise UsageError.about(
            name, f"must have only the keys objects, attributes and relations, got {', '.join(unknown)}"
        )
    lists = {key: value.get(key) or () for key in ("objects", "attributes", "relations")}
    for key, items in lists.items():
        if isinstance(items, str) or not isinstance(items, Sequence):
            raise UsageTypeError.about(f"{name}[{key!r}]", f"must be a list, got {type(items).__name__}")
    objects = [_check_tuple([item], (1,), f"{name}['objects'][{index}]") for index, item in enumerate(lists["objects"])]
    known = {parts[0] for parts in objects}
    if twice := next((parts[0] for index, parts in enumerate(objects) if parts in objects[:index]), None):
        raise UsageError(
            f"`{name}['objects']` must contain each object once, got {twice!r} twice; express its number as an "
            "attribute"
        )
    tuples = list(objects)
    for key, length in (("attributes", 2), ("relations", 3)):
        for index, item in enumerate(lists[key]):
            parts = _check_tuple(item, (length,), f"{name}[{key!r}][{index}]")
            if missing := [word for word in parts[:: length - 1][: length - 1] if word not in known]:
                raise UsageError.about(
                    f"{name}[{key!r}][{index}]",
                    f"must refer to objects of the graph, got {missing[0]!r}, which is not in `{name}['objects']`",
                    "add it there",
                )
            tuples.append(parts)
    return tuples


def _check_tuple(parts: Any, lengths: Sequence[int], name: str) -> Tuple:
    if isinstance(parts, str) or not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        raise UsageTypeError.about(name, f"must be a list of words, got {parts!r:.60}")
    if len(parts) not in lengths:
        expected = " to ".join(map(str, sorted({lengths[0], lengths[-1]})))
        raise UsageError.about(name, f"must have {expected} parts, got {len(parts)}")
    words = tuple(" ".join(part.lower().split()) for part in parts)
    if not all(words):
        raise UsageError.about(name, f"must not have empty parts, got {list(parts)!r}")
    return words


def _facts(text: str, name: str) -> list[Tuple]:
    tuples = facts_in(text)
    # The output of a model may end early, but a supplied graph must be valid up to the last character.
    said = [fact for fact in _FACT.findall(text) if fact.strip(" ,")]
    if _FACT.sub("", text).strip(" ,\t\n") or len(tuples) < len(said):
        raise UsageError.about(name, f"must be a graph such as '( dog , is , brown )', got {text!r:.60}")
    return tuples


def facts_in(text: str) -> list[Tuple]:
    """Parse tuples in the format that parsers write. "is" as the middle part of three indicates an attribute.

    A relation of several words may be split by commas: all parts between the first and the last form the relation. Text
    without brackets, and tuples with an empty part, are left out.
    """
    tuples = []
    for fact in _FACT.findall(text):
        parts = [" ".join(part.lower().split()) for part in fact.split(",")]
        if not all(parts):
            continue
        if len(parts) == 3 and parts[1] == "is":
            parts = [parts[0], parts[2]]
        tuples.append((*parts[:1], " ".join(parts[1:-1]), parts[-1]) if len(parts) > 2 else tuple(parts))
    return tuples
