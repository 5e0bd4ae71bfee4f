"""Polos: How highly would humans rate a caption?"""

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.core import validation  # From: "vlgauge[polos]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[polos]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import as_setting  # From: "vlgauge[polos]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import clip_score  # From: "vlgauge[polos]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.images import lazy_images  # From: "vlgauge[polos]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models.clip import loading  # From: "vlgauge[polos]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models.clip import towers  # From: "vlgauge[polos]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models.rated import models  # From: "vlgauge[polos]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .scoring import find_cut_texts
from .scoring import score

VARIANTS = ("itemwise", "released")


class Polos(clip_score.BackboneMetric):
    """Maximum predicted rating over the references (Wada et al., 2024). See `vlgauge.models.rated.head`.

    Polos predicts the human rating of a caption. A small network, fitted to 131,020 ratings, compares the caption with
    its image (by CLIP) and with each of its references (by CLIP and by a RoBERTa sentence encoder). The best reference
    counts. Higher is better.

    Args:
        predictions: Captions, one string per row.
        references: Human captions, a list of strings per row.
        images: Images (path, bytes, PIL image or uint8 array), one per caption.
        return_details: Whether to add the value for each reference, the best reference, and whether texts were
            truncated.

    Returns:
        polos: Mean of the scores, in [0, 1], higher is better.
        polos_scores: One score per caption. NaN without references, or if the image could not be read.
        polos_undefined: Number of undefined scores.
        polos_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> import numpy as np
        >>> polos = evaluate.load("vlgauge/polos", profile="embedded")
        >>> grey = np.full((64, 64, 3), 128, dtype=np.uint8)
        >>> result = polos.compute(predictions=["a small red circle"], images=[grey], references=[["a red circle"]])
        >>> print(sorted(result))
        ['polos', 'polos_scores', 'polos_signature', 'polos_undefined']
        >>> print(0.0 <= result["polos"] <= 1.0)
        True
    """

    papers = ("https://arxiv.org/abs/2402.18091",)
    columns = clip_score.REFERENCED_COLUMNS
    prompt = models.PROMPT

    def __init__(
        self,
        *args: Any,
        variant: str = "itemwise",
        released_batch_size: int = 32,
        text_encoder: str | Path | None = None,
        long_text: str = "truncate",
        dtype: str = "float32",
        **host: Any,
    ) -> None:
        self.variant = validation.check_choice("variant", variant, VARIANTS)
        self.released_batch_size = validation.check_int("released_batch_size", released_batch_size, 1)
        self.text_encoder = None if text_encoder is None else str(text_encoder)
        validation.check_choice("long_text", long_text, ("truncate", "error"))
        validation.check_choice("dtype", dtype, (*towers.DTYPES, towers.RELEASED_HALF))
        super().__init__(
            *args, long_text=long_text, dtype="float32" if dtype == towers.RELEASED_HALF else dtype, **host
        )
        self.dtype = dtype

    def check_sources(self) -> Any:
        """Check the sources that every call requires. Nothing is loaded or downloaded.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        return models.look_for(self.name, **self._sources())

    def count(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Count nothing, because no score depends on the corpus.

        Raises:
            ValueError: With variant "released", because its scores depend on the batch.
        """
        if self.variant == "released":
            raise UsageError("with variant='released', a score depends on the other rows of its batch")

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        images: Sequence[Any],
        return_details: bool = False,
    ) -> dict[str, Any]:
        self.check_sources().end()
        clip = self.clip
        loaded = models.polos_models(
            device=clip.device, dtype=self.dtype, feature_cache=clip.feature_cache, **self._sources()
        )
        rows = clip.text_rows(predictions, references)
        released = self.released_batch_size if self.variant == "released" else None
        if released is not None and not rows.referenced.all():
            raise UsageError.about(
                f"references[{int(np.argmin(rows.referenced))}]",
                "must have at least one reference with variant='released', which truncates the references of "
                "all rows to the fewest in their batch, got none; remove the row, or choose "
                f"{as_setting('variant', 'itemwise')}",
            )
        cut = find_cut_texts(loaded.text, rows)
        if clip.long_text == "error" and cut.any():
            raise UsageError.about(
                clip_score.place_of(int(np.argmax(cut)), references),
                f"must have at most {loaded.text.most_tokens} tokens of {loaded.text.identity}, including start "
                "and end token, got more",
                "shorten it, or choose another `long_text`",
            )
        seen, image_of = lazy_images.unique_rgb_images(images)
        scored = score(
            loaded,
            rows,
            seen,
            image_of,
            released=released,
            half=self.dtype == towers.RELEASED_HALF,
            clip=clip,
            progress=self.progress,
        )
        clip.warn_of_texts(rows)
        if (truncated := cut & ~rows.pieces.is_long).any():
            validation.warn(
                f"{np.count_nonzero(truncated)} of {len(cut)} captions and references have more than "
                f"{loaded.text.most_tokens} tokens of {loaded.text.identity} and were truncated"
            )
        clip_score.warn_of_images(int(np.count_nonzero(scored.unreadable)), rows.n_rows)
        signature_extra = {
            "enc": loading.weights_name(loaded.clip, given=clip.weights is not None),
            "dtype": self.dtype,
            "prep": lazy_images.PREPROCESSING,
            "text": loaded.text.identity,
            "head": loaded.head.digest[:8],
            "arch": loaded.clip.architecture,
            "prompt": self.prompt.strip() or "none",
            "variant": self.variant,
            "released_batch": released,
            "long": clip.long_text,
            "on_error": clip.on_error,
        }
        details = None
        if return_details or clip.details:
            details = [
                {"values": values, "best_reference": best_of(values), **note, "truncated": note["truncated"] or was_cut}
                for values, note, was_cut in zip(
                    scored.values, rows.describe(), cut[: rows.n_rows].tolist(), strict=True
                )
            ]
        return self.result(scored.scores.tolist(), signature_extra=signature_extra, details=details)

    def _sources(self) -> dict[str, Any]:
        """Return the settings that name models."""
        return {
            "backbone": self.clip.chosen_backbone,
            "weights": self.clip.weights,
            "text_encoder": self.text_encoder,
            "checkpoint": self.clip.checkpoint,
            "profile": self.profile,
        }


def best_of(values: Sequence[float]) -> int | None:
    """Return the index of the maximum, the first one of ties. None without values, or if a value is NaN."""
    return None if not values or np.isnan(values).any() else int(np.argmax(values))
