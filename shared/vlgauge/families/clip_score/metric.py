"""Base class of metrics that compare a caption with an image or a video using CLIP embeddings."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.results import median_of_defined
from vlgauge.core.signatures import format_signature, parse_signature
from vlgauge.core.validation import check_choice, check_float, check_int, short_repr, warn
from vlgauge.families.base.columns import Column, References, Text
from vlgauge.families.base.metric import Metric
from vlgauge.families.base.parts import Counts, PartialResult
from vlgauge.families.base.video_columns import OneImage, Videos
from vlgauge.families.clip_score.backbone_metric import Backbone, BackboneMetric, ClipSettings, warn_of_counts
from vlgauge.families.clip_score.calibration import Calibration
from vlgauge.families.clip_score.image_rows import score_images
from vlgauge.families.clip_score.rows import ScoredRows, TextRows
from vlgauge.families.clip_score.token_idf import (
    OWN_ROWS,
    check_idf,
    choose_rows,
    count_idf,
    resolve_idf,
    sentence_counts,
)
from vlgauge.families.clip_score.vectors import ClipVectors
from vlgauge.families.clip_score.video_rows import score_videos
from vlgauge.inputs.images.lazy_images import unique_images
from vlgauge.inputs.video.frames import DEFAULT_FRAMES, FrameCount, check_n_frames, video_images
from vlgauge.models.clip.backbones import find_backbone, may_be_multilingual

PROMPT = "A photo depicts "
# Fraction of negative cosines, and minimum number of cosines, from which on a warning is issued.
CLAMPED, FEW_COSINES = 0.05, 20
_ROUNDING = 1e-6  # tolerance for scores that exceed their range because of float32 rounding
VARIANTS = {"image": ("released", "paper"), "video": ("released", "paper", "emscore")}

# Reasons for an undefined score of a readable image or video.
_UNLIKE = "neither image nor references are similar to the caption"
UNDEFINED = {
    "image": "an embedding is zero, or score and similarity cancel",
    "video": "all word weights are 0, P + R is 0, or an embedding is zero",
}


class ClipScoreMetric(Metric):
    """Base class of clip_s and pac_s, for one image or one video per caption.

    The formula depends on ``variant``, ``w``, ``idf``, ``n_frames`` and ``emscore_batch_size``. The other settings
    are in `ClipSettings`.

    Attributes:
        clip: The backbone of the settings.
        own_w: Default w of the metric.
        calibration: Scale that replaces w and the clamping at 0.
        paper_prompt: Text before every caption in the paper.
    """

    columns: tuple[Column, ...] = (Text("predictions"), OneImage("images"), References("references", optional=True))
    setting_groups = (ClipSettings,)
    configs = tuple(VARIANTS)
    has_reference_scores = True
    # Not inherited, because at most one family is between a metric and `Metric`.
    check_sources = BackboneMetric.check_sources
    signature_fields = BackboneMetric.signature_fields
    clip: Backbone
    own_w: ClassVar[float]
    calibration: Calibration | None = None
    paper_prompt: ClassVar[str]

    def __init__(
        self,
        *args: Any,
        variant: str = "released",
        w: float | None = None,
        idf: Any = None,
        n_frames: int | Literal["all"] | None = None,
        emscore_batch_size: int = 64,
        **host: Any,
    ) -> None:
        config = host.pop("config_name", args[0] if args else None)
        config = "image" if config in (None, "default") else config
        # Unknown configurations are rejected by the base class.
        known = config if config in VARIANTS else "image"
        self.variant = check_variant(variant, known)
        self.w = check_w(w, self.own_w, known)
        self.idf = check_word_weights(idf, known, self.variant)
        self.n_frames = check_frames(n_frames, known)
        self.emscore_batch_size = check_int("emscore_batch_size", emscore_batch_size, 1)
        if known == "video":
            predictions, _, references = self.columns
            self.columns = (predictions, Videos("videos"), references)
        super().__init__(config, *args[1:], **host)
        self.clip = Backbone.of(self)
        self.columns = self.clip.columns(self.columns)
        row = find_backbone(self.clip.backbone)
        if known == "video" and row is not None and row.tokens != "clip":
            raise UsageError.about(
                "backbone",
                f"must be a CLIP for videos, which are scored word by word, got {row.name!r}, whose text tower "
                "returns one embedding for a whole text",
            )

    @property
    def prompt(self) -> str:
        """Text before every caption and reference."""
        if self.config_name == "video":
            return ""
        return self.paper_prompt if self.variant == "paper" else PROMPT

    def is_for_other_languages(self, name: str, setting: Any) -> bool:
        """Return whether a setting may support other languages than English. See `Metric.is_for_other_languages`."""
        return may_be_multilingual(setting) if name == "backbone" else super().is_for_other_languages(name, setting)

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str] | None],
        images: Any = None,
        videos: Any = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        seen = images if videos is None else videos
        vectors, signature_extra = self.clip.vectors(self.progress)
        if self.calibration is not None:
            references = self._without_references(vectors, references)
        rows = self.clip.text_rows(predictions, references)
        return_details = return_details or self.clip.details
        more: dict[str, Any] = {}
        if self.config_name == "image":
            distinct, image_of = unique_images(seen)
            own: dict[str, Any] = {"prompt": self.prompt, "w": self.w, "clamp": self.variant == "paper"}
            scored = score_images(vectors, rows, distinct, image_of, **own, on_error=self.clip.on_error)
        else:
            scored, more = self._score_videos(vectors, rows, seen, return_details)
        if self.calibration is not None:
            scored = replace(scored, scores=self.calibration.scores([note["cosine"] for note in scored.details]))
        self._warn(rows, scored)
        row_details = scored.details if return_details else None
        record = self.result(
            scored.scores.tolist(), signature_extra=self.fields(signature_extra, more), details=row_details
        )
        if scored.reference_scores is None:
            return record
        found = scored.reference_scores.tolist()
        return self.with_score(record, f"ref_{self.name}", found, median=median_of_defined(found))

    def count(self, columns: Mapping[str, Sequence[Any]]) -> Counts | None:
        """Count the candidates and references that contain each token, if the word weights depend on the call.

        Returns:
            The counts. None if they do not.

        Raises:
            UsageError: With ``variant="emscore"``, whose scores depend on the other videos of a batch.
        """
        if self.variant == "emscore":  # the authors' code pads videos to the longest one in a batch
            raise UsageError("the score of a video with `variant='emscore'` depends on the other videos in its batch")
        if self.idf not in OWN_ROWS:
            return None
        sides = self.clip.text_rows(columns["predictions"], columns["references"]).all_pieces
        counts: Counts = {"sentences": {}}
        for name, pieces in zip(("candidates", "references"), sides, strict=True):
            found = sentence_counts(self.clip.tokens()(pieces or [])[0], self.clip.tokens().context)
            counts[name] = {str(token): n for token, n in found.items()}
            counts["sentences"][name] = len(pieces or [])
        return counts

    def use_counts(self, counts: Counts) -> None:
        """Use the word weights of the corpus.

        Raises:
            UsageError: If weights from references were requested and there are none.
        """
        name = choose_rows(self.idf, has_references=bool(counts["sentences"]["references"]))
        n = counts["sentences"][name]
        self.idf = count_idf({int(token): df for token, df in counts[name].items()}, n, name)

    def combine(self, partial: PartialResult) -> dict[str, Any]:
        """Combine partial results, with the median of the corpus and the frames of all videos in the signature.

        Returns:
            Values by key, as returned by `compute`.

        Raises:
            UsageError: If rows were scored with different settings or models.
        """
        if self.config_name == "video":
            partial = replace(partial, texts={key: _with_all_frames(texts) for key, texts in partial.texts.items()})
        record = super().combine(partial)
        if (key := f"ref_{self.name}_median") in record:
            record[key] = median_of_defined(record[f"ref_{self.name}_scores"])
        return record

    def _sort_keywords(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        own, other = ("videos", "images") if self.config_name == "video" else ("images", "videos")
        if given.get(own) is None and given.get(other) is not None:
            config = other.removesuffix("s")
            raise UsageError.about(
                own,
                f"is missing: {self.name} expects {own} here, got `{other}`",
                f'load it with config_name="{config}"',
            )
        return super()._sort_keywords(given)

    def _score_videos(
        self, vectors: ClipVectors, rows: TextRows, cells: Sequence[Any], details: bool
    ) -> tuple[ScoredRows, dict[str, Any]]:
        """Compute the scores, and the signature fields of videos."""
        cells = list(cells)
        candidates, references = rows.all_pieces
        idf = resolve_idf(self.idf, candidates=candidates, references=references, tokens=self.clip.tokens())
        batch = self.emscore_batch_size if self.variant == "emscore" else None
        words = "none" if idf is None else f"{idf.name}@{idf.digest[:8]}"
        fields = {"idf": words, "frames": self._frames(cells), **({} if batch is None else {"emscore_batch": batch})}
        videos = video_images(cells, n_frames=self.n_frames, on_error=self.clip.on_error, progress=self.progress)
        scored = score_videos(
            vectors,
            rows,
            videos,
            idf=idf,
            joint=self.variant == "paper",
            batch=batch,
            on_error=self.clip.on_error,
            details=details,
        )
        return scored, fields

    def _frames(self, cells: Sequence[Mapping[str, Any]]) -> str:
        """Return the frame selection: "10", "all", "given", or "10+given" for a mix of files and lists."""
        if self.n_frames is not None:
            return str(self.n_frames)
        return "+".join(sorted({str(DEFAULT_FRAMES) if cell["frames"] is None else "given" for cell in cells}))

    def _without_references(
        self, vectors: ClipVectors, references: Sequence[Sequence[str] | None]
    ) -> Sequence[Sequence[str] | None]:
        """Check that the calibration is for this encoder before images are read, and drop references with a warning."""
        assert self.calibration is not None
        encoder: Any = vectors.encoder
        self.calibration.check(encoder.architecture, encoder.digest, self.prompt)
        if any(references):
            warn(
                "`references` are ignored with `calibration`, because its scores may be negative and a harmonic mean "
                "of negative scores is meaningless"
            )
        return [None] * len(references)

    def fields(self, names: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything that affects the scores, in the order of the signature.

        Returns:
            Values by field of the signature.
        """
        own: dict[str, Any] = {"variant": self.variant}
        if self.calibration is not None:
            own["calibration"] = self.calibration.digest[:8]
        elif self.config_name == "image":
            own["w"] = self.w
        return self.clip.signature_fields(names, own, more)

    def _warn(self, rows: TextRows, scored: ScoredRows) -> None:
        """Warn once per kind of problem, with the number of affected rows."""
        self.clip.warn_of_texts(rows)
        n = rows.n_rows
        undefined, alone = np.isnan(scored.scores), np.zeros(n, dtype=bool)
        if scored.reference_scores is not None:
            alone = np.isnan(scored.reference_scores) & rows.referenced & ~undefined
        n_left = int(np.count_nonzero(undefined)) - scored.n_unreadable - scored.n_empty
        why = UNDEFINED[self.config_name]
        troubles = {
            f"of {n} {self.config_name}s could not be read; their scores are undefined": scored.n_unreadable,
            f"of {n} videos have no frames; their scores are undefined": scored.n_empty,
            f"of {n} {self.name} are undefined: {why}": n_left,
            f"of {n} ref_{self.name} alone are undefined: {why}": int(np.count_nonzero(alone)),
            f"of {n} ref_{self.name} are 0 because {_UNLIKE}": scored.n_unlike,
        }
        warn_of_counts(troubles)
        if self.config_name == "image":
            self._warn_beyond(scored)
            self._warn_clamped(scored)

    def _warn_beyond(self, scored: ScoredRows) -> None:
        """Warn about reference scores of images that exceed the range of nonnegative similarities."""
        # Maximum harmonic mean of an image score, 0 to w, and a similarity of 0 to 1.
        most, found = 2 * self.w / (self.w + 1), scored.reference_scores
        if found is not None and (n_beyond := np.count_nonzero(np.abs(found) > most + _ROUNDING)):
            warn(
                f"{n_beyond} of {len(found)} ref_{self.name} exceed {most:.3g} in absolute value, because a score and "
                "a negative similarity to the references nearly cancel in their harmonic mean; they may dominate the "
                f"mean over all rows, so use ref_{self.name}_median, or choose variant='paper'"
            )

    def _warn_clamped(self, scored: ScoredRows) -> None:
        """Warn if more than 5% of at least 20 cosines are clamped to 0. Scores of the demo model have no meaning."""
        n, n_clamped = len(scored.details), sum(note["cosine"] < 0 for note in scored.details)
        is_clamped = self.calibration is None and self.profile != "embedded"
        if is_clamped and n >= FEW_COSINES and n_clamped > CLAMPED * n:
            warn(
                f"{n_clamped} of {n} cosines are negative and count as 0, so that {self.name} does not distinguish "
                "these captions; choose another backbone, or calibrate the scale (vlgauge calibrate, for clip_s)"
            )


