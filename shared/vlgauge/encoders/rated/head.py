"""Polos (Wada et al., 2024): a head that was fitted to ratings, on vectors of RoBERTa and CLIP.

The paper's own equations leave out how the layers of RoBERTa become one vector; that follows the authors' code. A
training computes the same with tensors of torch in the place of arrays.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.encoders.hidden_layers import LayeredTexts
from vlgauge.errors import UsageError

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Positions = npt.NDArray[np.intp]

EPSILON = 1e-12  # of the normalisation of a layer
_PAIRS = 2048  # pairs whose parts are laid side by side at once: 21 MB at 2,560 numbers each


def normalised_layers(texts: LayeredTexts, batch: Positions | None = None) -> Floats:
    """Layers (h - m) / sqrt(v + 1e-12) of the first token, shape ``(n, n_layers, width)``.

    Args:
        texts: n texts.
        batch: Number of the batch of each text, shape ``(n,)``: m and v are those of all tokens of the batch, as in
            the authors' code. None: those of the tokens of the text alone.
    """
    width = texts.first.shape[2]
    weights = (texts.sizes * width).astype(np.float64)[:, None]
    means, squares = texts.means, texts.spreads
    if batch is not None:
        n = int(batch.max()) + 1 if len(batch) else 0
        totals = _summed(weights, batch, n)
        centres = _summed(weights * means, batch, n) / totals
        squares = _summed(squares + weights * (means - centres[batch]) ** 2, batch, n)[batch]
        means, weights = centres[batch], totals[batch]
    return (texts.first - means[:, :, None]) / np.sqrt(squares / weights + EPSILON)[:, :, None]


def _summed(values: Floats, batch: Positions, n: int) -> Floats:
    sums = np.zeros((n, values.shape[1]))
    np.add.at(sums, batch, values)
    return sums


def mixed(layers: Any, shares: Any, gamma: Any) -> Any:
    """Vectors gamma * sum_l w_l h_l of texts, shape ``(n, width)``.

    Args:
        layers: h, as `normalised_layers` makes them, shape ``(n, n_layers, width)``.
        shares: w, which sum to 1, shape ``(n_layers,)``.
        gamma: A number.
    """
    return gamma * (shares[:, None] * layers).sum(1)


def text_parts(t: Any, r: Any) -> tuple[Any, Any]:
    """What the head is told of a candidate t and a reference r beside the two: |t - r| and t * r."""
    return abs(t - r), t * r


def features(t: Any, r: Any, v: Any, c: Any, c_r: Any) -> tuple[Any, ...]:
    """The parts of x, which goes into the head, of shape ``(n, width)`` each, in order (Wada et al., 2024, Sec. 4).

    Args:
        t: Candidates, by RoBERTa.
        r: References, by RoBERTa.
        v: Pictures, by CLIP, not normalised.
        c: Candidates, by CLIP, not normalised.
        c_r: References, by CLIP, not normalised.
    """
    return (r, t, *text_parts(t, r), v, c, *text_parts(v, c), *text_parts(c_r, c))


@dataclass(frozen=True, eq=False)
class Head:
    """What was fitted to ratings: the shares of the layers, and three linear layers.

    Attributes:
        scalars: Shares of the layers before the softmax, shape ``(n_layers,)``.
        gamma: Factor of the mixed vector.
        matrices: Of the linear layers, float32, shape ``(n_out, n_in)`` each; the last has one output.
        biases: Of the linear layers, float32, shape ``(n_out,)`` each.
        digest: SHA-256 over all of these, for signatures.
        metadata: What the file says of the encoders and of the training.
    """

    scalars: npt.NDArray[np.float32]
    gamma: float
    matrices: tuple[Vectors, ...]
    biases: tuple[Vectors, ...]
    digest: str
    metadata: Mapping[str, str]

    @property
    def shares(self) -> Floats:
        """The share of each layer, softmax of `scalars`."""
        powers = np.exp(self.scalars.astype(np.float64) - self.scalars.max())
        return powers / powers.sum()

    def texts(self, texts: LayeredTexts, batch: Positions | None = None) -> Vectors:
        """Mixed vectors of texts, shape ``(n, width)``; for `batch` see `normalised_layers`."""
        return np.asarray(mixed(normalised_layers(texts, batch), self.shares, self.gamma), dtype=np.float32)

    def check(self, *, layers: int, text_width: int, embed_width: int) -> None:
        """Refuse a head for encoders of other sizes."""
        wanted = (layers, 4 * text_width + 6 * embed_width)
        found = (len(self.scalars), self.matrices[0].shape[1])
        if wanted != found:
            raise UsageError(
                f"`checkpoint` must be a head for these encoders, {layers} layers and 4 x {text_width} + 6 x "
                f"{embed_width} = {wanted[1]} numbers, got one for {found[0]} layers and {found[1]} numbers"
            )


@dataclass(frozen=True)
class PolosRows:
    """Rows and pairs of a candidate and a reference, as positions among vectors.

    Attributes:
        t: Candidates by the text encoder, shape ``(n_t, width)``.
        r: References by the text encoder, shape ``(n_r, width)``.
        v: Pictures by CLIP, shape ``(n_v, embed)``.
        c: Texts by CLIP, shape ``(n_c, embed)``.
        rows: Position in t, in v and in c of each row, shape ``(n,)`` each.
        pairs: Row, position in r and position in c of each pair, shape ``(n_pairs,)`` each, rows ascending.
    """

    t: Vectors
    r: Vectors
    v: Vectors
    c: Vectors
    rows: tuple[Positions, Positions, Positions]
    pairs: tuple[Positions, Positions, Positions]


def pair_values(head: Head, given: PolosRows, *, half: bool = False) -> Floats:
    """Polos of each pair, shape ``(n_pairs,)``, range 0..1: sigmoid of the head, `features` through its linear layers.

    What the first layer makes of a part that many pairs share is computed once per text, picture or row.

    Args:
        head: The head.
        given: Vectors and pairs.
        half: Whether CLIP's vectors, and what is made of two of them, are rounded to float16 as in the authors' first
            releases.
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
    """Rows one after the other with their pairs, about `_PAIRS` pairs at a time."""
    start = 0
    while start < n_rows:
        first = int(np.searchsorted(pair_row, start))
        last = first + _PAIRS
        stop = n_rows if last >= len(pair_row) else max(start + 1, int(pair_row[last]))
        stop = min(stop, start + _PAIRS)
        yield slice(start, stop), slice(first, int(np.searchsorted(pair_row, stop)))
        start = stop
