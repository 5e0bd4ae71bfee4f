"""Frechet-BERT: How far apart are Gaussians fitted to two caption sets?"""

from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge import stats  # From: "vlgauge[frechet-bert]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import caption_sets  # From: "vlgauge[frechet-bert]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

CaptionSets = caption_sets.CaptionSets
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Relative to the total sum of squares around the pooled mean: equal sets were found up to 4e-16 apart.
_ROUNDING = 1e-14
_BLOCK = 2**19  # entries of a working array: 4 MB fit into the cache


def gram_matrices(vectors: npt.NDArray[np.floating]) -> Floats:
    """Compute the inner products of the pooled captions of S examples after their mean is subtracted.

    Args:
        vectors: Embeddings, shape ``(S, N, d)``, candidates first, of any norm.

    Returns:
        Gram matrices, shape ``(S, N, N)``. Each row sums to 0. All NaN for an example with a non-finite embedding.
    """
    gram = np.empty((len(vectors), vectors.shape[1], vectors.shape[1]))
    step = max(1, _BLOCK // max(1, vectors[:1].size))
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(vectors), step):
            block = vectors[start : start + step].astype(np.float64)  # a copy
            # Subtract the first vector, so that the mean of equal vectors is exactly 0.
            block -= block[:, :1].copy()
            centred = block - block.mean(axis=1, keepdims=True)
            gram[start : start + step] = centred @ centred.swapaxes(1, 2)
    finite = np.isfinite(gram).all(axis=(1, 2))
    gram[np.flatnonzero(~finite)] = np.nan
    return gram


