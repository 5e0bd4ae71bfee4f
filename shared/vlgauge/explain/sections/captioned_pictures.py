"""CLIP-S and PAC-S: pictures with right and wrong captions, and which words of a caption saw which frames of a clip."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from PIL import Image

import vlgauge
from vlgauge.clip_score.vectors import ClipVectors
from vlgauge.encoders.clip.tokens import token_texts
from vlgauge.media.frames import video_pictures
from vlgauge.media.tables import located, read_rows
from vlgauge.media.videos import video_cell
from vlgauge.results import mean_of_defined

from .pages import fragment
from .section import Say, Section, Table, extreme_positions, positions_by_kind, shortened

DEVICE = "cpu"  # the numbers of a report do not depend on the machine's accelerator
RIGHT = "right"
N_OPEN = 3  # pictures that stand open; the others unfold
FRAME_SIDE = 40
DARKEST = 60  # percent of the tint behind the largest cosine of a map


@dataclass(frozen=True)
class Scores:
    """The rows of a file and what the metric made of them.

    Attributes:
        rows: Rows with ``id``, ``picture``, ``kind``, ``predictions`` and ``references``.
        seen: Paths of the images or videos.
        result: Result of the metric.
        name: Name of the metric.
    """

    rows: Sequence[Mapping[str, Any]]
    seen: Sequence[str]
    result: Mapping[str, Any]
    name: str

    @property
    def scores(self) -> list[float]:
        """One per row."""
        return list(self.result[f"{self.name}_scores"])

    @property
    def reference_scores(self) -> list[float]:
        """One per row, with references."""
        return list(self.result[f"ref_{self.name}_scores"])

    @property
    def kinds_at(self) -> dict[str, list[int]]:
        """Rows of each kind of caption."""
        return positions_by_kind([row["kind"] for row in self.rows])

    @property
    def pictures_at(self) -> dict[str, list[int]]:
        """Rows of each picture."""
        return positions_by_kind([row["picture"] for row in self.rows])


def captioned_section(name: str, examples: Path, say: Say) -> Section:
    """Score the pictures and the clips, and show each with its captions."""
    images = scored(name, "image", examples / "captioned_scenes.jsonl", "images", say)
    clips = scored(name, "video", examples / "captioned_clips.jsonl", "videos", say)
    say(f"Drawing {len(images.pictures_at)} pictures and {len(clips.pictures_at)} maps of words and frames")
    metric: Any = vlgauge.load(name, "video", keep_in_memory=True, profile="embedded", device=DEVICE)
    shown = [picture_with_captions(images, picture, where) for picture, where in images.pictures_at.items()]
    maps = [
        picture_with_captions(clips, picture, where) | word_map(metric, clips, where[0])
        for picture, where in clips.pictures_at.items()
    ]
    picked = [i for where in images.kinds_at.values() for i in extreme_positions(where, images.scores)]
    rows = [(images.rows[i]["id"], images.scores[i], shortened(images.rows[i]["predictions"])) for i in picked]
    return Section(
        metric=name,
        signature=images.result[f"{name}_signature"],
        scores={kind: [images.scores[i] for i in where] for kind, where in images.kinds_at.items()},
        by_kind=kind_table(images),
        extremes=Table(("example", "score", "caption"), rows),
        body=fragment(
            name,
            pictures=shown,
            clips=maps,
            by_kind=kind_table(clips),
            signature=clips.result[f"{name}_signature"],
            n_open=N_OPEN,
        ),
    )


def scored(name: str, config: str, path: Path, column: str, say: Say) -> Scores:
    """The rows of a file, scored."""
    rows = read_rows(str(path))
    seen = located({column: [row[column] for row in rows]}, str(path))[column] or []
    say(f"Scoring {len(rows)} captions of {len(set(seen))} {column}")
    metric: Any = vlgauge.load(name, config, keep_in_memory=True, profile="embedded", device=DEVICE)
    texts, references = ([row[key] for row in rows] for key in ("predictions", "references"))
    result = metric.compute(predictions=texts, references=references, **{column: seen})
    return Scores(rows, seen, result, name)


def kind_table(found: Scores) -> Table:
    """Means of each kind, and how often the right caption of the same picture scores higher."""
    rights = {found.rows[i]["picture"]: found.scores[i] for i in found.kinds_at[RIGHT]}
    rows: list[tuple[Any, ...]] = []
    for kind, where in found.kinds_at.items():
        scores = [found.scores[i] for i in where]
        beaten = sum(rights[found.rows[i]["picture"]] > found.scores[i] for i in where)
        below = "" if kind == RIGHT else f"{beaten} of {len(where)}"
        means = [mean_of_defined(scores), mean_of_defined([found.reference_scores[i] for i in where])]
        rows.append((kind, len(where), sum(map(math.isnan, scores)), *means, below))
    return Table(("kind", "captions", "undefined", "mean score", "mean with references", "below the right one"), rows)


def picture_with_captions(found: Scores, picture: str, where: Sequence[int]) -> dict[str, Any]:
    """A picture or clip and its captions, the highest score first."""
    ranked = sorted(where, key=lambda i: -found.scores[i])
    captions = [
        {
            "kind": found.rows[i]["kind"],
            "text": found.rows[i]["predictions"],
            "score": found.scores[i],
            "with_references": found.reference_scores[i],
            "is_right": found.rows[i]["kind"] == RIGHT,
        }
        for i in ranked
    ]
    path = Path(found.seen[where[0]])
    image = "" if path.suffix == ".mp4" else inline(path.read_bytes())
    return {"name": picture, "captions": captions, "image": image, "references": found.rows[where[0]]["references"]}


def word_map(metric: Any, clips: Scores, row: int) -> dict[str, Any]:
    """Cosines of the words of a caption and the frames of its clip, and the frames themselves."""
    vectors = ClipVectors(*metric.encoder_and_adapter())
    caption = clips.rows[row]["predictions"]
    words, _, (ids,) = vectors.tokens([caption])
    (pictures,) = video_pictures([video_cell(clips.seen[row], "videos[0]")])
    assert pictures is not None  # a file that cannot be read is an error before
    frames, _ = vectors.images(pictures, "raise")
    cosines = words @ frames.T
    return {
        "caption": caption,
        "frames": [frame_image(picture.open()) for picture in pictures],
        "words": [
            {"text": spoken(text), "cells": cells}
            for text, cells in zip(token_texts(ids), shaded(cosines), strict=True)
        ],
    }


def shaded(cosines: np.ndarray) -> list[list[dict[str, Any]]]:
    """Cells of a map: value, share of the tint between smallest and largest, and whether a word is nearest there."""
    low, high = float(cosines.min()), float(cosines.max())
    return [
        [
            {
                "value": value,
                "shade": round(DARKEST * (value - low) / (high - low or 1.0)),
                "is_best": place == int(np.argmax(line)),
            }
            for place, value in enumerate(line.tolist())
        ]
        for line in cosines
    ]


def spoken(token: str) -> str:
    """A token as the map shows it."""
    return {"<|startoftext|>": "start", "<|endoftext|>": "whole caption"}.get(token, token)


def frame_image(picture: Image.Image) -> Markup:
    """A frame as a small picture within the page."""
    buffer = io.BytesIO()
    picture.resize((FRAME_SIDE, FRAME_SIDE), Image.Resampling.LANCZOS).save(buffer, "PNG", optimize=True)
    return inline(buffer.getvalue())


def inline(png: bytes) -> Markup:
    """Address of a PNG that stands in the page itself."""
    return Markup("data:image/png;base64," + base64.b64encode(png).decode("ascii"))