def _with_all_frames(signatures: Collection[str]) -> frozenset[str]:
    """Merge the frame selections of the signatures of videos, which may each mix files and lists of frames."""
    parsed = [parse_signature(signature) for signature in signatures]
    frames = "+".join(sorted({word for _, fields in parsed for word in fields["frames"].split("+")}))
    return frozenset(format_signature(name, fields | {"frames": frames}) for name, fields in parsed)


def check_variant(variant: Any, config: str) -> str:
    """Check that a configuration supports a variant, and return it.

    Raises:
        ValueError: If it does not.
    """
    if isinstance(variant, str) and variant == "emscore" and config == "image":
        raise UsageError("`variant='emscore'` requires config_name='video', got images")
    return check_choice("variant", variant, VARIANTS[config])


def check_w(w: Any, own: float, config: str) -> float:
    """Check the setting ``w``, and return it or the default of the metric.

    Raises:
        ValueError: If it is not a positive number, or is passed for videos.
    """
    if w is None:
        return own
    if config == "video":
        raise UsageError.about("w", f"is not supported for videos, whose score has no such factor, got {short_repr(w)}")
    return check_float("w", w, "a positive number", math.ulp(0.0))


def check_word_weights(idf: Any, config: str, variant: str) -> Any:
    """Check the setting ``idf`` for a configuration. None becomes "auto" with ``variant="emscore"``, as in EMScore.

    Returns:
        The setting in a form that `resolve_idf` accepts. None for images.

    Raises:
        ValueError: If it has none of the supported forms, is passed for images, or is missing although the variant
            requires it.
    """
    if config == "image":
        if idf is not None:
            raise UsageError.about("idf", "is not supported for images, whose score does not depend on single words")
        return None
    if variant == "paper" and (idf is None or idf is False):
        raise UsageError.about(
            "idf",
            "is required for videos with variant='paper', because the paper weights words by TF-IDF",
            "pass 'references', 'candidates', or a corpus",
        )
    return "auto" if variant == "emscore" and idf is None else check_idf(idf)


def check_frames(n_frames: Any, config: str) -> FrameCount:
    """Check the setting ``n_frames`` for a configuration, and return it.

    Raises:
        ValueError: If it is not a valid number of frames, or is passed for images.
    """
    if n_frames is not None and config == "image":
        raise UsageError.about("n_frames", f"is not supported for images, got {short_repr(n_frames)}")
    return check_n_frames(n_frames)
