"""Measure how often CIDEr-D prefers an unfinished caption, without and with an end token.

Four policies change each caption of a file: they end it at a random word, end it one to three words early, append "with
a", or choose the beginning of the caption with the highest score.
"""

import argparse
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

import vlgauge
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.inputs.tables.files import read_rows
from vlgauge.inputs.text.endings import is_unfinished

Floats = npt.NDArray[np.float64]

COLUMNS = ("preferred without", "preferred with", "cost without", "cost with", "unfinished without", "unfinished with")
MOST_WORDS_CUT = 3


def beginnings(caption: str) -> list[str]:
    """Return the first words of a caption, from one word to all of them, without the period at the end."""
    words = caption.strip().rstrip(".").split()
    return [" ".join(words[:n]) for n in range(1, len(words) + 1)]


def apply_fixed_policies(captions: Sequence[str], seed: int) -> dict[str, list[str]]:
    """Change captions independently of their scores."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[str]] = {
        "ended at a random word": [],
        "ended 1 to 3 words early": [],
        'followed by "with a"': [],
    }
    for caption in captions:
        *shorter, whole = beginnings(caption)
        cut = int(rng.integers(1, MOST_WORDS_CUT + 1))
        texts = (rng.choice(shorter or [whole]), [whole, *shorter[::-1]][min(cut, len(shorter))], f"{whole} with a")
        for own, text in zip(found.values(), texts, strict=True):
            own.append(str(text))
    return found


def scorer(references: Sequence[Sequence[str]], *, eos: bool) -> Callable[[Sequence[str], Sequence[int]], Floats]:
    """Return a function from captions and their rows to scores, with the document frequencies of all references."""
    df = DocumentFrequency.from_references(references, eos=eos)
    metric = vlgauge.load("cider", df=df, eos=eos, keep_in_memory=True, progress=False)

    def scores(captions: Sequence[str], rows: Sequence[int]) -> Floats:
        own = [references[row] for row in rows]
        result = metric.compute(predictions=captions, references=own) or {}
        return np.array(result["cider_scores"])

    return scores


def table(captions: Sequence[str], references: Sequence[Sequence[str]], seed: int) -> dict[str, list[float]]:
    """Compute for each policy the values of `COLUMNS`: shares in percent, and mean differences from the captions."""
    rows = range(len(captions))
    chosen = [(text, row) for row in rows for text in beginnings(captions[row])]
    found: dict[str, list[list[float]]] = {}
    for eos in (False, True):
        scores = scorer(references, eos=eos)
        whole = scores([beginnings(caption)[-1] for caption in captions], rows)
        policies = apply_fixed_policies(captions, seed)
        of_each = scores(*zip(*chosen, strict=True))
        best = dict.fromkeys(rows, 0)
        for place in sorted(range(len(chosen)), key=of_each.__getitem__):
            best[chosen[place][1]] = place
        policies["best beginning"] = [chosen[place][0] for place in best.values()]
        for name, texts in policies.items():
            own = scores(texts, rows)
            shares = (100 * np.mean(own > whole), np.mean(whole - own), 100 * np.mean(list(map(is_unfinished, texts))))
            found.setdefault(name, []).append([float(value) for value in shares])
    return {name: [value for pair in zip(*both, strict=True) for value in pair] for name, both in found.items()}


def main(words: Sequence[str] | None = None) -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", metavar="FILE", help="rows with a caption (predictions) and its references")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    rows = read_rows(options.file)
    found = table([row["predictions"] for row in rows], [row["references"] for row in rows], options.seed)
    print(f"| caption | {' | '.join(COLUMNS)} |\n| --- |{' ---: |' * len(COLUMNS)}")
    for name, values in found.items():
        cells = [
            f"{value:.2f}" if "cost" in column else f"{value:.1f}%"
            for column, value in zip(COLUMNS, values, strict=True)
        ]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
