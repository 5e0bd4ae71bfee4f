"""Time chair, spice with given graphs, and the rules that parse captions; memory must not grow with the rows.

Beside chair and spice stands the plain algorithm: each caption anew, the table as a list, synsets of each pair of words
asked again. Exits with status 1 when numbers differ, or when 10,000 captions with 5 references take over a minute.
"""

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import vlgauge
from vlgauge.catalog import folder_module
from vlgauge.scene_graphs import RuleParser, singular, synsets
from vlgauge.text.language import words

OBJECTS: Any = folder_module("chair", "objects")
FORMULA: Any = folder_module("spice", "formula")
SECONDS, N_REFERENCES = 60.0, 5
QUALITIES = ("red", "blue", "small", "large", "old", "wooden")
RELATIONS = ("on", "beside", "ride", "look at", "in front of", "hold")

Scores = Sequence[float]


def made_rows(n: int, seed: int = 0) -> tuple[list[str], list[list[str]], dict[str, Any]]:
    """Captions over the words of MS-COCO's objects, five references each, and graphs of all of them."""
    rng = random.Random(seed)
    names = sorted(word for word in OBJECTS.mscoco_table(True) if word)

    def told() -> tuple[str, list[list[str]]]:
        first, second, third = rng.sample(names, 3)
        quality, relation, other = rng.choice(QUALITIES), rng.choice(RELATIONS), rng.choice(RELATIONS)
        graph = [[first, quality], [first, relation, second], [second, other, third]]
        return f"a {quality} {first} {relation} a {second} {other} the {third} {rng.randrange(10**6)}", graph

    rows = [[told() for _ in range(N_REFERENCES + 1)] for _ in range(n)]
    captions, references = [row[0][0] for row in rows], [[one for one, _ in row[1:]] for row in rows]
    graphs = {"predictions": [row[0][1] for row in rows], "references": [[one for _, one in row[1:]] for row in rows]}
    return captions, references, graphs


def ours(name: str, captions: Sequence[str], references: Any, **columns: Any) -> Scores:
    """Scores of a whole call."""
    metric = vlgauge.load(name, keep_in_memory=True, progress=False)
    result = metric.compute(predictions=captions, references=references, **columns) or {}
    return result[f"{name}_scores"]


def plain_chair(captions: Sequence[str], references: Sequence[Sequence[str]]) -> Scores:
    """CHAIR_i of each caption, every text read where it stands."""
    table = [(word, node) for word, node in OBJECTS.mscoco_table(True).items()]
    names = OBJECTS.merged_names()

    def nodes(text: str) -> list[str]:
        known = [word for word, _ in table]
        plain = words(text.lower())
        lemmas = [word if word in known else singular(word) for word in plain]
        tokens = [
            word if f"{word} {after}" in names else own
            for word, own, after in zip(plain, lemmas, [*lemmas, ""][1:], strict=True)
        ]
        merged, start = [], 0
        while start < len(tokens):
            size = next((size for size in (3, 2) if " ".join(tokens[start : start + size]) in names), 1)
            name = " ".join(tokens[start : start + size])
            merged.append(names.get(name, name))
            start += size
        if "toilet" in merged:
            merged = [word for word in merged if word != "seat"]
        return [node for word in merged if word in known for own, node in table if own == word]

    found = []
    for caption, own in zip(captions, references, strict=True):
        mine = nodes(caption)
        there = {node for text in own for node in nodes(text)}
        found.append(sum(node not in there for node in mine) / len(mine) if mine else float("nan"))
    return found


def plain_spice(graphs: dict[str, Any]) -> Scores:
    """SPICE of graphs that are tuples of words, merged by comparing all with all."""
    found = []
    for own, theirs in zip(graphs["predictions"], graphs["references"], strict=True):
        sides = [_plain_tuples(graph) for graph in ([own], theirs)]
        n_matched = sum(any(_alike(one, other) for other in sides[1]) for one in sides[0])
        n_both = len(sides[0]) + len(sides[1])
        found.append(2 * n_matched / n_both)
    return found


def _plain_tuples(graphs: Sequence[Sequence[Sequence[str]]]) -> list[list[tuple[frozenset[str], frozenset[str]]]]:
    """Tuples of concepts, each its words and synsets."""
    tuples = [tuple(parts) for graph in graphs for parts in graph]
    objects = [(parts[place],) for parts in tuples for place in (0, 2) if place < len(parts)]
    uncached = synsets.__wrapped__ if hasattr(synsets, "__wrapped__") else synsets
    return [
        [(one.words, one.synsets) for one in parts] for parts in FORMULA.merged_tuples([*objects, *tuples], uncached)
    ]


def _alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(a[0] & b[0] or a[1] & b[1] for a, b in zip(one, other, strict=True))


def timed(call: Callable[[], Scores]) -> tuple[Scores, float]:
    """What a call gives, and its seconds."""
    start = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start


def peak() -> float:
    """Most memory so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main(arguments: list[str] | None = None) -> int:
    """Print seconds, ratios and memory; 1 if numbers differ or it takes too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="little data, to see that it runs")
    smoke = parser.parse_args(arguments).smoke
    n, n_plain, n_parsed = (60, 20, 20) if smoke else (10_000, 500, 500)
    captions, references, graphs = made_rows(n)
    few = {name: column[:n_plain] for name, column in graphs.items()}
    calls: dict[str, tuple[Callable[[int], Scores], Callable[[], Scores]]] = {
        "chair": (
            lambda size: ours("chair", captions[:size], references[:size]),
            lambda: plain_chair(captions[:n_plain], references[:n_plain]),
        ),
        "spice": (
            lambda size: ours(
                "spice", captions[:size], references[:size], graphs={key: own[:size] for key, own in graphs.items()}
            ),
            lambda: plain_spice(few),
        ),
    }
    failed = False
    for name, (call, plain) in calls.items():
        call(n_plain)
        before = peak()
        scores, seconds = timed(lambda call=call: call(n))  # type: ignore[misc]
        grown = peak() - before
        expected, slow = timed(plain)
        failed |= not np.allclose(scores[:n_plain], expected, rtol=0, atol=1e-9, equal_nan=True)
        failed |= not smoke and seconds > SECONDS
        ratio = (slow / n_plain) / (seconds / n)
        print(
            f"{name}: {n} captions with {N_REFERENCES} references in {seconds:.1f} s, {ratio:.1f} times as fast as the "
            f"plain algorithm, {grown:.0f} MB more than for {n_plain}"
        )
    rules = RuleParser(profile="embedded")
    rules.graphs(["a dog on a bed"])
    seconds = timed(lambda: [len(graph.objects) for graph in rules.graphs(captions[:n_parsed])])[1]
    print(f"rules: {1000 * seconds / n_parsed:.1f} ms a caption, over {n_parsed}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
