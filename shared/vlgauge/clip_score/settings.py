"""Checks of the settings of clip_s and pac_s, many of which belong to one of the two configurations only."""

from __future__ import annotations

import math
from typing import Any

from vlgauge.clip_score.token_idf import checked_idf
from vlgauge.media.frames import FrameCount, check_n_frames
from vlgauge.settings import finite_number, one_of, shown

CONFIGS = ("image", "video")
VARIANTS = {"image": ("released", "paper"), "video": ("released", "paper", "emscore")}


def checked_config(config: Any) -> str:
    """The configuration; "image" where none is named. Any other value comes back for the base class to refuse."""
    return "image" if config in (None, "default") else config


def checked_variant(variant: Any, config: str) -> str:
    """The variant, if the configuration has it.

    Raises:
        ValueError: If it has not.
    """
    if isinstance(variant, str) and variant == "emscore" and config == "image":
        raise ValueError("`variant='emscore'` must come with config_name='video', got images")
    return one_of("variant", variant, VARIANTS[config])


def checked_w(w: Any, own: float, config: str) -> float:
    """w, or the metric's own for None.

    Raises:
        ValueError: If it is no positive number, or given for videos, whose formula has none.
    """
    if w is None:
        return own
    if config == "video":
        raise ValueError(f"`w` must be left out for videos, whose score has no such factor, got {shown(w)}")
    return finite_number("w", w, "a positive number", math.ulp(0.0))


def checked_word_weights(idf: Any, config: str, variant: str) -> Any:
    """The setting ``idf`` of a configuration: "auto" for None under ``variant="emscore"``, as EMScore has it.

    Raises:
        ValueError: If it is none of the forms, given for images, or missing where the variant needs it.
    """
    if config == "image":
        if idf is not None:
            raise ValueError("`idf` must be left out for images, whose score does not look at single words")
        return None
    if variant == "paper" and (idf is None or idf is False):
        raise ValueError(
            "`idf` must be given for videos under variant='paper', because the paper weights words by TF-IDF; pass "
            "'references', 'candidates', or a corpus"
        )
    return "auto" if variant == "emscore" and idf is None else checked_idf(idf)


def checked_frames(n_frames: Any, config: str) -> FrameCount:
    """The setting ``n_frames`` of a configuration.

    Raises:
        ValueError: If it is no number of frames, or given for images.
    """
    if n_frames is not None and config == "image":
        raise ValueError(f"`n_frames` must be left out for images, got {shown(n_frames)}")
    return check_n_frames(n_frames)
