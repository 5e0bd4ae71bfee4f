"""Abstract-50S (Vedantam et al., 2015): Pascal-50S with drawn pictures of two children, 400 pairs.

No script was published. Read are ``consensus_abstract.mat`` of CIDEr's site (see `vlgauge.studies.protocols.voted`)
and, to look at pictures, its ``abstract50S.mat``: variable ``abs_sent``, structures of the 50 sentences of a picture
and its address. The votes do not name the picture: it is the one whose sentences have most of the 48 references of the
pair.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from vlgauge.errors import UsageError
from vlgauge.studies.protocols.files import FilePath, Folder, named_files
from vlgauge.studies.protocols.matlab import members, read_matlab, text_of
from vlgauge.studies.protocols.pairs import CaptionPairs, Ties
from vlgauge.studies.protocols.voted import Draws, Rules, VotedPair, read_votes, voted_task

VOTES_FILE, SENTENCES_FILE = "consensus_abstract.mat", "abstract50S.mat"


def read_abstract50s(
    files: Sequence[FilePath],
    *,
    images: FilePath | None = None,
    references: int | None = 5,
    draws: Draws = 5,
    vote_ties: str = "half",
    score_ties: str = "wrong",
    seed: int = 0,
) -> CaptionPairs:
    """Abstract-50S by the rules of `read_pascal50s`, as one kind of pairs; a picture is called as its address ends."""
    rules = Rules(references, draws, Ties(vote_ties, score_ties, seed))
    paths = named_files(files, [VOTES_FILE], optional=[SENTENCES_FILE])
    pairs = read_votes(paths[VOTES_FILE])
    kinds = ["pairs"] * len(pairs)
    if SENTENCES_FILE not in paths:
        # Pairs of one picture share its references, which tell pictures apart as well as a name would.
        groups = ["\n".join(sorted(pair.references)) for pair in pairs]
        return voted_task("abstract50s", pairs, [], groups, kinds, rules)
    names = _pictures(pairs, paths[SENTENCES_FILE])
    folder = Folder(images, paths[SENTENCES_FILE])
    return voted_task("abstract50s", pairs, [folder.image(name) for name in names], names, kinds, rules)


def _pictures(pairs: Sequence[VotedPair], path: Path) -> list[str]:
    owners: dict[str, set[str]] = {}
    for number, item in enumerate(read_matlab(path, ["abs_sent"])["abs_sent"]):
        place, fields = f"picture {number} of `{path}`", members(item)
        if len(fields) != 2:
            raise UsageError(f"{place} must have sentences and an address, got {len(fields)} fields")
        name = text_of(fields[1], place)
        for sentence in members(fields[0]):
            owners.setdefault(text_of(sentence, place), set()).add(name)
    found = []
    for number, pair in enumerate(pairs):
        counts = Counter(name for text in set(pair.references) for name in owners.get(text, ()))
        (name, count), *_ = counts.most_common(1) or [("", 0)]
        if 2 * count <= len(set(pair.references)):
            raise UsageError(
                f"`{path}` must have a picture with most references of pair {number}, got one with {count} at best"
            )
        found.append(name)
    return found
