"""Polos (Wada et al., 2024): a head fitted to human ratings, on features of RoBERTa and CLIP.

The equations of the paper do not define how the layers of RoBERTa are combined, so this follows the authors' code. For
training, the functions also accept torch tensors instead of arrays.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.models.hidden_layers import LayerFeatures

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Positions = npt.NDArray[np.intp]

EPSILON = 1e-12  # added to the variance of a layer
_PAIRS = 2048  # maximum number of pairs whose features are concatenated at once: 21 MB with 2,560 values each


def normalize_layers(texts: LayerFeatures, batch: Positions | None = None) -> Floats:
    """Normalize the layers of the first token, (h - m) / sqrt(v + 1e-12).

    Args:
        texts: n texts.
        batch: Batch index of each text, shape ``(n,)``, to compute the mean m and variance v over all tokens of the
            batch, as in the authors' code. None to compute them over the tokens of each text.

    Returns:
        Normalized layers, shape ``(n, n_layers, width)``, float64.
    """
    width = texts.first.shape[2]
    weights = (texts.sizes * width).astype(np.float64)[:, None]
    means, squares = texts.means, texts.spreads
    if batch is not None:
        n = int(batch.max()) + 1 if len(batch) else 0
        totals = _sum_layers(weights, batch, n)
        centres = _sum_layers(weights * means, batch, n) / totals
        squares = _sum_layers(squares + weights * (means - centres[batch]) ** 2, batch, n)[batch]
        means, weights = centres[batch], totals[batch]
    return (texts.first - means[:, :, None]) / np.sqrt(squares / weights + EPSILON)[:, :, None]


def _sum_layers(values: Floats, batch: Positions, n: int) -> Floats:
    sums = np.zeros((n, values.shape[1]))
    np.add.at(sums, batch, values)
    return sums


def mix_layers(layers: Any, shares: Any, gamma: Any) -> Any:
    """Compute the embeddings gamma * sum_l w_l h_l of texts.

    Args:
        layers: h, as returned by `normalize_layers`, shape ``(n, n_layers, width)``.
        shares: w, which sum to 1, shape ``(n_layers,)``.
        gamma: Scalar factor.

    Returns:
        Embeddings, shape ``(n, width)``.
    """
    return gamma * (shares[:, None] * layers).sum(1)


def text_parts(t: Any, r: Any) -> tuple[Any, Any]:
    """Return |t - r| and t * r, the features of a candidate t and a reference r in addition to t and r.

    All four have the same shape and are arrays or tensors.
    """
    return abs(t - r), t * r


def features(t: Any, r: Any, v: Any, c: Any, c_r: Any) -> tuple[Any, ...]:
    """Return the components of the input x of the head, in order (Wada et al., 2024, Section 4).

    Args:
        t: RoBERTa embeddings of the candidates.
        r: RoBERTa embeddings of the references.
        v: CLIP embeddings of the images, not normalized.
        c: CLIP embeddings of the candidates, not normalized.
        c_r: CLIP embeddings of the references, not normalized.

    Returns:
        Components, shape ``(n, width)`` each.
    """
    return (r, t, *text_parts(t, r), v, c, *text_parts(v, c), *text_parts(c_r, c))


@dataclass(frozen=True, eq=False)
class Head:
    """Head fitted to human ratings: the weights of the layers, and three linear layers.

    Attributes:
        scalars: Weights of the layers before the softmax, shape ``(n_layers,)``.
        gamma: Factor of the mixed embedding.
        matrices: Weights of the linear layers, float32, shape ``(n_out, n_in)`` each. The last one has a single output.
        biases: Biases of the linear layers, float32, shape ``(n_out,)`` each.
        digest: SHA-256 over all of these, used in signatures.
        metadata: Metadata of the file about the encoders and the training.
    """

    scalars: npt.NDArray[np.float32]
    gamma: float
    matrices: tuple[Vectors, ...]
    biases: tuple[Vectors, ...]
    digest: str
    metadata: Mapping[str, str]

    @property
    def shares(self) -> Floats:
        """Weight of each layer, the softmax of `scalars`, shape ``(n_layers,)``."""
        powers = np.exp(self.scalars.astype(np.float64) - self.scalars.max())
        return powers / powers.sum()

    def texts(self, texts: LayerFeatures, batch: Positions | None = None) -> Vectors:
        """Return the mixed embeddings of texts, shape ``(n, width)``, float32. See `normalize_layers` for `batch`."""
        return np.asarray(mix_layers(normalize_layers(texts, batch), self.shares, self.gamma), dtype=np.float32)

    def check(self, *, layers: int, text_width: int, embed_width: int) -> None:
        """Check that the head fits to encoders of these sizes.

        Raises:
            ValueError: If it does not.
        """
        wanted = (layers, 4 * text_width + 6 * embed_width)
        found = (len(self.scalars), self.matrices[0].shape[1])
        if wanted != found:
            raise UsageError.about(
                "checkpoint",
                f"must be a head for these encoders, {layers} layers and 4 x {text_width} + 6 x {embed_width} = "
                f"{wanted[1]} numbers, got one for {found[0]} layers and {found[1]} numbers",
            )


@dataclass(frozen=True)
class PolosRows:
    """Embeddings, rows and pairs of a candidate and a reference. Rows and pairs are indices of embeddings.

    Attributes:
        t: RoBERTa embeddings of the candidates, shape ``(n_t, width)``.
        r: RoBERTa embeddings of the references, shape ``(n_r, width)``.
        v: CLIP embeddings of the images, shape ``(n_v, embed)``.
        c: CLIP embeddings of the texts, shape ``(n_c, embed)``.
        rows: Indices of each row in t, in v and in c, shape ``(n,)`` each.
        pairs: Row index, index in r and index in c of each pair, shape ``(n_pairs,)`` each, with ascending rows.
    """

    t: Vectors
    r: Vectors
    v: Vectors
    c: Vectors
    rows: tuple[Positions, Positions, Positions]
    pairs: tuple[Positions, Positions, Positions]


def pair_values(head: Head, given: PolosRows, *, half: bool = False) -> Floats:
    """Compute the Polos score of each pair, the sigmoid of the head applied to `features`.

    The contributions of shared embeddings to the first layer are computed once per text, image or row.

    Args:
        head: The head.
        given: Embeddings and pairs.
        half: Whether to round CLIP embeddings and their combinations to float16, as in the first releases of the
            authors.

    Returns:
        Scores, shape ``(n_pairs,)``, range [0, 1].
    """
    width, embed = given.t.shape[1], given.v.shape[1]
    of_r, of_t, of_texts, of_v, of_c, of_image, of_clips = np.split(
        head.matrices[0].T, np.cumsum([width, width, 2 * width, embed, embed, 2 * embed]), axis=0
    )
    rounded = np.float16 if half else np.float32
    v, c = given.v.astype(rounded), given.c.astype(rounded)
    (row_t, row_v, row_c), (pair_row, pair_r, pair_c) = given.rows, given.pairs
    shared_t, shared_r = given.t @ of_t, given.r @ of_r
    shared_v, shared_c = v.astype(np.float32) @ of_v, c.astype(np.float32) @ of_c
    values = np.empty(len(pair_row))
    for rows, pairs in _pieces(len(row_t), pair_row):
        seen = np.concatenate(text_parts(v[row_v[rows]], c[row_c[rows]]), axis=1).astype(np.float32)
        of_row = shared_t[row_t[rows]] + shared_v[row_v[rows]] + shared_c[row_c[rows]] + seen @ of_image
        row, r = pair_row[pairs], pair_r[pairs]
        texts = np.concatenate(text_parts(given.t[row_t[row]], given.r[r]), axis=1)
        clips = np.concatenate(text_parts(c[pair_c[pairs]], c[row_c[row]]), axis=1).astype(np.float32)
        x = of_row[row - rows.start] + shared_r[r] + texts @ of_texts + clips @ of_clips
        x = np.tanh(x + head.biases[0])
        for matrix, bias in zip(head.matrices[1:-1], head.biases[1:-1], strict=True):
            x = np.tanh(x @ matrix.T + bias)
        logits = (x @ head.matrices[-1].T + head.biases[-1])[:, 0].astype(np.float64)
        with np.errstate(over="ignore"):
            values[pairs] = 1 / (1 + np.exp(-logits))
    return values


def _pieces(n_rows: int, pair_row: Positions) -> Iterator[tuple[slice, slice]]:
    """Yield consecutive rows with their pairs, about `_PAIRS` pairs at a time."""
    start = 0
    while start < n_rows:
        first = int(np.searchsorted(pair_row, start))
        last = first + _PAIRS
        stop = n_rows if last >= len(pair_row) else max(start + 1, int(pair_row[last]))
        stop = min(stop, start + _PAIRS)
        yield slice(start, stop), slice(first, int(np.searchsorted(pair_row, stop)))
        start = stop
