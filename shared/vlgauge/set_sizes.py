"""Sets of captions of equal sizes: how many a row has, as many drawn for every system, and both in the signature.

Scores of sets depend on how many captions there are, and so does their excess over the null mean wherever the two
sides differ. Systems are compared on sets of one size: of larger ones some captions are drawn.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vlgauge.catalog import metric_facts, metric_names
from vlgauge.signatures import format_signature, parse_signature

Sizes = Sequence[Sequence[int]]
"""Numbers of candidates and references of each row."""

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
    result: Mapping[str, Any], sizes: Sizes, *, there: Sequence[int] = (), seed: int = 0
) -> dict[str, str]:
    """Signatures of the metrics of a result that compare sets, with the sizes of these.

    Args:
        result: Of one or more metrics.
        sizes: Of the sets that were scored.
        there: Numbers of captions before some were drawn; empty if all were scored.
        seed: Of the draw.
    """
    signed = {}
    for key, text in result.items():
        name = key.removesuffix("_signature")
        if name == key or not sizes or name not in metric_names() or not metric_facts(name).compares_sets:
            continue
        fields = parse_signature(str(text))[1]
        fields |= {_SIZES: "v".join(_range([one[side] for one in sizes]) for side in (0, 1))}
        fields |= {_DRAWN: _range(there), _SEED: str(seed)} if there else {}
        signed[key] = format_signature(name, fields)
    return signed


def without_draw(signature: str) -> str:
    """A signature without what a set was drawn from: sets of one size are comparable wherever they come from."""
    name, fields = parse_signature(signature)
    return format_signature(name, {key: value for key, value in fields.items() if key not in (_DRAWN, _SEED)})


def without_sizes(signature: str) -> str:
    """A signature without the sizes of sets, which are compared row by row."""
    name, fields = parse_signature(without_draw(signature))
    return format_signature(name, {key: value for key, value in fields.items() if key != _SIZES})


def _range(numbers: Sequence[int]) -> str:
    return "-".join(map(str, sorted({min(numbers), max(numbers)})))
