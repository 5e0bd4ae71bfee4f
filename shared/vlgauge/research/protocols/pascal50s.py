"""Pascal-50S (Vedantam et al., 2015): pairs of captions of an image, with votes for the better one.

The reader uses ``consensus_pascal.mat`` (see `vlgauge.research.protocols.voted`) and ``pair_pascal.mat`` from the CIDEr
website. The latter has the variables ``new_input``, structures of an image and two captions, and ``category``, 1 to 4.
Alternatively, it uses ``pascal_50s.json`` of FLEUR's code, ``{kind: [{"image", "captions": [2], "label", "references":
[5]}]}``.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vlgauge.core.errors import UsageError
from vlgauge.inputs.tables.matlab import members, number_of, read_matlab, text_of
from vlgauge.research.protocols.files import FilePath, Folder, entry, find_named_files, read_json, texts
from vlgauge.research.protocols.pairs import CaptionPairs, Ties
from vlgauge.research.protocols.voted import Draws, Rules, VotedPair, build_voted_task, read_votes

PAIRS_FILE, VOTES_FILE = "pair_pascal.mat", "consensus_pascal.mat"
KINDS = {1: "HC", 2: "HI", 3: "HM", 4: "MM"}
DRAWS = 5


def read_pascal50s(
    files: Sequence[FilePath],
    *,
    images: FilePath | None = None,
    references: int | None = 5,
    draws: Draws | None = None,
    vote_ties: str = "half",
    score_ties: str = "wrong",
    seed: int = 0,
) -> CaptionPairs:
    """Read Pascal-50S: 1,000 pairs each of the kinds HC, HI, HM and MM.

    Accuracy is the mean over five draws of five of the 48 references. A single draw is used without references. Equal
    numbers of votes count half for each caption (the expected value of the random choice in the authors' code). Equal
    scores are wrong.

    Args:
        files: ``pair_pascal.mat`` and ``consensus_pascal.mat``, a folder with them, or FLEUR's ``pascal_50s.json``,
            which contains fixed references and labels.
        images: Folder of the images.
        references: Number of references per row. None for all, 0 for none.
        draws: Number of random draws of the references. None for 5. "fixed" for the first ones, as for FLEUR's file.
        vote_ties: "half" or "random".
        score_ties: "wrong", "half", or "second" for a decision for the second caption, as in one published script.
        seed: Seed of the draws and of random choices.

    Raises:
        ValueError: If a file is missing or has another layout, or a rule is not valid.
        OSError: If a file cannot be read.
    """
    if len(files) == 1 and Path(files[0]).suffix.lower() == ".json":
        if draws not in (None, "fixed"):
            raise UsageError.about("draws", f"is not supported for a file with selected references, got {draws!r}")
        rules = Rules(references, "fixed", Ties(vote_ties, score_ties, seed))
        pairs = _fleur(Path(files[0]))
    else:
        rules = Rules(references, DRAWS if draws is None else draws, Ties(vote_ties, score_ties, seed))
        paths = find_named_files(files, [PAIRS_FILE, VOTES_FILE])
        pairs = _read_published(paths[PAIRS_FILE], paths[VOTES_FILE])
    folder = Folder(images, Path(files[0]) / PAIRS_FILE if Path(files[0]).is_dir() else Path(files[0]))
    return build_voted_task("pascal50s", pairs, rules, folder)


def _read_published(pairs_path: Path, votes_path: Path) -> list[VotedPair]:
    read = read_matlab(pairs_path, ["new_input", "category"])
    voted = read_votes(votes_path)
    if not len(read["new_input"]) == len(read["category"]) == len(voted):
        counts = f"{len(read['new_input'])}, {len(read['category'])} and {len(voted)}"
        raise UsageError(f"`{pairs_path}` and `{votes_path}` must have the same pairs and kinds, got {counts}")
    pairs = []
    for number, (item, category, pair) in enumerate(zip(read["new_input"], read["category"], voted, strict=True)):
        place = f"pair {number} of `{pairs_path}`"
        fields = members(item)
        if len(fields) != 3:
            raise UsageError(f"{place} must have image and two captions, got {len(fields)} fields")
        name, first, second = (text_of(field, place) for field in fields)
        kind = KINDS.get(int(number_of(category, place)))
        if kind is None:
            raise UsageError(f"{place} must have a category from 1 to 4, got {category}")
        pairs.append(replace(_in_order(pair, (first, second), place), kind=kind, image=name))
    return pairs


def _in_order(pair: VotedPair, captions: tuple[str, str], place: str) -> VotedPair:
    if pair.captions == captions:
        return pair
    if pair.captions != captions[::-1]:
        raise UsageError(f"{place} must have the captions of the votes, got {captions} and {pair.captions}")
    return replace(pair, captions=captions, votes=(pair.votes[1], pair.votes[0]))


def _fleur(path: Path) -> list[VotedPair]:
    pairs = []
    content = read_json(path)
    for kind in sorted(content, key=lambda kind: [*KINDS.values(), kind].index(kind)):
        for number, record in enumerate(entry(content, kind, list, f"`{path}`")):
            place = f"{kind!r}[{number}] of `{path}`"
            label = entry(record, "label", int, place)
            captions = texts(entry(record, "captions", list, place), f"'captions' of {place}")
            if label not in (0, 1) or len(captions) != 2:
                raise UsageError(f"{place} must have two captions and label 0 or 1, got {len(captions)} and {label}")
            known = texts(record.get("references", []), f"'references' of {place}")
            image = entry(record, "image", str, place)
            pairs.append(VotedPair((captions[0], captions[1]), (1 - label, label), known, kind, image))
    return pairs
