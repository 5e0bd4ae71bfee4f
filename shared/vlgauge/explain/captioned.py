"""Explanations of image and video caption scores, by the other captions of the image and by the frames of words."""

import os
from collections.abc import Hashable
from functools import cached_property
from typing import Any, ClassVar

from markupsafe import Markup

from .explanation import Explanation
from .marks import NIL, Mark, Piece, pieces, word_spans
from .pages import number, safe
from .thumbnails import frames_of, thumbnail

N_LADDER = 3  # captions of an image that are shown, the others are collapsed
N_FOLDED = 20  # maximum number of collapsed captions
N_FRAMES = 5


class ImageCaptions(Explanation):
    """Captions with their images or videos."""

    on_axis: ClassVar[tuple[float, ...]] = (0.0,)
    ranks_rows = True
    family_template = "captioned"
    family_key = "captioned_key"
    first_config = "image"

    @cached_property
    def of_videos(self) -> bool:
        """Whether videos were scored."""
        return self.columns.get("videos") is not None

    @property
    def kind(self) -> str:
        """Kind of the scored data, "videos" or "images", whose scores have different ranges."""
        return "videos" if self.of_videos else "images"

    @property
    def score_range(self) -> str:
        """Range of a score. The score of an image is a cosine multiplied by w."""
        if self.settings.get("calibration"):
            return "(-inf, inf)"
        w = self.settings.get("w")
        return super().score_range if self.of_videos or w is None else f"[0, {w}]"

    @cached_property
    def _seen(self) -> Any:
        return self.columns.get("videos" if self.of_videos else "images")

    @cached_property
    def _rows_of(self) -> dict[Hashable, list[int]]:
        """Rows by image or video, best first."""
        rows: dict[Hashable, list[int]] = {}
        for row in [] if self._seen is None else self.worst_first[::-1]:
            rows.setdefault(_same(self._seen[row]), []).append(row)
        return rows

    def captions_of(self, row: int) -> list[int]:
        """Return the rows of the same image or video, best first."""
        return self._rows_of.get(_same(self._seen[row]), [row]) if self._seen is not None else [row]

    def reason(self, row: int) -> str:
        """Return the rank among the captions of the same image, and the components of the score."""
        rows = self.captions_of(row)
        texts = []
        if len(rows) > 1:
            texts.append(
                f"rank {rows.index(row) + 1} of {len(rows)} captions of its {'video' if self.of_videos else 'image'}"
            )
        texts.append(self._parts(row))
        return "; ".join(texts)

    def finding(self, row: int) -> Markup:
        """Describe the rank among the captions of the same image, and the distance to the best one."""
        rows, what = self.captions_of(row), "video" if self.of_videos else "image"
        if len(rows) == 1:
            return safe(
                f"{self._parts(row).capitalize()} between caption and {what}; other captions of it would be more "
                "informative."
            )
        if rows[0] == row:
            ahead = number(self.scores[row] - self.scores[rows[1]])
            return safe(f"The best of {len(rows)} captions of this {what}, by {ahead}.")
        behind = number(self.scores[rows[0]] - self.scores[row])
        return Markup("Number {} of {} captions of this {}, <em>{}</em> behind the best.").format(
            rows.index(row) + 1, len(rows), what, behind
        )

    def _parts(self, row: int) -> str:
        detail = self.details[row]
        if self.of_videos:
            return f"fine {number(detail['fine'])} · coarse {number(detail['coarse'])}"
        return f"cosine {number(detail['cosine'])}"

    def extra(self, row: int) -> str:
        """Return the components of the score, and the score with references."""
        with_references = self.result.get(f"ref_{self.name}_scores")
        more = f" · with references {number(with_references[row])}" if with_references else ""
        note = " · text was cut" if self.details[row].get("truncated") else ""
        return self._parts(row) + more + note

    def explain_undefined(self, row: int) -> str:
        """Return that the image or video could not be read."""
        return f"the {'video' if self.of_videos else 'image'} could not be read"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``image`` or ``frames``, ``ladder`` and ``more`` (captions scored with the image or video), ``n_more``,
            and the most similar ``reference`` or None.
        """
        rows = self.captions_of(row)
        # Show the caption itself, independent of its rank.
        kept = rows[:N_LADDER] if row in rows[:N_LADDER] else [*rows[: N_LADDER - 1], row]
        folded = [other for other in rows if other not in kept]
        nearest, references = self.details[row].get("best_reference"), self.references_of(row)
        return {
            "image": None if self.of_videos or self._seen is None else thumbnail(self._seen[row]),
            "frames": self._frames(row) if self.of_videos else [],
            "ladder": [self._rung(other, row) for other in kept],
            "more": [self._rung(other, row) for other in folded[:N_FOLDED]],
            "n_more": len(folded),
            "reference": references[nearest] if references and nearest is not None else None,
        }

    def _rung(self, other: int, row: int) -> dict[str, Any]:
        """Return a caption of the image of a row, with its differences from the caption of the row."""
        own, text = str(self.predictions[row]), str(self.predictions[other])
        return {
            "row": other,
            "own": other == row,
            "score": self.scores[other],
            "bar": self.bar(other),
            "pieces": [Piece(own)] if other == row else differing(own, text),
        }

    def _frames(self, row: int) -> list[dict[str, Any]]:
        """Return the frames with the highest similarity to the most words, each with its words."""
        words: dict[int, list[str]] = {}
        for token in self.details[row].get("tokens", []):
            if not token["token"].startswith("<|"):
                words.setdefault(token["frame"], []).append(token["token"])
        chosen = sorted(sorted(words, key=lambda frame: -len(words[frame]))[:N_FRAMES])
        frames = frames_of(self._seen[row], chosen)
        return [{"number": frame, "image": frames.get(frame), "words": words[frame]} for frame in chosen]


def _same(seen: Any) -> Hashable:
    """Return a key that is equal for rows of the same image: its path, or otherwise the identity of the object."""
    return str(seen) if isinstance(seen, (str, os.PathLike)) else id(seen)


def differing(own: str, other: str) -> list[Piece]:
    """Split another caption into pieces, marking the words that the first caption does not contain."""
    left = own.lower().split()
    words, marks = other.split(), list[Mark | None]()
    for word in words:
        if word.lower() in left:
            left.remove(word.lower())
            marks.append(None)
        else:
            marks.append(Mark(NIL))
    return pieces(other, word_spans(other, words), marks)
