"""Time RoViST-NR on generated stories against a plain token-by-token loop, and compare the scores."""

import argparse
import math
import random
import re
import statistics
import sys
import time
from collections.abc import Callable

from vlgauge.catalog import folder_module
from vlgauge.text.language import split_sentences, words

Scorer = Callable[[list[str]], list[float]]

FUNCTION_WORDS = (
    "the a to and of in was we it he she they had were for on with at his her our my i that this all so very there up "
    "out some is from got one then when day time after before can't didn't we're it's they'd couldn't cannot gonna"
)

# Every rule of `words` by itself, one substitution after the other, on every sentence.
PLAIN_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"([«“\u2018„]|`+)", r" \1 "),
        (r'^"', "``"),
        (r"``", " `` "),
        (r"""([ (\[{<])("|'')""", r"\1 `` "),
        (r"(?i)'(?!re|ve|ll|m|t|s|d|n)(\w)\b", r"' \1"),
        (r"""([^.])\.([\])}>"'»”\u2019 ]*)\s*$""", r"\1 . \2 "),
        (r"([:,])([^\d])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"\.{2,}", r" \g<0> "),
        (r"[;@#$%&]", r" \g<0> "),
        (r"[?!]", r" \g<0> "),
        (r"([^'])' ", r"\1 ' "),
        (r"\*", r" \g<0> "),
        (r"[\[\](){}<>]", r" \g<0> "),
        (r"--", " -- "),
        (r"^|$", " "),
        (r"([»”\u2019])", r" \1 "),
        (r"''", " '' "),
        (r'"', " '' "),
        (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        *((rf"(?i)\b{word}\b", r" \1 \2 ") for word in ("(can)(not)", "(d)('ye)", "(gim)(me)", "(gon)(na)")),
        *((rf"(?i)\b{word}\b", r" \1 \2 ") for word in ("(got)(ta)", "(lem)(me)", "(more)('n)")),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is)\b", r" \1 \2 "),
        (r"(?i) ('t)(was)\b", r" \1 \2 "),
    )
)


def plain_words(sentence: str) -> list[str]:
    """The tokens of a sentence, one substitution per rule."""
    tokens = []
    for text in split_sentences(sentence):
        padded = text
        for pattern, replacement in PLAIN_RULES:
            padded = pattern.sub(replacement, padded)
        tokens += padded.split()
    return tokens


def plain_similarity(a: list[str], b: list[str]) -> float:
    """Pairs of equal tokens over unique tokens, token by token."""
    return sum(b.count(word) for word in a) / len({*a, *b})


def plain_scores(stories: list[str], n: int = 4) -> list[float]:
    """RoViST-NR by the definition, without any shortcut."""
    scores = []
    for story in stories:
        kept = [plain_words(sentence)[:-1] for sentence in split_sentences(story)]
        inter = [plain_similarity(kept[i], kept[j]) for i in range(len(kept)) for j in range(i) if kept[i] or kept[j]]
        intra = [
            plain_similarity(tokens[start : start + n], tokens[start + n : start + 2 * n])
            for tokens in kept
            for start in range(0, len(tokens) - n, n)
        ]
        repetition = (sum(inter) / len(inter) if inter else math.nan) + (sum(intra) / len(intra) if intra else 0.0)
        scores.append(1 - repetition / 2)
    return scores


def our_scorer() -> Scorer:
    """Split, words and score of this package."""
    non_redundancy = folder_module("rovist_nr", "rovist_nr").non_redundancy
    return lambda stories: [
        non_redundancy([words(sentence) for sentence in split_sentences(story)]).score for story in stories
    ]


def generated_stories(n_stories: int, seed: int = 0) -> list[str]:
    """Stories of five sentences of 6 to 16 words, drawn by Zipf's law from some 6,000 words."""
    rng = random.Random(seed)
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvw" for vowel in ("a", "e", "i", "o", "u", "ea")]
    rare = sorted({"".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(6000)})
    rng.shuffle(rare)
    vocabulary = FUNCTION_WORDS.split() + rare
    weights = [1 / rank for rank in range(3, len(vocabulary) + 3)]
    marks, mark_weights = ["", ",", " --", "'s", ";", "..."], [85, 9, 1, 3, 1, 1]

    def sentence() -> str:
        drawn = rng.choices(vocabulary, weights, k=rng.randint(6, 16))
        text = " ".join(word + rng.choices(marks, mark_weights)[0] for word in drawn[:-1]) + " " + drawn[-1]
        text = text[0].upper() + text[1:] + rng.choices([".", "!", "?"], [8, 1, 1])[0]
        return f'"{text}"' if rng.random() < 0.05 else text

    return [" ".join(sentence() for _ in range(5)) for _ in range(n_stories)]


def timed(scorers: dict[str, Scorer], stories: list[str], repeats: int) -> dict[str, tuple[float, list[float]]]:
    """Median CPU seconds and the scores of each scorer; they take turns, so that a busy machine slows both."""
    seconds: dict[str, list[float]] = {name: [] for name in scorers}
    scores: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, scorer in scorers.items():
            start = time.process_time()
            scores[name] = scorer(stories)
            seconds[name].append(time.process_time() - start)
    return {name: (statistics.median(seconds[name]), scores[name]) for name in scorers}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 1 if the scores differ by more than 1e-12, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="50 stories, one run")
    smoke = parser.parse_args(arguments).smoke
    stories = generated_stories(50 if smoke else 5000)
    results = timed({"ours": our_scorer(), "plain": plain_scores}, stories, repeats=1 if smoke else 3)
    (ours, our_scores), (plain, their_scores) = results["ours"], results["plain"]
    differences = [abs(a - b) for a, b in zip(our_scores, their_scores, strict=True) if not (a != a and b != b)]
    worst = max(differences, default=0.0)
    print(f"{len(stories)} stories: ours {ours:.3f} s, plain loop {plain:.3f} s, ratio {ours / plain:.2f}")
    print(f"largest difference of scores {worst:.1e}")
    # Negated, so that a NaN on one side only is a failure too.
    return int(not all(difference <= 1e-12 for difference in differences))


if __name__ == "__main__":
    sys.exit(main())
