"""Pairs of captions with 48 votes, each cast by an annotator who saw a different reference (Vedantam et al., 2015)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import plain_number
from vlgauge.inputs.tables.matlab import members, number_of, read_matlab, text_of
from vlgauge.research.protocols.files import Folder, columns_of
from vlgauge.research.protocols.pairs import CaptionPairs, Ties

N_VOTES = 48

Draws = int | Literal["fixed"]
"""Number of random draws of references, or "fixed" for the first ones in the file."""


@dataclass(frozen=True)
class VotedPair:
    """Two captions of an image.

    Attributes:
        captions: The captions.
        votes: Number of votes for each caption.
        references: References that the annotators saw.
        kind: Kind of the pair, such as "HC".
        image: Name of the image. Empty if it is unknown.
    """

    captions: tuple[str, str]
    votes: tuple[int, int]
    references: list[str]
    kind: str = "pairs"
    image: str = ""

    @property
    def group(self) -> str:
        """Name of the image or, if it is unknown, its references, which all pairs of an image share."""
        return self.image or "\n".join(sorted(self.references))


@dataclass(frozen=True)
class Rules:
    """Selection of references and treatment of ties.

    Attributes:
        references: Number of references per row. None for all, 0 for none.
        draws: Number of random draws of the references, or "fixed" for the first ones.
        ties: Treatment of ties. Its seed is also used for the draws.
    """

    references: int | None
    draws: Draws
    ties: Ties

    def __post_init__(self) -> None:
        if self.draws != "fixed" and (not isinstance(plain_number(self.draws), int) or self.draws < 1):
            raise UsageError.about(
                "draws", f"must be at least 1, or 'fixed' for the first references, got {self.draws!r}"
            )


def read_votes(path: Path) -> list[VotedPair]:
    """Read the pairs of a file ``consensus_*.mat``.

    Its variable ``triplets`` has structures of a reference, caption B, caption C, and 1 for B or -1 for C. The 48 votes
    of a pair are consecutive.

    Raises:
        ValueError: If the number of votes is not a multiple of 48, or the file is not valid.
        OSError: If the file cannot be read.
    """
    triplets = read_matlab(path, ["triplets"])["triplets"]
    if not len(triplets) or len(triplets) % N_VOTES:
        raise UsageError.about(str(path), f"must have {N_VOTES} votes for each pair, got {len(triplets)} votes")
    starts = range(0, len(triplets), N_VOTES)
    return [_build_pair(triplets[start : start + N_VOTES], f"pair {start // N_VOTES} of `{path}`") for start in starts]


def _build_pair(triplets: Iterable[object], place: str) -> VotedPair:
    references, captions, votes = [], set(), {1.0: 0, -1.0: 0}
    for triplet in triplets:
        fields = members(triplet)
        if len(fields) != 4:
            raise UsageError(f"{place} must have reference, two captions and a vote, got {len(fields)} fields")
        reference, b, c = (text_of(field, place) for field in fields[:3])
        vote = number_of(fields[3], place)
        if vote not in votes:
            raise UsageError(f"{place} must have 1 or -1 as vote, got {vote:g}")
        references.append(reference)
        captions.add((b, c))
        votes[vote] += 1
    if len(captions) != 1:
        raise UsageError(
            f"{place} must have the same two captions in its {N_VOTES} votes, got {len(captions)} pairs of captions"
        )
    return VotedPair(captions.pop(), (votes[1.0], votes[-1.0]), references)


def build_voted_task(name: str, pairs: Sequence[VotedPair], rules: Rules, folder: Folder | None = None) -> CaptionPairs:
    """Build the task of the pairs, with the references of every draw. Without a folder, it has no images."""
    drawn = _draws(pairs, rules)
    predictions = [caption for pair in pairs for caption in pair.captions] * len(drawn)
    images = [] if folder is None else [folder.image(pair.image) for pair in pairs for _ in range(2)]
    seen = {"images": images * len(drawn)} if images else {}
    known = [row for draw in drawn for row in draw for _ in range(2)]
    columns = columns_of(predictions, known, rules.references, **seen)
    votes = np.array([pair.votes for pair in pairs], dtype=np.int64).reshape(-1, 2)
    is_random = len(drawn) > 1 or rules.ties.votes == "random"
    fields = {
        "references": "all" if rules.references is None else rules.references,
        "draws": rules.draws if rules.references else "fixed",
        "votes": rules.ties.votes,
        "ties": rules.ties.scores,
        **({"choice_seed": rules.ties.seed} if is_random else {}),
    }
    groups, kinds = [pair.group for pair in pairs], [pair.kind for pair in pairs]
    return CaptionPairs(name, columns, groups, fields, votes, kinds, draws=len(drawn), ties=rules.ties)


def _draws(pairs: Sequence[VotedPair], rules: Rules) -> list[list[list[str]]]:
    if not rules.references or rules.draws == "fixed":
        return [[pair.references for pair in pairs]]
    for number, pair in enumerate(pairs):
        if rules.references > len(pair.references):
            n = len(pair.references)
            raise UsageError.about(
                "references", f"must be at most {n}, as many as pair {number} has, got {rules.references}"
            )
    rng = np.random.default_rng(rules.ties.seed)
    return [
        [[pair.references[i] for i in rng.permutation(len(pair.references))[: rules.references]] for pair in pairs]
        for _ in range(rules.draws)
    ]
