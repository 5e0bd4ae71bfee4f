"""Settings of a backbone, and the base class of metrics that encode images and texts with one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import UsageError
from vlgauge.core.progress import Progress
from vlgauge.core.validation import check_bool, check_choice, check_int, warn
from vlgauge.families.base.columns import Column, References, Text
from vlgauge.families.base.metric import Metric
from vlgauge.families.base.video_columns import OneImage
from vlgauge.families.clip_score.formula import Floats, Positions, Vectors, group_means, pair_cosines
from vlgauge.families.clip_score.long_text import POLICIES
from vlgauge.families.clip_score.rows import TextRows, text_rows
from vlgauge.families.clip_score.vectors import ClipVectors
from vlgauge.inputs.images.lazy_images import PREPROCESSING, unique_images
from vlgauge.models.clip.backbones import find_backbone
from vlgauge.models.clip.loading import clip_tokens, clip_with_checkpoint, look_for_clip, weights_name
from vlgauge.models.clip.tokens import SPELLED, Tokens
from vlgauge.models.clip.towers import DTYPES


@dataclass(frozen=True, kw_only=True)
class ClipSettings:
    """Settings of all metrics that encode images and texts with one backbone.

    Attributes:
        backbone: Name or architecture of the backbone. None for the default.
        weights: File with the weights of the backbone.
        checkpoint: File with other projections or a whole CLIP.
        long_text: Handling of texts that are too long, one of `POLICIES`.
        on_error: Handling of unreadable images: an error, or an undefined score.
        batch_size: Number of images or texts per forward pass.
        device: Device of the backbone.
        dtype: Number format of the backbone, one of `DTYPES`.
        feature_cache: Folder that stores features between runs.
        details: Whether every call returns details, like ``return_details`` in a single call.
    """

    backbone: Any = None
    weights: str | Path | None = None
    checkpoint: str | Path | None = None
    long_text: str = "truncate"
    on_error: Literal["raise", "nan"] = "raise"
    batch_size: int = 64
    device: str = "auto"
    dtype: str = "float32"
    feature_cache: str | Path | None = None
    details: bool = False

    def __post_init__(self) -> None:
        check_choice("long_text", self.long_text, POLICIES)
        check_choice("on_error", self.on_error, ("raise", "nan"))
        object.__setattr__(self, "batch_size", check_int("batch_size", self.batch_size, 1))
        check_choice("dtype", self.dtype, DTYPES)
        object.__setattr__(self, "details", check_bool("details", self.details))


@dataclass(frozen=True, kw_only=True)
class Backbone(ClipSettings):
    """Backbone of a metric, and the handling of its inputs.

    A metric defines the last three attributes if they differ from their defaults.

    Attributes:
        name: Name of the metric.
        needs: Extras that the metric requires.
        profile: Profile of the metric.
        own_backbone: Default backbone of the metric under the profile "paper".
        prompt: Text before every caption and reference.
        kind: Kind of weights that replace those of the backbone. With "clip_s" only a checkpoint replaces them.
    """

    name: str
    needs: tuple[str, ...]
    profile: str
    own_backbone: str | None = None
    prompt: str = ""
    kind: str = "clip_s"

    @classmethod
    def of(cls, metric: Metric) -> Self:
        """Return the backbone of a metric, with the attributes of the metric that have the same names.

        Raises:
            ValueError: If the backbone is made for another metric.
        """
        found = cls(**{one.name: getattr(metric, one.name) for one in fields(cls) if hasattr(metric, one.name)})
        row = find_backbone(found.backbone)
        if row is not None and row.only_for not in (None, found.name):
            raise UsageError.about(
                "backbone",
                f"{row.name!r} is only supported by the metric {row.only_for}, got {found.name}, which would "
                "count its many negative cosines as 0",
            )
        return found

    def columns(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Return the columns, in which files may be missing if unreadable images get undefined scores."""
        return tuple(replace(column, may_be_missing=self.on_error == "nan") for column in columns)

    @property
    def chosen_backbone(self) -> Any:
        """Name or `ClipArchitecture` of the backbone of the settings, or the default of the metric.

        None selects the default of the profile.
        """
        return self.own_backbone if self.backbone is None and self.profile == "paper" else self.backbone

    def tokens(self) -> Tokens:
        """Load the tokenizer of the backbone, without the backbone itself."""
        return clip_tokens(self.chosen_backbone, weights=self.weights, profile=self.profile)

    def check_sources(self) -> Preflight:
        """Check the requirements of every call, without loading or downloading anything.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        preflight = Preflight(self.name, self.needs[0])
        sources: dict[str, Any] = {"weights": self.weights, "checkpoint": self.checkpoint, "kind": self.kind}
        look_for_clip(preflight, self.chosen_backbone, profile=self.profile, **sources)
        return preflight

    def cosines(
        self, predictions: Sequence[str], images: Sequence[Any], progress: Progress
    ) -> tuple[Floats, list[dict[str, Any]], dict[str, Any]]:
        """Compute the cosines of captions and images.

        The cosine of a caption that was split is the mean over its sentences.

        Returns:
            Cosines, shape ``(n,)``, NaN if undefined, one dictionary per row with ``cosine``, ``truncated`` and
            ``special``, and signature fields.

        Raises:
            UsageError: If a text is too long with ``long_text="error"``, or an image is unreadable with
                ``on_error="raise"``.

        Warns:
            UserWarning: If texts are too long, or images cannot be read.
        """
        vectors, names = self.vectors(progress)
        rows = self.text_rows(predictions, [None] * len(predictions))
        distinct, image_of = unique_images(images)
        seen, unreadable = vectors.images(distinct, self.on_error)
        read = vectors.texts(rows.pieces.texts, self.prompt)
        each = pair_cosines(read, seen, (rows.units, image_of[rows.row_of_unit]))
        found = group_means(each, rows.row_of_unit, rows.n_rows)
        self.warn_of_texts(rows)
        warn_of_images(int(np.count_nonzero(unreadable[image_of])), rows.n_rows)
        return found, rows.describe(cosine=found), self.signature_fields(names)

    def unit_vectors(
        self, predictions: Sequence[str], images: Sequence[Any], progress: Progress
    ) -> tuple[Vectors, Vectors, Positions, Any]:
        """Encode captions and images.

        Returns:
            L2-normalized embeddings of the captions, shape ``(n, d)``, and of the distinct images, shape ``(m, d)``,
            the index of the image of each caption, shape ``(n,)``, and the encoder.
        """
        vectors, _ = self.vectors(progress)
        chosen, image_of = unique_images(images)
        seen, _ = vectors.images(chosen, "raise")
        distinct = list(dict.fromkeys(predictions))
        row_of = {text: row for row, text in enumerate(distinct)}
        read = vectors.texts(distinct, self.prompt)[[row_of[text] for text in predictions]]
        return read, seen, image_of, vectors.encoder

    def encoder_and_adapter(self) -> tuple[Any, Any]:
        """Return the encoder of the settings from the pool, and the projections that replace its own, or None.

        Returns:
            A `ClipEncoder`, and an `Adapter` or None.

        Raises:
            ValueError: If the checkpoint does not belong to the backbone.
            SourcesMissingError: If weights are missing.
            MissingExtraError: If packages are missing.
        """
        self.check_sources().end()
        return clip_with_checkpoint(
            self.chosen_backbone,
            self.checkpoint,
            kind=self.kind,
            weights=self.weights,
            profile=self.profile,
            device=self.device,
            dtype=self.dtype,
            feature_cache=self.feature_cache,
        )

    def text_rows(self, predictions: Sequence[str], references: Sequence[Sequence[str] | None]) -> TextRows:
        """Split candidates and references into the pieces that are encoded."""
        return text_rows(predictions, references, self.tokens(), self.long_text, self.prompt)

    def vectors(self, progress: Progress) -> tuple[ClipVectors, Mapping[str, Any]]:
        """Return the encoder, and its fields in the signature: ``enc``, ``arch`` and ``proj``.

        Raises:
            ValueError: If the checkpoint does not belong to the backbone.
            SourcesMissingError: If weights are missing.
            MissingExtraError: If packages are missing.
        """
        encoder, adapter = self.encoder_and_adapter()
        # A checkpoint that is not an adapter is a whole CLIP that replaces the weights of the backbone.
        given = self.weights is not None or (adapter is None and (self.checkpoint is not None or self.kind != "clip_s"))
        proj = "own" if adapter is None else adapter.digest[:8]
        names = {
            "enc": weights_name(encoder, given=given),
            "arch": encoder.architecture,
            "proj": proj if encoder.verified else "unverified",
        }
        return ClipVectors(encoder, adapter, self.batch_size, progress), names

    def signature_fields(
        self, names: Mapping[str, Any], own: Mapping[str, Any] | None = None, more: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return everything that affects the scores, in the order of the signature.

        Args:
            names: Fields of the encoder, from `vectors`.
            own: Fields of the metric in front of the architecture.
            more: Fields of the metric after the handling of long texts.

        Returns:
            Values by field of the signature.
        """
        return {
            "enc": names["enc"],
            "dtype": self.dtype,
            "prep": PREPROCESSING,
            **(own or {}),
            "arch": names["arch"],
            "proj": names["proj"],
            "prompt": self.prompt.strip() or "none",
            "long": self.long_text,
            **(more or {}),
            "on_error": self.on_error,
        }

    def warn_of_texts(self, rows: TextRows) -> None:
        """Warn once per kind of problem with texts, with the number of affected texts."""
        n_texts, most = rows.pieces.n_owners, self.tokens().context
        n_long = int(np.count_nonzero(rows.pieces.is_long))
        handled = "scored sentence by sentence" if self.long_text == "split" else "cut"
        texts = f"of {n_texts} captions and references"
        warn_of_counts(
            {
                f"{texts} are empty and were scored as such": rows.n_blank,
                f"{texts} have more than {most} tokens and were {handled}": n_long,
                f"{texts} {SPELLED}": int(np.count_nonzero(rows.is_special)),
            }
        )


