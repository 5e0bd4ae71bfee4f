"""Trees of Universal Dependencies rebuilt in the style of spaCy's English pipelines, so that its noun chunks apply.

Prepositions and copulas head their phrases there, as in the ClearNLP style; `noun_chunks` takes the span from the left
edge of a nominal to itself. Renaming labels is not enough: "in the house" would be one chunk.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NOMINAL = frozenset({"NOUN", "PROPN", "PRON", "NUM", "SYM", "X"})
# What stays with a nominal that was a predicate; everything else was said about the clause and goes to the copula.
WITHIN_NOMINAL = frozenset(
    {"acl", "amod", "appos", "case", "cc:preconj", "compound", "det", "fixed", "flat", "goeswith", "nmod", "nummod"}
)
RENAMED = {
    "acl:relcl": "relcl",
    "advcl:relcl": "advcl",
    "aux:pass": "auxpass",
    "cc:preconj": "preconj",
    "compound:prt": "prt",
    "csubj:outer": "csubj",
    "csubj:pass": "csubjpass",
    "det:predet": "predet",
    "discourse": "intj",
    "dislocated": "dep",
    "fixed": "prep",
    "flat": "compound",
    "goeswith": "dep",
    "iobj": "dative",
    "list": "dep",
    "nmod:poss": "poss",
    "nmod:unmarked": "nmod",
    "nsubj:outer": "nsubj",
    "nsubj:pass": "nsubjpass",
    "obj": "dobj",
    "obl": "npadvmod",
    "obl:agent": "npadvmod",
    "obl:unmarked": "npadvmod",
    "orphan": "dep",
    "reparandum": "dep",
    "root": "ROOT",
    "vocative": "npadvmod",
}


@dataclass
class Tree:
    """One sentence; all lists have one entry per token.

    Attributes:
        words: The forms.
        spaces: Whether a space follows.
        tags: Tags of the Penn Treebank.
        parts: Universal parts of speech.
        heads: Position of the head; that of the root is its own.
        labels: Labels of the arcs.
    """

    words: list[str]
    spaces: list[bool]
    tags: list[str]
    parts: list[str]
    heads: list[int]
    labels: list[str]

    def children(self, head: int) -> list[int]:
        """Dependents of a token, from left to right."""
        return [i for i, above in enumerate(self.heads) if above == head and i != head]

    def attach(self, token: int, head: int, label: str | None = None) -> None:
        """Give a token another head, and perhaps another label."""
        self.heads[token] = head
        self.labels[token] = label or self.labels[token]

    def replace(self, old: int, new: int) -> None:
        """Let one token take the place of another, which is left hanging from it."""
        self.heads[new] = new if self.heads[old] == old else self.heads[old]
        self.labels[new] = self.labels[old]
        self.heads[old] = new


def read_trees(path: Path) -> Iterator[Tree]:
    """Trees of a CoNLL-U file, perhaps packed by gzip; empty nodes are left out.

    A word that the treebank parts ("didn't") becomes the syntactic words, without a space between them.
    """
    for block in read_text(path).split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        if rows:
            yield _tree(rows)


def read_text(path: Path) -> str:
    """The text of a file that may be packed by gzip."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


def _tree(rows: list[list[str]]) -> Tree:
    tokens = [row for row in rows if row[0].isdigit()]
    # The space behind a parted word is told in the row of the whole.
    glued = {int(row[0]) for row in tokens if "SpaceAfter=No" in row[9]}
    for row in (row for row in rows if "-" in row[0]):
        first, last = (int(number) for number in row[0].split("-"))
        glued.update(range(first, last))
        glued.update({last} if "SpaceAfter=No" in row[9] else ())
    return Tree(
        words=[row[1] for row in tokens],
        spaces=[int(row[0]) not in glued for row in tokens],
        tags=[row[4] for row in tokens],
        parts=[row[3] for row in tokens],
        heads=[int(row[6]) - 1 if row[6] != "0" else i for i, row in enumerate(tokens)],
        labels=[row[7] for row in tokens],
    )


def rebuilt(tree: Tree) -> Tree:
    """The tree in spaCy's style; a new one, the given one stays as it is."""
    tree = Tree(tree.words, tree.spaces, tree.tags, tree.parts, list(tree.heads), list(tree.labels))
    steps: tuple[Callable[[Tree], None], ...] = (
        raise_copulas,
        raise_last_names,
        raise_prepositions,
        lift_coordinators,
        lift_opening_punctuation,
    )
    for step in steps:
        step(tree)
    tree.labels = [_renamed(tree, i) for i in range(len(tree.words))]
    return tree


def raise_copulas(tree: Tree) -> None:
    """`cop` takes the place of its predicate, which becomes its attr, acomp, ccomp or advmod."""
    for copula in [i for i, label in enumerate(tree.labels) if label == "cop"]:
        predicate = tree.heads[copula]
        if tree.labels[copula] != "cop":
            continue
        moved = _said_of_clause(tree, predicate, copula)
        tree.replace(predicate, copula)
        tree.labels[predicate] = _predicate_label(tree, predicate)
        for child in moved:
            tree.attach(child, copula)
        for other in tree.children(predicate):  # a second copula, as in "may be or is"
            if tree.labels[other] == "cop":
                tree.attach(other, copula, "aux")


def _predicate_label(tree: Tree, predicate: int) -> str:
    part = tree.parts[predicate]
    if any(tree.labels[child] == "case" and child < predicate for child in tree.children(predicate)):
        return "obl"
    if part in NOMINAL:
        return "attr"
    return {"ADJ": "acomp", "ADV": "advmod"}.get(part, "ccomp")


