"""MMD-BERT: do candidate and reference captions look like draws of one distribution of sentence vectors?"""

from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge import base  # From: "vlgauge[mmd-bert] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge import caption_sets  # From: "vlgauge[mmd-bert] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge import statistics  # From: "vlgauge[mmd-bert] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.errors import UsageError  # From: "vlgauge[mmd-bert] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.settings import shown  # From: "vlgauge[mmd-bert] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
MMD-BERT compares the set of captions that a model samples for an image with the set that people wrote: the squared
maximum mean discrepancy between their sentence vectors under a Gaussian kernel. Lower is better; exact permutation
p-values say whether the two sets could come from one distribution.
"""

_INPUTS = """
Args:
    predictions: list of caption sets sampled by the model, one list of strings per row.
    references: list of caption sets written by people, one list of strings per row.
    embeddings: optional vectors instead of an encoder: a mapping from caption to vector, or a pair of lists of arrays
        of shape (n_captions, d).
    return_details: whether to add bandwidth, distinct captions, partitions, null deviation and distribution of each
        row, and its captions in the plane in which they vary most.

Returns:
    mmd_bert: mean of the scores, lower is better; 0 on average for equal distributions, may be negative.
    mmd_bert_scores: one score per row, NaN where a side has fewer than two captions or a vector is not finite.
    mmd_bert_undefined: number of those.
    mmd_bert_signature: how the numbers were made.
    mmd_bert_pvalue, mmd_bert_z, mmd_bert_excess, mmd_bert_excess_interval, mmd_bert_null_mean,
        mmd_bert_mean_log_pvalue, mmd_bert_expected_mean_log_pvalue of the corpus, mmd_bert_pvalues,
        mmd_bert_excess_scores, mmd_bert_null_means, mmd_bert_zscores of the rows: with the setting pvalue; see
        the card.

Examples:
    >>> import evaluate
    >>> mmd_bert = evaluate.load("vlgauge/mmd_bert", pvalue="exact")
    >>> vectors = {"a dog": [0.0, 1.0], "a hound": [0.0, 2.0], "a plane": [3.0, 1.0], "a jet": [3.0, 2.0]}
    >>> result = mmd_bert.compute(
    ...     predictions=[["a dog", "a hound"]], references=[["a plane", "a jet"]], embeddings=vectors
    ... )
    >>> print(round(result["mmd_bert"], 4))
    1.3578
    >>> print(round(result["mmd_bert_pvalues"][0], 4))
    0.3333
