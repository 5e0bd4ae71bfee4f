"""Abstract-50S (Vedantam et al., 2015): Pascal-50S with clip-art images of two children, 400 pairs.

The authors published no script. The reader uses ``consensus_abstract.mat`` from the CIDEr website (see
`vlgauge.research.protocols.voted`) and, for images, its ``abstract50S.mat``, whose variable ``abs_sent`` contains
structures of the 50 sentences of an image and its URL. The votes do not name the image. It is identified as the image
whose sentences include most of the 48 references of the pair.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vlgauge.core.errors import UsageError
from vlgauge.inputs.tables.matlab import members, read_matlab, text_of
from vlgauge.research.protocols.files import FilePath, Folder, find_named_files
from vlgauge.research.protocols.pairs import CaptionPairs, Ties
from vlgauge.research.protocols.voted import Draws, Rules, VotedPair, build_voted_task, read_votes

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
    """Read Abstract-50S with the rules of `read_pascal50s` and a single kind of pairs.

    Images are named by the end of their URL.

    Raises:
        ValueError: If a file is missing or has another layout, or a rule is not valid.
        OSError: If a file cannot be read.
    """
    rules = Rules(references, draws, Ties(vote_ties, score_ties, seed))
    paths = find_named_files(files, [VOTES_FILE], optional=[SENTENCES_FILE])
    pairs = read_votes(paths[VOTES_FILE])
    if SENTENCES_FILE not in paths:
        return build_voted_task("abstract50s", pairs, rules)
    names = _images(pairs, paths[SENTENCES_FILE])
    named = [replace(pair, image=name) for pair, name in zip(pairs, names, strict=True)]
    return build_voted_task("abstract50s", named, rules, Folder(images, paths[SENTENCES_FILE]))


def _images(pairs: Sequence[VotedPair], path: Path) -> list[str]:
    owners: dict[str, set[str]] = {}
    for number, item in enumerate(read_matlab(path, ["abs_sent"])["abs_sent"]):
        place, fields = f"image {number} of `{path}`", members(item)
        if len(fields) != 2:
            raise UsageError(f"{place} must have sentences and a URL, got {len(fields)} fields")
        name = text_of(fields[1], place)
        for sentence in members(fields[0]):
            owners.setdefault(text_of(sentence, place), set()).add(name)
    found = []
    for number, pair in enumerate(pairs):
        counts = Counter(name for text in set(pair.references) for name in owners.get(text, ()))
        (name, count), *_ = counts.most_common(1) or [("", 0)]
        if 2 * count <= len(set(pair.references)):
            raise UsageError.about(
                str(path), f"must have an image with most references of pair {number}, got at most {count}"
            )
        found.append(name)
    return found
