"""Rows without any download: drawn scenes, drawn again in another style, with paraphrased captions."""

import hashlib
from typing import Literal

import numpy as np
from PIL import Image

from vlgauge.scenes import CHANGES, Scene, captions, changed, draw_scene, scenes
from vlgauge.training.pac_s.rows import Foil, Row

# "object" changes shape and colour at once: easier than either.
FOIL_KINDS = tuple(kind for kind in CHANGES if kind != "object")
_STYLE, _OTHER_STYLE = "flat", "outlined"


class ScenePicture:
    """A scene that is drawn when it is looked at."""

    convert: Literal["early", "late"] = "late"

    def __init__(self, scene: Scene, seed: int, style: str = _STYLE) -> None:
        self.place = f"scene {scene.key!r}"
        self.key = hashlib.sha256(f"{scene.key} {seed} {style}".encode()).digest()
        self._drawn = scene, seed, style

    def open(self) -> Image.Image:
        """The drawing."""
        scene, seed, style = self._drawn
        return draw_scene(scene, seed=seed, style=style).image


def scene_rows(n: int, seed: int, split: str, variants: int = 0) -> list[Row]:
    """Rows of scenes: V' is the caption drawn again in another style, T' is another wording.

    Beside each there are up to `variants` rows of the scene with one fact changed, worded alike, in one group with it.
    """
    found: dict[str, Row] = {}
    for number, scene in enumerate(scenes(n, seed, split)):
        own = 1_000_003 * seed + number
        kinds = np.random.default_rng(own).permutation(FOIL_KINDS)[:variants]
        changes = [changed(scene, str(kind), own) for kind in kinds]
        for jitter, each in enumerate([scene, *changes]):
            # No content twice, or a row would be a wrong negative of another; and none of another split.
            if each is not None and each.split == split and each.key not in found:
                found[each.key] = _row(each, own, jitter, str(number) if variants else None)
    return list(found.values())


def _row(scene: Scene, seed: int, jitter: int, group: str | None) -> Row:
    caption, paraphrase = captions(scene, seed, n=2)
    drawings = ScenePicture(scene, seed + jitter), ScenePicture(scene, seed + jitter + 1, _OTHER_STYLE)
    return Row(drawings[0], caption, drawings[1], paraphrase, group)


def scene_foils(n: int, seed: int, draws: int = 1) -> list[Foil]:
    """For every test scene one pair per kind of error: the caption, and the same wording with one fact changed.

    Their contents occur in no other split; each is drawn, worded and changed `draws` times.
    """
    foils = []
    for index, scene in enumerate(scenes(n, seed, "test") * draws):
        draw, number = divmod(index, n)
        own = 1_000_003 * (seed + draw) + number
        picture, right = ScenePicture(scene, own), captions(scene, own)[0]
        for kind in FOIL_KINDS:
            other = changed(scene, kind, own)
            if other is not None:
                foils.append(Foil(picture, right, captions(other, own)[0], kind, scene.key))
    return foils