"""

Floats = npt.NDArray[np.float64]

BANDWIDTH_RULES = ("median", "mean", "max", "max2")
# (s, w): sums over one side are divided by n(n - s); the diagonal has weight w (the authors' code adds 1e-5 to it).
ESTIMATORS = {"unbiased": (1, 0.0), "biased": (0, 1.0), "released": (1, 1.0 + 1e-5)}


def squared_distances(vectors: npt.NDArray[np.floating]) -> Floats:
    """|z_i - z_j|^2 of the pooled captions of S examples.

    Args:
        vectors: shape ``(S, N, d)``, candidates first, of any norm.

    Returns:
        shape ``(S, N, N)``, values below 1e-12 set to 0; NaN where a vector is not finite.
    """
    n_examples, n_captions, width = vectors.shape
    squared = np.zeros((n_examples, n_captions, n_captions))
    # The Gram form is no faster and loses digits of near duplicates; 2 MB at a time stay in the cache.
    step = max(1, 2**18 // max(1, n_captions * width))
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, n_examples, step):
            block = np.asarray(vectors[start : start + step], dtype=np.float64)
            part = squared[start : start + step]
            for i in range(n_captions - 1):
                difference = block[:, i + 1 :] - block[:, i : i + 1]
                part[:, i, i + 1 :] = part[:, i + 1 :, i] = np.einsum("snd,snd->sn", difference, difference)
    squared[squared < 1e-12] = 0.0
    squared[np.isinf(squared)] = np.nan
    return squared


def bandwidths(squared_distances: Floats, rule: str | float = "median") -> Floats:
    """The bandwidth c of each example, from its N(N-1)/2 plain distances |z_i - z_j|.

    Args:
        squared_distances: shape ``(S, N, N)``.
        rule: "median" (half the lower median: Chan et al., appendix A.7), "mean" or "max" (half of each), "max2" (the
            maximum itself), or a positive number for c itself.

    Returns:
        shape ``(S,)``. A median of 0 gives way to half the smallest positive distance; 0 says that every distance is
        0, NaN that one is NaN.

    Raises:
        ValueError: `rule` is neither a known name nor a positive finite number.
    """
    rule = base.plain_number(rule)
    if isinstance(rule, (int, float)) and not isinstance(rule, bool) and 0.0 < rule < np.inf:
        return np.full(len(squared_distances), float(rule))
    if not isinstance(rule, str) or rule not in BANDWIDTH_RULES:
        known = ", ".join(map(repr, BANDWIDTH_RULES))
        raise UsageError.about("bandwidth", f"must be one of {known} or a positive number, got {shown(rule)}")
    left, right = np.triu_indices(squared_distances.shape[1], 1)
    distances = np.sort(np.sqrt(squared_distances[:, left, right]), axis=1)
    smallest = np.min(distances, axis=1, where=distances > 0.0, initial=np.inf)
    median, mean, largest = distances[:, (len(left) - 1) // 2], distances.mean(axis=1), distances[:, -1]
    chosen = {"median": median / 2, "mean": mean / 2, "max": largest / 2, "max2": largest}[rule]
    chosen = np.where(chosen > 0.0, chosen, np.where(smallest < np.inf, smallest / 2, 0.0))
    return np.where(np.isnan(distances[:, -1]), np.nan, chosen)  # sorting puts NaN last


def gaussian_kernel(squared_distances: Floats, bandwidths: Floats) -> Floats:
    """K_ij = exp(-|z_i - z_j|^2 / (2 c^2)).

    Args:
        squared_distances: shape ``(S, N, N)``.
        bandwidths: shape ``(S,)``, c > 0, or 0 where every distance is 0, so that K is 1 whatever c.

    Returns:
        shape ``(S, N, N)``, in [0, 1], ones on the diagonal.
    """
    scale = np.where(bandwidths == 0.0, 1.0, bandwidths)[:, None, None]
    with np.errstate(over="ignore"):  # a tiny c gives K = 0
        return np.exp(-0.5 * (np.sqrt(squared_distances) / scale) ** 2)


def squared_mmd(kernel: Floats, n: int, estimator: str = "unbiased") -> Floats:
    """The squared maximum mean discrepancy between candidates c and references r.

    "unbiased": sum_{i != j} K(c_i,c_j) / (n(n-1)) + sum_{i != j} K(r_i,r_j) / (m(m-1)) - 2 sum_ij K(c_i,r_j) / (nm)
    (Gretton et al., 2012, eq. 3), may be negative. "biased": diagonals left in, over n^2 and m^2 (their eq. 5), >= 0.
    "released": unbiased + (1 + 1e-5)(1/(n-1) + 1/(m-1)), what the authors' code computes. Chan et al., Eq. 6, prints
    the same three sums unnormalised and with a plus at the cross sum; no estimator here follows it to the letter.

    Args:
        kernel: shape ``(S, N, N)``, symmetric, candidates first.
        n: number of candidates; m = N - n.
        estimator: "unbiased", "biased" or "released".

    Returns:
        shape ``(S,)``.
    """
    m = kernel.shape[1] - n
    shift, weight = ESTIMATORS[estimator]
    total = -2.0 * kernel[:, :n, n:].mean(axis=(1, 2))
    for side, size in ((kernel[:, :n, :n], n), (kernel[:, n:, n:], m)):
        diagonal = np.trace(side, axis1=1, axis2=2)
        total += (side.sum(axis=(1, 2)) - (1.0 - weight) * diagonal) / (size * (size - shift))
    return total


def null_distribution(kernel: Floats, candidates: npt.NDArray[np.bool_], estimator: str = "unbiased") -> Floats:
    """`squared_mmd` under every partition: pairs i < j only change their weight, so one matrix product does it.

    Args:
        kernel: shape ``(S, N, N)``, symmetric, constant along each diagonal.
        candidates: shape ``(P, N)``, n True in each row, the observed partition in row 0.
        estimator: as in `squared_mmd`.

    Returns:
        shape ``(S, P)``; column 0 is the observed value.
    """
    n = int(np.count_nonzero(candidates[0]))
    m = candidates.shape[1] - n
    shift, weight = ESTIMATORS[estimator]
    left, right = np.triu_indices(n + m, 1)
    pairs = kernel[:, left, right]  # axes: example, pair of captions
    weights = np.array([2.0 / (m * (m - shift)), -2.0 / (n * m), 2.0 / (n * (n - shift))])
    diagonal = weight * (1.0 / (n - shift) + 1.0 / (m - shift)) * kernel[:, :1, 0]
    null = np.empty((len(kernel), len(candidates)))
    step = max(1, 2**21 // len(left))
    for start in range(0, len(candidates), step):
        block = candidates[start : start + step]
        # The number of candidates in a pair, 0 to 2, picks its weight; axes: partition, pair.
        null[:, start : start + step] = pairs @ weights[block[:, left].astype(np.int8) + block[:, right]].T
    return null + diagonal


class MmdBert(caption_sets.VectorSetMetric):
    """Squared maximum mean discrepancy of two caption sets, with permutation p-values."""

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://aclanthology.org/2024.lrec-main.453", "https://jmlr.org/papers/v13/gretton12a.html")

    def __init__(
        self,
        *args: Any,
        variant: str = "paper",
        estimator: str | None = None,
        bandwidth: str | float = "median",
        **host: Any,
    ) -> None:
        self.variant = base.one_of("variant", variant, ("paper", "released"))
        self.estimator = _checked_estimator(estimator, variant)
        bandwidths(np.zeros((1, 2, 2)), bandwidth)  # names the rules that there are
        self.bandwidth = base.plain_number(bandwidth)
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """The settings; without `estimator` where the variant sets the sum."""
        fields = super().signature_fields()
        if self.estimator is None:
            del fields["estimator"]
        return fields

    def score_group(
        self, vectors: npt.NDArray[np.floating], n: int, ways: statistics.Partitions | None
    ) -> tuple[caption_sets.Statistic, list[dict[str, Any]]]:
        """Scores, null distributions and bandwidths of examples with n candidates each."""
        squared = squared_distances(vectors)
        widths = bandwidths(squared, self.bandwidth)
        kernel = gaussian_kernel(squared, widths)
        estimator = self.estimator or self.variant
        null = None if ways is None else null_distribution(kernel, ways.candidates, estimator)
        found = caption_sets.Statistic(squared_mmd(kernel, n, estimator), null)
        return found, [{"bandwidth": width} for width in widths.tolist()]


def _checked_estimator(estimator: str | None, variant: str) -> str | None:
    """The setting; None under "released", where the authors' code has a sum of its own."""
    if variant == "released":
        if estimator is not None:
            raise UsageError(
                "`estimator` must be left out under variant='released', which has the sum of the authors' code, got "
                f"{shown(estimator)}"
            )
        return None
    return base.one_of("estimator", "unbiased" if estimator is None else estimator, ("unbiased", "biased"))
