"""Time whole calls of cider and of METEOR of 2007: against pycocoevalcap and NLTK where these are installed.

Both sides get captions that are tokenized already, since the tokenizer of the COCO caption evaluation is Java; ours
also checks, stores and reads them, as every call of a metric does. All captions are distinct. NLTK needs WordNet, see
meteor.py beside this script.
"""

import argparse
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import vlgauge

sys.path.insert(0, str(Path(__file__).parent))

from meteor import WORDNET, nltk_folder

Scores = Sequence[float]
Corpus = tuple[list[str], list[list[str]]]

TOLERANCE = 1e-9
N_REFERENCES = 5
_LETTERS = "aeioubcdlmnprst"


def generated_corpus(n_examples: int, seed: int = 0) -> Corpus:
    """Captions of some 11 words, few of which are frequent and most rare, and their references; no two are equal."""
    rng = random.Random(seed)
    words = ["a", "the", "on", "in", "of", "with", "man", "woman", "dog", "standing", "rides", "playing", "big", "red"]
    words += sorted({"".join(rng.choices(_LETTERS, k=rng.randint(3, 9))) for _ in range(6_000)})
    weights = [1 / (rank + 3) for rank in range(len(words))]
    seen: set[str] = set()

    def varied(tokens: list[str]) -> str:
        while True:
            some = [token if rng.random() < 0.7 else rng.choices(words, weights)[0] for token in tokens]
            text = " ".join(some)
            if text not in seen:
                seen.add(text)
                return text

    captions, references = [], []
    for _ in range(n_examples):
        tokens = rng.choices(words, weights, k=rng.randint(8, 14))
        captions.append(varied(tokens))
        references.append([varied(tokens) for _ in range(N_REFERENCES)])
    return captions, references


def ours(name: str, corpus: Corpus, **settings: str) -> Callable[[], Scores]:
    """A call of a metric."""
    metric = vlgauge.load(name, keep_in_memory=True, progress=False, tokenizer=str.split, **settings)
    captions, references = corpus

    def call() -> Scores:
        result = metric.compute(predictions=captions, references=references) or {}
        return result[f"{name}_scores"]

    return call


def pycocoevalcap_cider(corpus: Corpus) -> Callable[[], Scores]:
    """CIDEr-D of the COCO caption evaluation."""
    module = import_module("pycocoevalcap.cider.cider")
    captions, references = corpus
    candidates = {row: [caption] for row, caption in enumerate(captions)}
    theirs = dict(enumerate(references))
    return lambda: module.Cider().compute_score(theirs, candidates)[1].tolist()


def nltk_meteor(corpus: Corpus, folder: Path) -> Callable[[], Scores]:
    """METEOR of NLTK with the data in a folder, the largest over the references."""
    import nltk.data
    from nltk.corpus import wordnet
    from nltk.translate.meteor_score import meteor_score

    nltk.data.path.insert(0, str(folder))
    wordnet.ensure_loaded()
    pairs = [(caption.split(), [reference.split() for reference in own]) for caption, own in zip(*corpus, strict=True)]
    return lambda: [meteor_score(own, caption) for caption, own in pairs]


def seconds_and_scores(call: Callable[[], Scores], repeats: int) -> tuple[float, Scores]:
    """The least CPU time of several calls, and what the last of them returned."""
    times, scores = [], call()
    for _ in range(repeats):
        start = time.process_time()
        scores = call()
        times.append(time.process_time() - start)
    return min(times), scores


def told(name: str, mine: tuple[float, Scores], other: str, theirs: tuple[float, Scores] | None) -> bool:
    """Print a line; whether the scores agree."""
    line = f"{name}: ours {mine[0]:.2f} s"
    if theirs is None:
        print(f"{line}; {other} is not installed, so it is left out")
        return True
    gap = float(np.abs(np.array(mine[1]) - np.array(theirs[1])).max())
    print(f"{line}, {other} {theirs[0]:.2f} s, ratio {theirs[0] / mine[0]:.1f}x, largest difference {gap:.1e}")
    return gap <= TOLERANCE


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 1 if the scores differ by more than 1e-9, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few captions, one run")
    parser.add_argument("--wordnet", metavar="DIR", type=Path, default=WORDNET, help=f"default: {WORDNET}")
    options = parser.parse_args(arguments)
    n_examples, repeats = (20, 1) if options.smoke else (5_000, 3)
    corpus = generated_corpus(n_examples)
    print(f"{n_examples} captions with {N_REFERENCES} references each, none twice; CPU time of one call, caches warm")
    warnings.simplefilter("ignore")  # of few documents
    theirs = None
    if find_spec("pycocoevalcap"):
        theirs = seconds_and_scores(pycocoevalcap_cider(corpus), min(repeats, 1))
    same = told("cider", seconds_and_scores(ours("cider", corpus), repeats), "pycocoevalcap", theirs)
    theirs = None
    if find_spec("nltk") and (options.wordnet / "data.noun").is_file():
        with tempfile.TemporaryDirectory(prefix="vlgauge-wordnet-") as folder:
            theirs = seconds_and_scores(nltk_meteor(corpus, nltk_folder(options.wordnet, Path(folder))), 1)
    mine = seconds_and_scores(ours("meteor", corpus, version="2007"), repeats)
    return int(not (told("meteor", mine, "NLTK with WordNet", theirs) and same))


if __name__ == "__main__":
    sys.exit(main())
