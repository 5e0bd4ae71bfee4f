"""Sets of captions of equal sizes: how many a row has, as many drawn for every system, and both in the signature.

Scores of sets depend on how many captions there are, and so does their excess over the null mean wherever the two
sides differ. Systems are compared on sets of one size: of larger ones some captions are drawn.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vlgauge.catalog import metric_facts, metric_names
from vlgauge.results import row_keys
from vlgauge.signatures import format_signature, parse_signature

Sizes = Sequence[Sequence[int]]
"""Numbers of candidates and references of each row."""

TEST_SETTINGS = ("pvalue", "max_partitions", "permutations", "seed")
"""Settings of the permutation test, which change no score."""

OPTION = "--captions-per-row"
_SIZES, _DRAWN, _SEED = "sets", "drawn_from", "draw_seed"


def drawn_captions(
    predictions: Sequence[Sequence[str]], keys: Sequence[str], numbers: Sequence[int], seed: int
) -> list[list[str]]:
    """Some captions of each row, in their order, each set of them as likely as another.

    What is drawn of a row depends on its key, its number of captions and the seed, not on other rows.

    Args:
        predictions: Captions of each row.
        keys: What the rows are called.
        numbers: How many are drawn of each, at most as many as there are.
        seed: At least 0.
    """
    chosen = []
    for captions, key, number in zip(predictions, keys, numbers, strict=True):
        digest = hashlib.sha256(key.encode(errors="surrogatepass")).digest()
        rng = np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
        places = np.sort(rng.permutation(len(captions))[:number])
        chosen.append([captions[place] for place in places.tolist()])
    return chosen


def signed_sizes(
    result: Mapping[str, Any], sizes: Sizes, ids: Iterable[Any], *, there: Sequence[int] = (), seed: int = 0
) -> dict[str, str]:
    """Return the signatures of the metrics of a result that compare sets, with the sizes of these.

    Sets of one size have it in the signature, such as "5v5". Others have the least and the greatest size and a digest
    of the sizes of all rows, whatever their order: two results with one signature have sets of equal sizes.

    Args:
        result: Of one or more metrics.
        sizes: Of the sets that were scored.
        ids: What the rows are called.
        there: Numbers of captions before some were drawn; empty if all were scored.
        seed: Of the draw.
    """
    if not sizes:
        return {}
    signed = "v".join(_range([one[side] for one in sizes]) for side in (0, 1))
    if "-" in signed:
        rows = sorted([key, *map(int, size)] for key, size in zip(row_keys(ids), sizes, strict=True))
        signed += f"@{hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:8]}"
    signatures = {}
    for key, text in result.items():
        name = key.removesuffix("_signature")
        if name == key or name not in metric_names() or not metric_facts(name).compares_sets:
            continue
        fields = parse_signature(str(text))[1]
        fields |= {_SIZES: signed}
        fields |= {_DRAWN: _range(there), _SEED: str(seed)} if there else {}
        signatures[key] = format_signature(name, fields)
    return signatures


def comparable_signature(signature: str) -> str:
    """Return a signature without what changes no score: where sets of its sizes come from, and how they were tested."""
    return _without(signature, _DRAWN, _SEED)


def without_sizes(signature: str) -> str:
    """Return a comparable signature without the sizes of sets, which are compared row by row."""
    return _without(signature, _DRAWN, _SEED, _SIZES)


def _without(signature: str, *dropped: str) -> str:
    name, fields = parse_signature(signature)
    if name in metric_names() and metric_facts(name).compares_sets:
        dropped += TEST_SETTINGS
    return format_signature(name, {key: value for key, value in fields.items() if key not in dropped})


def sizes_signed(signature: str) -> str:
    """Return the sizes of sets that a signature names; empty if it names none."""
    return parse_signature(signature)[1].get(_SIZES, "")


def are_of_one_size(sizes: str) -> bool:
    """Whether all sets have the same sizes, by `sizes_signed`."""
    return bool(sizes) and "-" not in sizes


def are_bound(sizes: str) -> bool:
    """Whether sets with the same `sizes_signed` have equal sizes row by row."""
    return are_of_one_size(sizes) or "@" in sizes


def _range(numbers: Sequence[int]) -> str:
    return "-".join(map(str, sorted({min(numbers), max(numbers)})))