def warn_of_counts(troubles: Mapping[str, int]) -> None:
    """Warn of each kind of problem that occurs, with its count in front of its description."""
    for text, count in troubles.items():
        if count:
            warn(f"{count} {text}")


def warn_of_images(n_unreadable: int, n: int) -> None:
    """Warn if some of `n` images could not be read."""
    warn_of_counts({f"of {n} images could not be read; their scores are undefined": n_unreadable})


REFERENCED_COLUMNS: tuple[Column, ...] = (Text("predictions"), OneImage("images"), References("references"))
"""Columns of metrics that require references."""


class BackboneMetric(Metric):
    """Base class of metrics that encode images and texts with one backbone. Its settings are in `ClipSettings`.

    Attributes:
        clip: The backbone of the settings.
    """

    columns: tuple[Column, ...] = (Text("predictions"), OneImage("images"))
    setting_groups = (ClipSettings,)
    clip: Backbone

    def __init__(self, *args: Any, **host: Any) -> None:
        super().__init__(*args, **host)
        self.clip = Backbone.of(self)
        self.columns = self.clip.columns(self.columns)

    def check_sources(self: Any) -> Preflight:
        """Check the requirements of every call, without loading or downloading anything.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        return self.clip.check_sources()

    def signature_fields(self: Any) -> dict[str, Any]:
        """Return {}, because `_compute` adds the resolved values in the order of the signature."""
        return {}
