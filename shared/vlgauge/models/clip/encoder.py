"""Loaded CLIP that encodes each image and text once, without the projection."""

from __future__ import annotations

import copy
import hashlib
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vlgauge.checkpoints.torch_runtime import check_fork
from vlgauge.core.errors import UsageError
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.validation import check_choice, check_int
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.models import TextHiddenStates
from vlgauge.models.clip.architectures import ClipArchitecture
from vlgauge.models.clip.demo import DEMO_NAME, warn_of_demo
from vlgauge.models.clip.heads import Adapter
from vlgauge.models.clip.pixels import (
    ImageId,
    decode_batches,
    distinct_images,
    preprocessing,
    skip_rest,
    sort_ids,
    split_batches,
)
from vlgauge.models.clip.tokens import Tokens, buckets, in_order
from vlgauge.models.clip.towers import AutoBatchSize, ClipTowers
from vlgauge.models.features.disk import DiskStore, preprocess_id
from vlgauge.models.features.memory import LayeredStore, process_memory
from vlgauge.models.padding import pad_rows

if TYPE_CHECKING:
    import torch


class ClipEncoder:
    """Loaded CLIP. Each distinct image and text is encoded once and cached.

    A row depends by at most 1e-6 on order, duplicates and batch size. It is bitwise independent of order and duplicates
    on the same machine with the same libraries and number of threads, as long as no row is cached from previous calls.

    Attributes:
        identity: Name of the architecture and digest of the weights, such as ``"ViT-B-32-quickgelu@1a2b3c4d"``.
        architecture: Name in open_clip.
        row: All facts about the architecture.
        digest: SHA-256 of the weights.
        forwards: Number of items processed by each tower, under ``"image"`` and ``"text"``.
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
        # Remove the cached features when the weights are no longer referenced.
        weakref.finalize(towers, process_memory.forget, self._scope).atexit = False

    @property
    def model(self) -> torch.nn.Module:
        """The torch module in evaluation mode. It must not be changed."""
        return self._towers.model

    def pixels(self, squares: np.ndarray) -> torch.Tensor:
        """Return preprocessed images as input of the image tower, on its device. See `ClipTowers.pixels`.

        Args:
            squares: Result of `vlgauge.models.clip.pixels.square` for each image, shape ``(n, size, size, 3)``, uint8.

        Returns:
            Shape ``(n, 3, size, size)``, normalized.
        """
        return self._towers.pixels(squares)

    def with_feature_cache(self, folder: str | Path) -> ClipEncoder:
        """Return a copy of the encoder that also stores its features in a folder."""
        other = copy.copy(self)
        other._folder = Path(folder).expanduser()
        return other

    def image_hidden(
        self,
        images: Sequence[LazyImage],
        *,
        adapter: Adapter | None = None,
        batch_size: int = 64,
        on_error: Literal["raise", "nan"] = "raise",
        progress: Progress = None,
    ) -> np.ndarray:
        """Encode images, without the projection.

        Args:
            images: Images. See `vlgauge.inputs.images.lazy_images`.
            adapter: Adapter, used only for a ResNet, whose attention pool is its head.
            batch_size: Number of images per forward pass.
            on_error: ``"raise"``, or ``"nan"`` to return NaN for images that cannot be read.
            progress: Progress bar setting. See `vlgauge.core.progress`.

        Returns:
            Hidden states, shape ``(n_images, width)``, float32. The rows of a ResNet are already pooled and
            projected, with width `embed_width`.

        Raises:
            ValueError: If a setting is invalid, or an image cannot be read with ``on_error="raise"``.

        Warns:
            UserWarning: If this is the demo CLIP, at its first image in the process.
        """
        check_choice("on_error", on_error, ("raise", "nan"))
        check_int("batch_size", batch_size, 1)
        check_fork()
        head = adapter.tensors if adapter is not None and self.row.resnet else None
        stores = {convert: self._image_store(convert, adapter if head else None) for convert in ("early", "late")}
        if images and self.row.name == DEMO_NAME:
            warn_of_demo("CLIP")
        run = AutoBatchSize(lambda squares: list(self._towers.image(squares, head)))

        def forward(squares: Sequence[np.ndarray]) -> list[np.ndarray]:
            vectors = run(squares)
            self._count("image", len(squares))
            return vectors

        ids, rows = encode_images(
            images, self.row, stores, forward, batch_size=batch_size, on_error=on_error, progress=progress
        )
        return _stack(ids, rows, self._width("image"))

    def text_hidden(
        self,
        texts: Sequence[str],
        *,
        prompt: str = "",
        tokens: bool = False,
        batch_size: int = 64,
        progress: Progress = None,
    ) -> TextHiddenStates:
        """Encode texts, without the projection.

        Args:
            texts: Any strings. Texts longer than the context are truncated and flagged in `truncated`.
            prompt: Text to insert before every text.
            tokens: Whether to return the hidden states of all tokens, which are not cached.
            batch_size: Number of texts of full length per forward pass. Batches of shorter texts are larger unless it
                is 1.
            progress: Progress bar setting. See `vlgauge.core.progress`.

        Raises:
            ValueError: If a setting is invalid, or the architecture does not support `tokens`.
        """
        if tokens and not self._towers.own_text:
            raise UsageError.about(
                "tokens", f"is not supported for {self.architecture}, whose text tower returns no token embeddings"
            )
        check_int("batch_size", batch_size, 1)
        check_fork()
        ids, truncated = self._tokens([prompt + text for text in texts])
        keys = {row.tobytes(): hashlib.sha256(row.tobytes()).digest() for row in ids}
        store = self._store("text", {})
        ends = {} if tokens else store.get(list(keys.values()))
        new = in_order([row for row in ids if keys[row.tobytes()] not in ends])
        every: dict[bytes, np.ndarray] = {}
        try:
            with progress_bar(len(new), f"Encoding texts ({len(ends)} of {len(keys)} known)", progress) as advance:
                forward = AutoBatchSize(lambda part: self._read(part, tokens))
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
        end = _stack(names, ends, self._width("text"))
        return TextHiddenStates(end, truncated, [every[name] for name in names] if tokens else None, ids)

    def project(self, hidden: np.ndarray, side: Literal["image", "text"], adapter: Adapter | None = None) -> np.ndarray:
        """Project hidden states.

        Args:
            hidden: Rows of `image_hidden` or `text_hidden`, or tokens of a text, shape ``(n, width)``.
            side: ``"image"`` or ``"text"``.
            adapter: Matrices that replace the projections of the encoder.

        Returns:
            Embeddings, shape ``(n, embed_width)``, float32, not normalized.

        Raises:
            ValueError: If the rows have another width.
        """
        check_choice("side", side, ("image", "text"))
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
        # Project sorted distinct rows, because BLAS rounding may depend on the position of a row in the matrix.
        raw = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).reshape(-1)
        _, first, row_of = np.unique(raw, return_index=True, return_inverse=True)
        return np.asarray((rows[first] @ matrix)[row_of.reshape(-1)], dtype=np.float32)

    def _read(self, batch: Sequence[np.ndarray], tokens: bool) -> list[tuple[np.ndarray, np.ndarray]]:
        """Encode a batch of token ids, and return the end vector and the token vectors of each text.

        The token vectors are empty if not requested.
        """
        end, every = self._towers.text(pad_rows(batch, 0), tokens=tokens)
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
        # The same weights produce other features with another activation.
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


def encode_images(
    images: Sequence[LazyImage],
    row: ClipArchitecture,
    stores: Mapping[str, LayeredStore],
    forward: Callable[[Sequence[np.ndarray]], Iterable[np.ndarray]],
    *,
    batch_size: int,
    on_error: str = "raise",
    progress: Progress = None,
    what: str = "images",
) -> tuple[list[ImageId | None], dict[ImageId, np.ndarray]]:
    """Encode each distinct image once, unless its features are stored.

    Args:
        images: The images.
        row: Preprocessing of the images.
        stores: Stores of features by the way of RGB conversion. New features are added.
        forward: Function that encodes preprocessed images, each of shape ``(size, size, 3)``, uint8.
        batch_size: Number of images per call of `forward`.
        on_error: ``"raise"``, or ``"nan"`` to leave out images that cannot be read.
        progress: Progress bar setting. See `vlgauge.core.progress`.
        what: Name of the images in the progress bar.

    Returns:
        Id of each image (None if it cannot be read), and features by id, shape ``(width,)`` each.

    Raises:
        ValueError: If an image cannot be read with ``on_error="raise"``.
    """
    ids, distinct = distinct_images(images, on_error)
    rows: dict[ImageId, np.ndarray] = {}
    for convert, store in stores.items():
        known = store.get([key for kind, key in distinct if kind == convert])
        rows.update({(convert, key): vector for key, vector in known.items()})
    new = sort_ids(distinct, set(distinct) - set(rows))
    skip_rest(images, {id(distinct[name]) for name in new})
    note = f"Encoding {what} ({len(rows)} of {len(distinct)} known)"
    wanted = [distinct[name] for name in new]
    try:
        with decode_batches(wanted, row, batch_size) as decoded, progress_bar(len(new), note, progress) as advance:
            for batch, opened in zip(split_batches(new, batch_size), decoded, strict=True):
                errors = [square for square in opened if isinstance(square, UsageError)]
                if errors and on_error == "raise":
                    raise errors[0]
                good = {name: one for name, one in zip(batch, opened, strict=True) if not isinstance(one, UsageError)}
                seen = dict(zip(good, forward(list(good.values())), strict=True)) if good else {}
                rows.update(seen)
                for convert, store in stores.items():
                    store.put({key: vector for (kind, key), vector in seen.items() if kind == convert})
                advance(len(batch))
    finally:
        for store in stores.values():
            store.flush()
    return ids, rows


def _stack(names: Sequence[Any], rows: Mapping[Any, np.ndarray], width: int) -> np.ndarray:
    """Stack one row per name, with NaN for missing rows."""
    missing = np.full(width, np.nan, dtype=np.float32)
    return np.stack([rows.get(name, missing) for name in names]) if names else np.zeros((0, width), np.float32)
