"""A loaded CLIP: pictures and texts to vectors before the projection, each computed once."""

from __future__ import annotations

import copy
import hashlib
import threading
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vlgauge.encoders import TextHidden
from vlgauge.encoders.clip.heads import Adapter
from vlgauge.encoders.clip.pixels import (
    PictureId,
    batched,
    decoded_batches,
    distinct_pictures,
    preprocessing,
    skip_rest,
    sorted_ids,
)
from vlgauge.encoders.clip.tokens import Tokens, buckets, in_order, padded
from vlgauge.encoders.clip.towers import ClipTowers, HalvedBatches
from vlgauge.encoders.clip.toy import TOY_NAME, tell_of_pictures
from vlgauge.encoders.features.disk import DiskStore, preprocess_id
from vlgauge.encoders.features.memory import LayeredStore, process_memory
from vlgauge.errors import UsageError
from vlgauge.media.pictures import Picture
from vlgauge.progress import Progress, progress_bar
from vlgauge.settings import one_of, whole_number
from vlgauge.torch_use import check_fork

if TYPE_CHECKING:
    import torch


class ClipEncoder:
    """A loaded CLIP; every distinct picture and text goes through it once and is remembered.

    A row does not depend on order, duplicates and batch size by more than 1e-6. Order and duplicates change no bit, on
    one machine with the same libraries and as many threads, as long as nothing is remembered from calls before.

    Attributes:
        identity: Such as ``"ViT-B-32-quickgelu@1a2b3c4d"``: architecture and digest of the weights.
        architecture: Name in open_clip.
        row: Everything that is known about the architecture.
        digest: SHA-256 of the weights.
        forwards: How many items went through a tower, under ``"image"`` and ``"text"``.
        verified: False if the weights are a checkpoint that could not be compared with plain CLIP.
    """

    def __init__(self, towers: ClipTowers, tokens: Tokens, digest: str, *, verified: bool = True) -> None:
        self.row = towers.row
        self.architecture = self.row.architecture
        self.identity = f"{self.architecture}@{digest[:8]}"
        self.digest = digest
        self.verified = verified
        self.forwards: Counter[str] = Counter()
        self._towers = towers
        self._tokens = tokens
        self._scope = object()
        self._counting = threading.Lock()
        self._folder: Path | None = None
        # What was remembered goes when nobody holds the weights any more.
        weakref.finalize(towers, process_memory.forget, self._scope).atexit = False

    @property
    def n_bytes(self) -> int:
        """Bytes of the weights and of the remembered vectors."""
        return self._towers.n_bytes + process_memory.bytes_of(self._scope)

    @property
    def model(self) -> torch.nn.Module:
        """The module, in evaluation mode; nobody may change it."""
        return self._towers.model

    def pixels(self, squares: np.ndarray) -> torch.Tensor:
        """Return squares of pictures as the image tower takes them, on its device; see `ClipTowers.pixels`."""
        return self._towers.pixels(squares)

    def with_feature_cache(self, folder: str | Path) -> ClipEncoder:
        """The same encoder, which also keeps its vectors in a folder."""
        other = copy.copy(self)
        other._folder = Path(folder).expanduser()
        return other

    def image_hidden(
        self,
        pictures: Sequence[Picture],
        *,
        adapter: Adapter | None = None,
        batch_size: int = 64,
        on_error: Literal["raise", "nan"] = "raise",
        progress: Progress = None,
    ) -> np.ndarray:
        """Vectors of the pictures before the projection, shape ``(n_pictures, width)``, float32.

        A ResNet has no such vectors: its rows are pooled and projected, width `embed_width`.

        Args:
            pictures: See `vlgauge.media.pictures`.
            adapter: Looked at for a ResNet only, whose attention pool is its head.
            batch_size: Pictures per forward pass.
            on_error: ``"nan"``: the row of a picture that cannot be read is NaN.
            progress: See `vlgauge.progress`.

        Warns:
            UserWarning: If this is the toy CLIP, at its first picture in the process.
        """
        one_of("on_error", on_error, ("raise", "nan"))
        whole_number("batch_size", batch_size, 1)
        check_fork()
        head = adapter.attention_pool if adapter is not None and self.row.resnet else None
        stores = {convert: self._image_store(convert, adapter if head else None) for convert in ("early", "late")}
        ids, distinct = distinct_pictures(pictures, on_error)
        if distinct and self.row.name == TOY_NAME:
            tell_of_pictures()
        rows = known_rows(distinct, stores)
        new = sorted_ids(distinct, set(distinct) - set(rows))
        skip_rest(pictures, {id(distinct[name]) for name in new})
        note = f"Encoding images ({len(rows)} of {len(distinct)} known)"
        forward = HalvedBatches(lambda squares: list(self._towers.image(squares, head)))
        try:
            wanted = [distinct[name] for name in new]
            with (
                decoded_batches(wanted, self.row, batch_size) as squares,
                progress_bar(len(new), note, progress) as advance,
            ):
                for batch, opened in zip(batched(new, batch_size), squares, strict=True):
                    seen = self._seen(batch, opened, forward, on_error)
                    rows.update(seen)
                    for convert, store in stores.items():
                        store.put({key: vector for (kind, key), vector in seen.items() if kind == convert})
                    advance(len(batch))
        finally:
            for store in stores.values():
                store.flush()
        return _stacked(ids, rows, self._width("image"))

    def text_hidden(
        self,
        texts: Sequence[str],
        *,
        prompt: str = "",
        tokens: bool = False,
        batch_size: int = 64,
        progress: Progress = None,
    ) -> TextHidden:
        """Vectors of the texts before the projection.

        Args:
            texts: Any strings; over the context of the row they are cut, and `truncated` says so.
            prompt: Stands before every text.
            tokens: Whether the vectors of every token are wanted too; those are not remembered.
            batch_size: Texts of full length per forward pass; more of them if they are shorter, but for 1.
            progress: See `vlgauge.progress`.
        """
        if tokens and not self._towers.own_text:
            raise UsageError(
                f"`tokens` must be False with {self.architecture}, whose text tower gives no token vectors"
            )
        whole_number("batch_size", batch_size, 1)
        check_fork()
        ids, truncated = self._tokens([prompt + text for text in texts])
        keys = {row.tobytes(): hashlib.sha256(row.tobytes()).digest() for row in ids}
        store = self._store("text", {})
        ends = {} if tokens else store.get(list(keys.values()))
        new = in_order([row for row in ids if keys[row.tobytes()] not in ends])
        every: dict[bytes, np.ndarray] = {}
        try:
            with progress_bar(len(new), f"Encoding texts ({len(ends)} of {len(keys)} known)", progress) as advance:
                forward = HalvedBatches(lambda part: self._read(part, tokens))
                for batch in buckets(new, batch_size, self._tokens.context):
                    read = {keys[row.tobytes()]: vectors for row, vectors in zip(batch, forward(batch), strict=True)}
                    seen = {key: vectors[0] for key, vectors in read.items()}
                    store.put(seen)
                    ends.update(seen)
                    every.update({key: vectors[1] for key, vectors in read.items()})
                    advance(len(batch))
        finally:
            store.flush()
        names = [keys[row.tobytes()] for row in ids]
        end = _stacked(names, ends, self._width("text"))
        return TextHidden(end, truncated, [every[name] for name in names] if tokens else None, ids)

    def project(self, hidden: np.ndarray, side: Literal["image", "text"], adapter: Adapter | None = None) -> np.ndarray:
        """Vectors after the projection, shape ``(n, embed_width)``, float32, not normalised.

        Args:
            hidden: Rows of `image_hidden` or `text_hidden`, shape ``(n, width)``, or tokens of a text.
            side: ``"image"`` or ``"text"``.
            adapter: Other matrices in place of the encoder's own.
        """
        one_of("side", side, ("image", "text"))
        rows = np.asarray(hidden, dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1] != self._width(side):
            raise UsageError.about("hidden", f"must have the shape (n, {self._width(side)}), got {rows.shape}")
        matrix = self._towers.projection(side)
        if matrix is None:
            return rows
        if adapter is not None:
            matrix = adapter.tensors["visual.proj" if side == "image" else "text_projection"]
        if not len(rows):
            return np.zeros((0, matrix.shape[1]), dtype=np.float32)
        # Distinct rows in an order of their own, because BLAS may round a row by where it stands.
        raw = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).reshape(-1)
        _, first, row_of = np.unique(raw, return_index=True, return_inverse=True)
        return np.asarray((rows[first] @ matrix)[row_of.reshape(-1)], dtype=np.float32)

    def _seen(
        self,
        batch: Sequence[PictureId],
        opened: Sequence[np.ndarray | UsageError],
        forward: HalvedBatches,
        on_error: str,
    ) -> dict[PictureId, np.ndarray]:
        """Vectors of the pictures of a batch that could be opened."""
        good: dict[PictureId, np.ndarray] = {}
        for name, square in zip(batch, opened, strict=True):
            if not isinstance(square, UsageError):
                good[name] = square
            elif on_error == "raise":
                raise square
        if not good:
            return {}
        vectors = forward(list(good.values()))
        self._count("image", len(good))
        return dict(zip(good, vectors, strict=True))

    def _read(self, batch: Sequence[np.ndarray], tokens: bool) -> list[tuple[np.ndarray, np.ndarray]]:
        """End vector and token vectors of each text of a batch; no token vector where they are not wanted."""
        end, every = self._towers.text(padded(batch), tokens=tokens)
        self._count("text", len(batch))
        if every is None:
            return [(vector, vector[:0]) for vector in end]
        return [(vector, rows[: len(ids)].copy()) for vector, rows, ids in zip(end, every, batch, strict=True)]

    def _count(self, side: str, items: int) -> None:
        with self._counting:
            self.forwards[side] += items

    def _width(self, side: str) -> int:
        matrix = self._towers.projection(side)
        return self.row.embed_width if matrix is None else len(matrix)

    def _image_store(self, convert: str, adapter: Adapter | None) -> LayeredStore:
        head = {"head": adapter.digest if adapter is not None else "own"} if self.row.resnet else {}
        return self._store("image", {**preprocessing(self.row, convert), **head})

    def _store(self, side: str, settings: dict[str, Any]) -> LayeredStore:
        # The same weights with another activation give other vectors.
        settings = {**settings, "architecture": self.architecture, "config": dict(self.row.config or {})}
        disk = None
        if self._folder is not None:
            disk = DiskStore(
                self._folder,
                weights_digest=self.digest,
                side=side,
                preprocess_id=preprocess_id(settings),
                dtype=self._towers.dtype,
            )
        return LayeredStore(process_memory, (self._scope, side, repr(settings)), disk)


def known_rows(
    distinct: Mapping[PictureId, Picture], stores: Mapping[str, LayeredStore]
) -> dict[PictureId, np.ndarray]:
    """Vectors of the pictures that are remembered, each looked for in the store of its way to RGB."""
    rows: dict[PictureId, np.ndarray] = {}
    for convert, store in stores.items():
        known = store.get([key for kind, key in distinct if kind == convert])
        rows.update({(convert, key): vector for key, vector in known.items()})
    return rows


def _stacked(names: Sequence[Any], rows: Mapping[Any, np.ndarray], width: int) -> np.ndarray:
    """One row per name; NaN where there is none."""
    missing = np.full(width, np.nan, dtype=np.float32)
    return np.stack([rows.get(name, missing) for name in names]) if names else np.zeros((0, width), np.float32)
