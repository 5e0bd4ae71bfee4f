"""Caption sets of equal sizes: sampling of captions per row, and set sizes in signatures.

Scores of sets depend on the number of captions, and so does their excess over the null mean if the two sides differ.
Therefore systems are compared on sets of one size, and captions of larger sets are sampled.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vlgauge.core.catalog import is_score, metric_facts, metric_of_score
from vlgauge.core.results import row_keys
from vlgauge.core.signatures import format_signature, parse_signature

Sizes = Sequence[Sequence[int]]
"""Numbers of candidates and references of each row."""

TEST_SETTINGS = ("pvalue", "max_partitions", "permutations", "seed")
"""Settings of the permutation test, which do not change any score."""

OPTION = "--captions-per-row"
_SIZES_NAMED = 4  # maximum number of set sizes in a warning, because a ragged corpus has dozens
_SIZES, _DRAWN, _SEED = "sets", "drawn_from", "draw_seed"


def sample_captions(
    predictions: Sequence[Sequence[str]], keys: Sequence[str], numbers: Sequence[int], seed: int
) -> list[list[str]]:
    """Sample captions of each row uniformly without replacement, in input order.

    The sample of a row depends on its key, its number of captions and the seed, but not on other rows.

    Args:
        predictions: Captions of each row.
        keys: Key of each row.
        numbers: Number of captions to sample from each row, at most the number of its captions.
        seed: Seed, at least 0.
    """
    chosen = []
    for captions, key, number in zip(predictions, keys, numbers, strict=True):
        digest = hashlib.sha256(key.encode(errors="surrogatepass")).digest()
        rng = np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
        places = np.sort(rng.permutation(len(captions))[:number])
        chosen.append([captions[place] for place in places.tolist()])
    return chosen


def add_set_sizes(
    result: Mapping[str, Any], sizes: Sizes, ids: Iterable[Any], *, there: Sequence[int] = (), seed: int = 0
) -> dict[str, str]:
    """Return the signatures of the set metrics of a result, with the sizes of the sets added.

    If all sets have the same size, the signature contains that size, such as "5v5", or "5" for a metric without
    references. Otherwise it contains the minimum and maximum size and a digest of the sizes of all rows, independent of
    their order. Thus two results with the same signature have sets of equal sizes.

    Args:
        result: Result of one or more metrics.
        sizes: Sizes of the scored sets.
        ids: Ids of the rows.
        there: Numbers of captions before sampling. Empty if all captions were scored.
        seed: Seed of the sample.

    Returns:
        Signatures by key of the result. Empty without sizes.
    """
    if not sizes:
        return {}
    keys, signatures = row_keys(ids), {}
    for key, text in result.items():
        name = key.removesuffix("_signature")
        if name == key or not is_score(name) or not metric_facts(metric_of_score(name)).compares_sets:
            continue
        own = sizes_used(metric_of_score(name), sizes)
        fields = parse_signature(str(text))[1]
        fields |= {_SIZES: _sign_sizes(own, keys)}
        fields |= {_DRAWN: _range(there), _SEED: str(seed)} if there else {}
        signatures[key] = format_signature(name, fields)
    return signatures


def sizes_used(metric: str, sizes: Sizes) -> list[tuple[int, ...]]:
    """Return the set sizes of each row on which the scores of a metric depend: without references, the first only."""
    n_sides = 2 if metric_facts(metric).has_references else 1
    return [tuple(size[:n_sides]) for size in sizes]


def _sign_sizes(sizes: Sequence[tuple[int, ...]], keys: Sequence[str]) -> str:
    signed = "v".join(map(_range, zip(*sizes, strict=True)))
    if "-" in signed:
        rows = sorted([key, *map(int, size)] for key, size in zip(keys, sizes, strict=True))
        signed += f"@{hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:8]}"
    return signed


def comparable_signature(signature: str) -> str:
    """Remove the fields of a signature that do not change a score: the origin of sampled sets and the test settings.

    Raises:
        ValueError: If the text is not a valid signature.
    """
    return _without(signature, _DRAWN, _SEED)


def without_sizes(signature: str) -> str:
    """Remove the set sizes from a comparable signature, because they are compared row by row.

    Raises:
        ValueError: If the text is not a valid signature.
    """
    return _without(signature, _DRAWN, _SEED, _SIZES)


def _without(signature: str, *dropped: str) -> str:
    name, fields = parse_signature(signature)
    if is_score(name) and metric_facts(metric_of_score(name)).compares_sets:
        dropped += TEST_SETTINGS
    return format_signature(name, {key: value for key, value in fields.items() if key not in dropped})


def sizes_signed(signature: str) -> str:
    """Return the set sizes in a signature. Empty if it has none.

    Raises:
        ValueError: If the text is not a valid signature.
    """
    return parse_signature(signature)[1].get(_SIZES, "")


def are_of_one_size(sizes: str) -> bool:
    """Return whether all sets have the same sizes, based on the value of `sizes_signed`."""
    return bool(sizes) and "-" not in sizes


def are_bound(sizes: str) -> bool:
    """Return whether sets with the same value of `sizes_signed` have equal sizes row by row."""
    return are_of_one_size(sizes) or "@" in sizes


def several_sizes(name: str, counts: Mapping[str, int]) -> str:
    """Return the beginning of a warning that scores of sets of several sizes are averaged.

    Args:
        name: Name of the metric.
        counts: Number of rows by set size.
    """
    most = sorted(counts, key=lambda size: -counts[size])[:_SIZES_NAMED]
    listed = ", ".join(f"{counts[size]} of {size}" for size in most)
    rest = f" and {len(counts) - len(most)} other sizes" if len(counts) > len(most) else ""
    return f"`{name}` is a mean over sets of {len(counts)} sizes, whose scores are not comparable: {listed}{rest}"


def _range(numbers: Sequence[int]) -> str:
    return "-".join(map(str, sorted({min(numbers), max(numbers)})))
