"""Time METEOR between generated captions against NLTK, and compare the scores.

Both sides run in this process in turns, with warm caches, on the same captions. NLTK needs WordNet: a temporary folder
is made from DIR for it, which holds the files of Debian's package wordnet-base. Where they are missing, a plain loop
takes NLTK's place.
"""

import argparse
import itertools
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vlgauge.distances.meteor import Floats, meteor_matrices
from vlgauge.distances.wordnet import synonyms
from vlgauge.text.porter import porter_stem

Caption = list[str]
PairScore = Callable[[Caption, Caption], float]

TOLERANCE = 1e-12
WORDNET = Path("/usr/share/wordnet")

# Words with stems and synonyms in common, as captions of one picture have.
PEOPLE = "man|woman|person|boy|little boy|young girl|child|group of people|two men|several women|skateboarder|rider"
DOING = "riding|rides|standing on|sitting on|sits near|holding|looking at|watching|is pulling|carries|walks beside"
THINGS = "bike|bicycle|motorcycle|horse|couch|sofa|large dog|dogs|car|truck|red automobile|skateboard|boat|wooden bench"
PLACES = "down the street|on a road|in the park|at the beach|near the ocean|in a big field|by some trees|in the snow"
ARTICLES = ("a", "the", "one")
EXTRAS = "|at night|in the background|while others watch|wearing a hat|next to a building|with his friends"


def generated_captions(n_examples: int, n_captions: int, seed: int = 0) -> list[list[Caption]]:
    """Tokens of captions; within an example they share some of their parts."""
    rng = random.Random(seed)

    def caption(parts: list[list[str]]) -> Caption:
        who, does, what, where, extra = map(rng.choice, parts)
        return f"{rng.choice(ARTICLES)} {who} {does} {rng.choice(ARTICLES)} {what} {where} {extra}".split()

    examples = []
    for _ in range(n_examples):
        parts = [rng.sample(options.split("|"), 4) for options in (PEOPLE, DOING, THINGS, PLACES, EXTRAS)]
        examples.append([caption(parts) for _ in range(n_captions)])
    return examples


def plain_meteor(reference: Caption, hypothesis: Caption) -> float:
    """METEOR by the definition: three stages over the tokens that are left, then the runs of matches."""
    here = list(enumerate(hypothesis))
    there = list(enumerate(reference))
    matches = []

    def match(alike: Callable[[str, str], bool]) -> None:
        for mine in here[::-1]:
            for theirs in there[::-1]:
                if alike(mine[1], theirs[1]):
                    matches.append((mine[0], theirs[0]))
                    here.remove(mine)
                    there.remove(theirs)
                    break

    match(lambda mine, theirs: mine == theirs)
    here[:] = [(i, porter_stem(token)) for i, token in here]
    there[:] = [(i, porter_stem(token)) for i, token in there]
    match(lambda mine, theirs: mine == theirs)
    match(lambda mine, theirs: theirs in synonyms(mine))
    if not matches:
        return 0.0
    matches.sort()
    chunks = 1
    for (a, b), (c, d) in itertools.pairwise(matches):
        chunks += (c, d) != (a + 1, b + 1)
    precision, recall = len(matches) / len(hypothesis), len(matches) / len(reference)
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    return mean * (1 - 0.5 * (chunks / len(matches)) ** 3)


def nltk_folder(wordnet: Path, target: Path) -> Path:
    """Make a data folder for NLTK out of the files of WordNet.

    Two files that NLTK opens and Debian leaves out are not needed for synonyms: the list of 45 lexicographer files gets
    made-up names, the index of senses stays empty.
    """
    corpus = target / "corpora" / "wordnet"
    corpus.mkdir(parents=True)
    for pattern in ("index.*", "data.*", "*.exc"):
        for path in wordnet.glob(pattern):
            shutil.copy(path, corpus)
    (corpus / "lexnames").write_text("".join(f"{number:02} file{number} 1\n" for number in range(45)))
    (corpus / "index.sense").touch()
    return target


def nltk_meteor(folder: Path) -> PairScore:
    """METEOR of NLTK with the data in a folder, loaded."""
    import nltk.data
    from nltk.corpus import wordnet
    from nltk.translate.meteor_score import single_meteor_score

    nltk.data.path.insert(0, str(folder))
    wordnet.ensure_loaded()
    return single_meteor_score


def our_distances(examples: list[list[Caption]]) -> list[Floats]:
    """Distances by this package."""
    texts = ([" ".join(caption) for caption in captions] for captions in examples)
    return list(meteor_matrices(texts, tokenizer=str.split))


def their_distances(examples: list[list[Caption]], score: PairScore) -> list[Floats]:
    """Distances by a function of reference and hypothesis, called for every ordered pair."""
    return [1 - np.array([[score(a, b) for b in captions] for a in captions]) for captions in examples]


def timed(sides: list[Callable[[], list[Floats]]], repeats: int) -> tuple[list[float], list[list[Floats]]]:
    """Median seconds of CPU time and the distances of each side; the first run only warms the caches."""
    seconds: list[list[float]] = [[] for _ in sides]
    for repeat in range(repeats + 1):
        distances = []
        for side, times in zip(sides, seconds, strict=True):
            start = time.process_time()
            distances.append(side())
            if repeat:
                times.append(time.process_time() - start)
    return [statistics.median(times) for times in seconds], distances


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 1 if the distances differ by more than 1e-12, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few captions, one run")
    parser.add_argument("--wordnet", metavar="DIR", type=Path, default=WORDNET, help=f"default: {WORDNET}")
    options = parser.parse_args(arguments)
    n_examples, n_captions, repeats = (3, 5, 1) if options.smoke else (50, 15, 3)
    examples = generated_captions(n_examples, n_captions)
    with tempfile.TemporaryDirectory(prefix="vlgauge-wordnet-") as folder:
        name = "plain loop"
        score: PairScore = plain_meteor
        if (options.wordnet / "data.noun").is_file():
            name, score = "NLTK", nltk_meteor(nltk_folder(options.wordnet, Path(folder)))
        else:
            print(f"no WordNet in {options.wordnet} (Debian: apt install wordnet-base), so NLTK is left out")
        sides = [lambda: our_distances(examples), lambda: their_distances(examples, score)]
        (ours, theirs), (our_values, their_values) = timed(sides, repeats)
    per_pair = 1e6 / (n_examples * n_captions**2)
    difference = float(np.abs(np.array(our_values) - np.array(their_values)).max())
    print(f"{n_examples} examples of {n_captions} captions, all ordered pairs; CPU time, caches warm")
    print(f"ours {ours * per_pair:.2f} us per pair, {name} {theirs * per_pair:.1f} us, ratio {theirs / ours:.0f}x")
    print(f"largest difference {difference:.1e}")
    return int(not difference <= TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
