"""Predicted ratings of rows of captions, references and images, with each text and image encoded once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.families.clip_score import formula
from vlgauge.families.clip_score import rows
from vlgauge.families.clip_score.backbone_metric import ClipSettings
from vlgauge.models.hidden_layers import AllLayersEncoder
from vlgauge.models.rated.head import PolosRows
from vlgauge.models.rated.head import pair_values
from vlgauge.models.rated.models import PolosModels
from vlgauge.models.rated.models import clip_texts

_TEXTS = 4096  # texts whose layers are in memory at the same time: 160 MB of RoBERTa


@dataclass(frozen=True)
class PolosScores:
    """Scores of n rows.

    Attributes:
        scores: Scores, shape ``(n,)``. NaN without references or a readable image.
        values: Value for each evaluated reference, by row.
        unreadable: Whether the image of each row could not be read, shape ``(n,)``.
    """

    scores: npt.NDArray[np.float64]
    values: list[list[float]]
    unreadable: npt.NDArray[np.bool_]


def score(
    models: PolosModels,
    read: rows.TextRows,
    images: Sequence[Any],
    image_of: npt.NDArray[np.intp],
    *,
    released: int | None,
    half: bool,
    clip: ClipSettings,
    progress: Any,
) -> PolosScores:
    """Score rows of captions, references and images.

    Args:
        models: Encoders and prediction head.
        read: Candidates and references.
        images: Distinct images.
        image_of: Index of the image of each row, shape ``(n,)``.
        released: Rows per batch of the authors' code. None to normalize over single texts.
        half: See `vlgauge.models.rated.head.pair_values`.
        clip: Settings for unreadable images and for the number of items per forward pass.
        progress: See `vlgauge.core.progress`.
    """
    how = {"batch_size": clip.batch_size, "progress": progress}
    texts, n = read.pieces.texts, read.n_rows
    seen = models.clip.project(models.clip.image_hidden(images, on_error=clip.on_error, **how), "image")
    broken = np.isnan(seen).any(axis=1)
    # Rows of unreadable images become undefined below, so any finite value is valid here.
    v, c = np.where(broken[:, None], 0, seen), clip_texts(models.clip, texts, **how)
    row, text_of, number = read.pairs[0], read.pairs[1], read.pair_references
    own, every = read.units, np.arange(n)
    if released is None:
        t = r = _mix_texts(models, texts, how)
        t_of, r_of = own, text_of
    else:
        released = min(released, n)
        kept = number < _shortest(read, released)[row]
        row, text_of, number = row[kept], text_of[kept], number[kept]
        t, r = _mix_batches(models, texts, own, (row, text_of, number), released, how)
        t_of, r_of = every, np.arange(len(row))
    given = PolosRows(t, r, v, c, (t_of, image_of, own), (row, r_of, text_of))
    values = pair_values(models.head, given, half=half)
    unreadable = broken[image_of]
    values[unreadable[row]] = np.nan
    scores, _ = formula.group_maxima(values, row, n)
    cuts = np.searchsorted(row, every[1:])
    return PolosScores(scores, [part.tolist() for part in np.split(values, cuts)], unreadable)


def find_cut_texts(text: AllLayersEncoder, read: rows.TextRows) -> npt.NDArray[np.bool_]:
    """Return which candidates, followed by references, the text encoder truncates.

    The result is independent of truncation by CLIP.

    Returns:
        Shape ``(n_candidates + n_references,)``, bool.
    """
    return np.array(text.token_ids(read.pieces.texts)[1], dtype=bool)[read.pieces.index]


def _shortest(read: rows.TextRows, size: int) -> npt.NDArray[np.intp]:
    """Return the minimum number of references in the batch of each row, shape ``(n,)``."""
    counts = np.bincount(read.pairs[0], minlength=read.n_rows)
    fewest = np.minimum.reduceat(counts, np.arange(0, read.n_rows, size))
    return np.repeat(fewest, size)[: read.n_rows]


def _mix_texts(models: PolosModels, texts: Sequence[str], how: dict[str, Any]) -> npt.NDArray[Any]:
    """Return the mixed embeddings of texts, each normalized over itself.

    Texts are encoded in sorted order, so that the embeddings do not depend on the order of the rows.
    """
    order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
    found = np.empty((len(texts), models.text.width), np.float32)
    for start in range(0, len(order), _TEXTS):
        part = order[start : start + _TEXTS]
        found[part] = models.head.texts(models.text.layers([texts[i] for i in part], **how))
    return found


def _mix_batches(
    models: PolosModels,
    texts: Sequence[str],
    own: npt.NDArray[np.intp],
    pairs: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]],
    size: int,
    how: dict[str, Any],
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the mixed embeddings of the candidates of rows and of the references of pairs, normalized by batch.

    The candidates of a batch are normalized together, then its first references, then its second references, and so on.
    """
    row, text_of, number = pairs
    t, r = (np.empty((n, models.text.width), np.float32) for n in (len(own), len(row)))
    step = max(1, _TEXTS // (4 * size)) * size
    for start in range(0, len(own), step):
        rows_here = slice(start, min(start + step, len(own)))
        first, last = np.searchsorted(row, [rows_here.start, rows_here.stop])
        wanted, places = np.unique(np.concatenate([own[rows_here], text_of[first:last]]), return_inverse=True)
        layers = models.text.layers([texts[i] for i in wanted], **how)
        cut = rows_here.stop - rows_here.start
        t[rows_here] = models.head.texts(layers[places[:cut]], np.arange(cut) // size)
        batch = (row[first:last] - start) // size * (int(number.max()) + 1 if len(number) else 1) + number[first:last]
        r[first:last] = models.head.texts(layers[places[cut:]], np.unique(batch, return_inverse=True)[1])
    return t, r