def _said_of_clause(tree: Tree, predicate: int, copula: int) -> list[int]:
    """Dependents of a predicate that go to its copula, chosen from the outside in, so that no arcs cross."""
    children = [child for child in tree.children(predicate) if child != copula]
    before = [child for child in children if child < min(predicate, copula)]
    between = [child for child in children if min(predicate, copula) < child < max(predicate, copula)]
    after = [child for child in children if child > max(predicate, copula)]
    if copula < predicate:  # everything before the copula goes, lest its arc to the predicate crosses the new ones
        near, far = _outer(tree, predicate, between), before
        return [*far, *near, *_outer(tree, predicate, after[::-1])]
    return [*_outer(tree, predicate, before), *_outer(tree, predicate, between[::-1]), *after]


def _outer(tree: Tree, predicate: int, from_outside: list[int]) -> list[int]:
    moved = []
    for child in from_outside:
        if _stays(tree, predicate, child):
            break
        moved.append(child)
    return moved


def _stays(tree: Tree, predicate: int, child: int) -> bool:
    """Whether a dependent belongs to the predicate itself and not to its clause."""
    label = tree.labels[child].partition(":")[0]
    if label in WITHIN_NOMINAL or tree.labels[child] == "cc:preconj":
        return True
    nominal = tree.parts[predicate] in NOMINAL
    if label == "advmod":
        return not nominal and tree.tags[child] in ("RB", "RBR", "RBS") and _is_degree(tree, predicate, child)
    if label in ("obl", "xcomp", "ccomp", "advcl"):  # "afraid of dogs", "ready to go"
        return not nominal and child > predicate
    if label == "conj":  # "tall and strong", but "is tall and runs"
        return not any(tree.labels[x].startswith(("nsubj", "cop", "aux")) for x in tree.children(child)) and (
            tree.parts[child] not in ("VERB", "AUX")
        )
    return label in ("cc", "dep")


def _is_degree(tree: Tree, predicate: int, adverb: int) -> bool:
    return adverb == predicate - 1 and tree.words[adverb].lower() not in ("not", "n't", "never", "always", "also")


def raise_last_names(tree: Tree) -> None:
    """The last part of a `flat` name becomes the head, the others are compounds of it."""
    for first in range(len(tree.words)):
        parts = [child for child in tree.children(first) if tree.labels[child] == "flat" and child > first]
        if not parts or tree.parts[parts[-1]] not in ("NOUN", "PROPN"):
            continue
        last = parts[-1]
        others = [child for child in tree.children(first) if child not in parts]
        tree.replace(first, last)
        tree.labels[first] = "flat"
        for child in [*parts[:-1], *others]:
            tree.attach(child, last)


def raise_prepositions(tree: Tree) -> None:
    """`case` before its noun takes the noun's head, and the noun becomes its object."""
    for preposition in [i for i, label in enumerate(tree.labels) if label == "case"]:
        noun = tree.heads[preposition]
        if preposition > noun:
            if tree.tags[preposition] != "POS":  # "which I spoke of": only the label of the noun changes
                tree.labels[noun] = "pobj" if tree.labels[noun].startswith(("obl", "nmod")) else tree.labels[noun]
                tree.labels[preposition] = "prep"
            continue
        before = [child for child in tree.children(noun) if child < preposition]
        label = tree.labels[noun]
        tree.replace(noun, preposition)
        tree.labels[noun] = "pobj" if tree.parts[noun] in NOMINAL | {"ADJ", "DET", "ADP"} else "pcomp"
        if label.startswith(("obl", "nmod", "acl", "advcl", "pobj", "xcomp")):
            tree.labels[preposition] = "agent" if label == "obl:agent" else "prep"
        for child in before:
            tree.attach(child, preposition)


def lift_coordinators(tree: Tree) -> None:
    """`cc` and punctuation before a conjunct attach to the first conjunct."""
    for conjunct in [i for i, label in enumerate(tree.labels) if label == "conj"]:
        for child in tree.children(conjunct):
            if child < conjunct and tree.labels[child] in ("cc", "punct"):
                tree.attach(child, tree.heads[conjunct])


def lift_opening_punctuation(tree: Tree) -> None:
    """Punctuation at the left edge of a nominal attaches to that nominal's head, again and again."""
    for token in range(len(tree.words)):
        while tree.labels[token] == "punct":
            noun = tree.heads[token]
            first = tree.children(noun)[0] == token and token < noun
            if not first or tree.parts[noun] not in NOMINAL or tree.heads[noun] == noun:
                break
            tree.attach(token, tree.heads[noun])


def _renamed(tree: Tree, token: int) -> str:
    label = tree.labels[token]
    if label == "xcomp" and not any(tree.labels[child] == "mark" for child in tree.children(token)):
        # "became a teacher", "look good"; other labels of these are not among those of noun chunks
        label = {"NOUN": "attr", "PROPN": "attr", "PRON": "attr", "ADJ": "acomp"}.get(tree.parts[token], label)
    if label == "expl" and tree.words[token].lower() != "there":
        return "nsubj"
    if label == "nmod:desc":
        return "compound" if token < tree.heads[token] else "nmod"
    return RENAMED.get(label, label)


def find_split(folder: Path, split: str) -> list[Tree]:
    """The rebuilt trees of one split.

    Raises:
        FileNotFoundError: If the folder does not have it.
    """
    for name in (f"{split}.conllu", f"{split}.conllu.gz", f"en_ewt-ud-{split}.conllu"):
        if (folder / name).is_file():
            return [rebuilt(tree) for tree in read_trees(folder / name)]
    raise FileNotFoundError(f"`folder` must hold {split}.conllu of UD English EWT, got {str(folder)!r}")
