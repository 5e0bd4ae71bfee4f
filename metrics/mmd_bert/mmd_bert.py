"""MMD-BERT: How different are the distributions of two caption sets?"""

from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge import stats  # From: "vlgauge[mmd-bert]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import validation  # From: "vlgauge[mmd-bert]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[mmd-bert]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[mmd-bert]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import caption_sets  # From: "vlgauge[mmd-bert]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

CaptionSets = caption_sets.CaptionSets
Floats = npt.NDArray[np.float64]

BANDWIDTH_RULES = ("median", "mean", "max", "max2")
# (s, w): sums over one side are divided by n(n - s), and the diagonal has weight w (the authors' code adds 1e-5).
ESTIMATORS = {"unbiased": (1, 0.0), "biased": (0, 1.0), "released": (1, 1.0 + 1e-5)}


def compute_squared_distances(vectors: npt.NDArray[np.floating]) -> Floats:
    """Compute |z_i - z_j|^2 of the pooled captions of S examples.

    Args:
        vectors: Embeddings, shape ``(S, N, d)``, candidates first, of any norm.

    Returns:
        Squared distances, shape ``(S, N, N)``. Values below 1e-12 are set to 0. NaN for non-finite embeddings.
    """
    n_examples, n_captions, width = vectors.shape
    squared = np.zeros((n_examples, n_captions, n_captions))
    # The Gram form is not faster and loses digits for near duplicates. Blocks of 2 MB fit into the cache.
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
    """Compute the bandwidth c of each example from its N(N-1)/2 distances |z_i - z_j|.

    Args:
        squared_distances: Squared distances, shape ``(S, N, N)``.
        rule: "median" (half the lower median, Chan et al., Appendix A.7), "mean" or "max" (half of each), "max2" (the
            maximum itself), or a positive number for c itself.

    Returns:
        Bandwidths, shape ``(S,)``. If the value is 0, half the smallest positive distance is used instead. 0 if all
        distances are 0, NaN if a distance is NaN.

    Raises:
        ValueError: If `rule` is neither a known name nor a positive finite number.
    """
    rule = base.plain_number(rule)
    if isinstance(rule, (int, float)) and not isinstance(rule, bool) and 0.0 < rule < np.inf:
        return np.full(len(squared_distances), float(rule))
    if not isinstance(rule, str) or rule not in BANDWIDTH_RULES:
        known = ", ".join(map(repr, BANDWIDTH_RULES))
        raise UsageError.about(
            "bandwidth", f"must be one of {known} or a positive number, got {validation.short_repr(rule)}"
        )
    left, right = np.triu_indices(squared_distances.shape[1], 1)
    distances = np.sort(np.sqrt(squared_distances[:, left, right]), axis=1)
    smallest = np.min(distances, axis=1, where=distances > 0.0, initial=np.inf)
    median, mean, largest = distances[:, (len(left) - 1) // 2], distances.mean(axis=1), distances[:, -1]
    chosen = {"median": median / 2, "mean": mean / 2, "max": largest / 2, "max2": largest}[rule]
    chosen = np.where(chosen > 0.0, chosen, np.where(smallest < np.inf, smallest / 2, 0.0))
    return np.where(np.isnan(distances[:, -1]), np.nan, chosen)  # sorting puts NaN last


def gaussian_kernel(squared_distances: Floats, bandwidths: Floats) -> Floats:
    """Compute K_ij = exp(-|z_i - z_j|^2 / (2 c^2)).

    Args:
        squared_distances: Squared distances, shape ``(S, N, N)``.
        bandwidths: Bandwidths c > 0, shape ``(S,)``, or 0 if all distances are 0, so that K is 1 for any c.

    Returns:
        Kernel matrices, shape ``(S, N, N)``, in [0, 1], with ones on the diagonal.
    """
    scale = np.where(bandwidths == 0.0, 1.0, bandwidths)[:, None, None]
    with np.errstate(over="ignore"):  # a tiny c results in K = 0
        return np.exp(-0.5 * (np.sqrt(squared_distances) / scale) ** 2)


def squared_mmd(kernel: Floats, n: int, estimator: str = "unbiased") -> Floats:
    """Compute the squared maximum mean discrepancy between candidates c and references r.

    "unbiased" is sum_{i != j} K(c_i,c_j) / (n(n-1)) + sum_{i != j} K(r_i,r_j) / (m(m-1)) - 2 sum_ij K(c_i,r_j) / (nm)
    (Gretton et al., 2012, Eq. 3) and may be negative. "biased" includes the diagonals, divides by n^2 and m^2 (their
    Eq. 5) and is at least 0. "released" is unbiased + (1 + 1e-5)(1/(n-1) + 1/(m-1)), as computed by the authors' code.
    Chan et al., Eq. 6, prints the same three sums without normalization and with a plus sign at the cross sum. No
    estimator here implements it literally.

    Args:
        kernel: Kernel matrices, shape ``(S, N, N)``, symmetric, candidates first.
        n: Number of candidates. m = N - n.
        estimator: "unbiased", "biased" or "released".

    Returns:
        Squared discrepancies, shape ``(S,)``.
    """
    m = kernel.shape[1] - n
    shift, weight = ESTIMATORS[estimator]
    total = -2.0 * kernel[:, :n, n:].mean(axis=(1, 2))
    for side, size in ((kernel[:, :n, :n], n), (kernel[:, n:, n:], m)):
        diagonal = np.trace(side, axis1=1, axis2=2)
        total += (side.sum(axis=(1, 2)) - (1.0 - weight) * diagonal) / (size * (size - shift))
    return total


def null_distribution(kernel: Floats, candidates: npt.NDArray[np.bool_], estimator: str = "unbiased") -> Floats:
    """Compute `squared_mmd` under every partition.

    Only the weights of pairs i < j differ between partitions, so one matrix product suffices.

    Args:
        kernel: Kernel matrices, shape ``(S, N, N)``, symmetric, constant along each diagonal.
        candidates: Partitions, shape ``(P, N)``, n True in each row, the observed partition in row 0.
        estimator: See `squared_mmd`.

    Returns:
        Squared discrepancies, shape ``(S, P)``. Column 0 contains the observed values.
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
        # The number of candidates in a pair, 0 to 2, selects its weight. Axes: partition, pair.
        null[:, start : start + step] = pairs @ weights[block[:, left].astype(np.int8) + block[:, right]].T
    return null + diagonal


class MmdBert(caption_sets.CaptionSetMetric):
    """Squared maximum mean discrepancy of two caption sets, with permutation p-values.

    MMD-BERT compares the captions that a model samples for an image with human captions: the squared maximum mean
    discrepancy between their sentence embeddings under a Gaussian kernel. Lower is better. Exact permutation p-values
    test whether the two sets could come from one distribution.

    Args:
        predictions: Caption sets sampled from the model, one list of strings per row.
        references: Sets of human captions, one list of strings per row.
        embeddings: Optional embeddings to use instead of an encoder: a mapping from caption to vector, or a pair of
            lists of arrays of shape (n_captions, d).
        return_details: Whether to add bandwidth, distinct captions, partitions, null deviation and null distribution of
            each row, and its captions in the plane of largest variance.

    Returns:
        mmd_bert: Mean of the scores, lower is better. 0 on average for equal distributions, may be negative.
        mmd_bert_scores: One score per row. NaN if a set has fewer than two captions or an embedding is not finite.
        mmd_bert_undefined: Number of undefined scores.
        mmd_bert_signature: Settings and versions that the scores depend on.
        mmd_bert_pvalue, mmd_bert_z, mmd_bert_excess, mmd_bert_excess_interval, mmd_bert_null_mean,
            mmd_bert_mean_log_pvalue, mmd_bert_expected_mean_log_pvalue of the corpus, mmd_bert_pvalues,
            mmd_bert_excess_scores, mmd_bert_null_means, mmd_bert_zscores of the rows: Results of the permutation test,
            with the setting pvalue. See the card.

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

    papers = ("https://aclanthology.org/2024.lrec-main.453", "https://jmlr.org/papers/v13/gretton12a.html")
    setting_groups = (caption_sets.EncoderSettings, caption_sets.PermutationSettings)

    def __init__(
        self,
        *args: Any,
        variant: str = "paper",
        estimator: str | None = None,
        bandwidth: str | float = "median",
        **host: Any,
    ) -> None:
        self.variant = base.check_choice("variant", variant, ("paper", "released"))
        # The authors' code computes a sum of its own.
        if variant == "released" and estimator is not None:
            raise UsageError.about(
                "estimator", f"is not supported with variant='released', got {validation.short_repr(estimator)}"
            )
        self.estimator: str | None = None
        if variant == "paper":
            chosen = "unbiased" if estimator is None else estimator
            self.estimator = base.check_choice("estimator", chosen, ("unbiased", "biased"))
        bandwidths(np.zeros((1, 2, 2)), bandwidth)  # raises an error that lists the valid rules
        self.bandwidth = base.plain_number(bandwidth)
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings for the signature by name, without `estimator` if the variant determines it."""
        fields = super().signature_fields()
        if self.estimator is None:
            del fields["estimator"]
        return fields

    def _compute(
        self, predictions: CaptionSets, references: CaptionSets, embeddings: Any = None, return_details: bool = False
    ) -> dict[str, Any]:
        return self.score_vectors(predictions, references, embeddings, self._score_group, return_details)

    def _score_group(
        self, vectors: npt.NDArray[np.floating], n: int, ways: stats.Partitions | None
    ) -> tuple[caption_sets.Statistic, list[dict[str, Any]]]:
        """Compute the scores, null distributions and bandwidths of examples with n candidates each.

        Args:
            vectors: Embeddings, shape ``(S, N, d)``, candidates first.
            n: Number of candidates.
            ways: Partitions of the null distribution. None for no p-values.

        Returns:
            The statistic, and the details of each example.
        """
        squared = compute_squared_distances(vectors)
        widths = bandwidths(squared, self.bandwidth)
        kernel = gaussian_kernel(squared, widths)
        estimator = self.estimator or self.variant
        null = None if ways is None else null_distribution(kernel, ways.candidates, estimator)
        found = caption_sets.Statistic(squared_mmd(kernel, n, estimator), null)
        return found, [{"bandwidth": width} for width in widths.tolist()]