def frechet_distances(gram: Floats, candidates: Bools) -> Floats:
    """Compute the squared Frechet distance of Gaussians fitted to candidates c and references r, under every partition.

    F = |mu_c - mu_r|^2 + Tr S_c + Tr S_r - 2 Tr (S_c S_r)^(1/2), with covariances over n-1 and m-1 (Chan et al., Eq. 5,
    which prints the first norm without the square). Let A and B be the centered vectors of the two sides. The non-zero
    eigenvalues of S_c S_r are the squared singular values of A B^T / sqrt((n-1)(m-1)), hence Tr (S_c S_r)^(1/2) = ||A
    B^T||_* / sqrt((n-1)(m-1)), the nuclear norm of an n x m matrix.

    Args:
        gram: Inner products around the pooled mean from `gram_matrices`, shape ``(S, N, N)``.
        candidates: Partitions, shape ``(P, N)``, n True in each row.

    Returns:
        Distances, shape ``(S, P)``, at least 0. NaN if `gram` is NaN.
    """
    n_captions = candidates.shape[1]
    n = int(np.count_nonzero(candidates[0]))
    undefined = np.isnan(gram.sum(axis=(1, 2)))
    known = np.where(undefined[:, None, None], 0.0, gram)  # LAPACK does not accept NaN
    # F is symmetric, so half of all partitions into equal halves is enough.
    mirrored = 2 * n == n_captions and np.array_equal(candidates, ~candidates[::-1])
    wanted = candidates[: len(candidates) // 2] if mirrored else candidates
    distances = np.empty((len(gram), len(wanted)))
    step = max(1, _BLOCK // max(1, len(gram) * n * (n_captions - n)))
    for start in range(0, len(wanted), step):
        distances[:, start : start + step] = _frechet_block(known, wanted[start : start + step], n)
    if mirrored:
        distances = np.concatenate([distances, distances[:, ::-1]], axis=1)
    distances[undefined] = np.nan
    return distances


def _frechet_block(gram: Floats, candidates: Bools, n: int) -> Floats:
    """Compute `frechet_distances` of a few partitions, with all matrices at the same time."""
    m = candidates.shape[1] - n
    ours = np.nonzero(candidates)[1].reshape(-1, n)
    theirs = np.nonzero(~candidates)[1].reshape(-1, m)
    # Axes: example, partition, candidate, reference.
    cross = gram[:, ours[:, :, None], theirs[:, None, :]]
    rows, columns = cross.mean(axis=3, keepdims=True), cross.mean(axis=2, keepdims=True)
    mean = rows.mean(axis=2, keepdims=True)
    nuclear = np.linalg.svd(cross - rows - columns + mean, compute_uv=False).sum(axis=2)
    # Around the pooled mean, the vectors of the two sides have opposite sums, of squared length -sum(cross).
    squared_sum = -n * m * mean[:, :, 0, 0]
    squares = np.diagonal(gram, axis1=1, axis2=2)  # axes: example, caption
    of_candidates = squares[:, ours].sum(axis=2)  # axes: example, partition
    of_references = squares.sum(axis=1, keepdims=True) - of_candidates
    traces = (of_candidates - squared_sum / n) / (n - 1) + (of_references - squared_sum / m) / (m - 1)
    distances = squared_sum * (1 / n + 1 / m) ** 2 + traces - 2 * nuclear / np.sqrt((n - 1) * (m - 1))
    return _without_rounding(distances, gram)


def compute_squared_mean_distances(gram: Floats, n: int) -> Floats:
    """Compute |mu_c - mu_r|^2, the component of the Frechet distance due to the means.

    Args:
        gram: Inner products, shape ``(S, N, N)``. See `frechet_distances`.
        n: Number of candidates, which come first.

    Returns:
        Squared distances, shape ``(S,)``.
    """
    m = gram.shape[1] - n
    weights = np.repeat([1 / n, -1 / m], [n, m])
    return _without_rounding((gram @ weights @ weights)[:, None], gram)[:, 0]


def _without_rounding(distances: Floats, gram: Floats) -> Floats:
    """Set distances, shape ``(S, P)``, to 0 if rounding alone can produce them for equal sides."""
    least = _ROUNDING * np.trace(gram, axis1=1, axis2=2)[:, None]
    return np.where(distances > least, distances, np.where(np.isnan(distances), np.nan, 0.0))


def tie_tolerances(gram: Floats) -> Floats:
    """Return 1e-9 of the pooled variance, the tolerance for tied distances, independent of the scale of the embeddings.

    Args:
        gram: Inner products, shape ``(S, N, N)``. See `frechet_distances`.

    Returns:
        Tolerances, shape ``(S,)``.
    """
    variance: Floats = np.trace(gram, axis1=1, axis2=2) / gram.shape[1]
    return stats.TOLERANCE * variance


class FrechetBert(caption_sets.CaptionSetMetric):
    """Squared Frechet distance of two caption sets, with permutation p-values.

    Frechet-BERT compares the captions that a model samples for an image with human captions: the squared 2-Wasserstein
    distance between Gaussians with the means and covariances of their sentence embeddings. Lower is better. Exact
    permutation p-values test whether the two sets could come from one distribution.

    Args:
        predictions: Caption sets sampled from the model, one list of strings per row.
        references: Sets of human captions, one list of strings per row.
        embeddings: Optional embeddings to use instead of an encoder: a mapping from caption to vector, or a pair of
            lists of arrays of shape (n_captions, d).
        return_details: Whether to add the component due to the means, distinct captions, partitions, null deviation and
            null distribution of each row, and its captions in the plane of largest variance.

    Returns:
        frechet_bert: Mean of the scores, at least 0, lower is better. It is above 0 even for equal distributions, and
            more so for smaller caption sets.
        frechet_bert_scores: One score per row. NaN if a set has fewer than two captions or an embedding is not finite.
        frechet_bert_undefined: Number of undefined scores.
        frechet_bert_signature: Settings and versions that the scores depend on.
        frechet_bert_pvalue, frechet_bert_z, frechet_bert_excess, frechet_bert_excess_interval, frechet_bert_null_mean,
            frechet_bert_mean_log_pvalue, frechet_bert_expected_mean_log_pvalue of the corpus, frechet_bert_pvalues,
            frechet_bert_excess_scores, frechet_bert_null_means, frechet_bert_zscores of the rows: Results of the
            permutation test, with the setting pvalue. See the card.

    Examples:
        >>> import evaluate
        >>> frechet_bert = evaluate.load("vlgauge/frechet_bert", pvalue="exact")
        >>> vectors = {"a dog": [0.0, 1.0], "a hound": [0.0, 2.0], "a plane": [3.0, 1.0], "a jet": [3.0, 2.0]}
        >>> result = frechet_bert.compute(
        ...     predictions=[["a dog", "a hound"]], references=[["a plane", "a jet"]], embeddings=vectors
        ... )
        >>> print(round(result["frechet_bert"], 4))
        9.0
        >>> print(round(result["frechet_bert_pvalues"][0], 4))
        0.3333
    """

    papers = ("https://aclanthology.org/2024.lrec-main.453", "https://arxiv.org/abs/1706.08500")
    setting_groups = (caption_sets.EncoderSettings, caption_sets.PermutationSettings)

    def _compute(
        self, predictions: CaptionSets, references: CaptionSets, embeddings: Any = None, return_details: bool = False
    ) -> dict[str, Any]:
        return self.score_vectors(predictions, references, embeddings, self._score_group, return_details)

    def _score_group(
        self, vectors: npt.NDArray[np.floating], n: int, ways: stats.Partitions | None
    ) -> tuple[caption_sets.Statistic, list[dict[str, Any]]]:
        """Compute the scores and null distributions of examples with n candidates each.

        Args:
            vectors: Embeddings, shape ``(S, N, d)``, candidates first.
            n: Number of candidates.
            ways: Partitions of the null distribution. None for no p-values.

        Returns:
            The statistic, and the details of each example.
        """
        gram = gram_matrices(vectors)
        details = [{"squared_mean_distance": part} for part in compute_squared_mean_distances(gram, n).tolist()]
        candidates = np.arange(gram.shape[1])[None] < n if ways is None else ways.candidates
        found = frechet_distances(gram, candidates)
        null = None if ways is None else found
        return caption_sets.Statistic(found[:, 0], null, tolerance=tie_tolerances(gram)), details
