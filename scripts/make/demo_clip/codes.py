"""Integer codes of images and texts, with which the truth of every text for every image takes few comparisons."""

from functools import cache
from typing import Any

import numpy as np

from vlgauge.scenes.content import BACKGROUNDS, COLOURS, OPPOSITES, SHAPES, SIZES, Scene
from vlgauge.scenes.wording import Claim

# Unspecified by a text, or not visible, such as the size in a close crop.
OPEN = -1
# No object, no mention, no relation.
ABSENT = -9
# Number of values per column of `targets`. The last value of an object's column denotes a missing object.
N_VALUES = (*(len(SHAPES) + 1, len(COLOURS) + 1, len(SIZES) + 1) * 2, 3, len(BACKGROUNDS))
# Target that is excluded from the loss, as in torch's cross-entropy.
IGNORED = -100

_RELATIONS = tuple(OPPOSITES)
_TURNED = np.array([_RELATIONS.index(OPPOSITES[relation]) for relation in _RELATIONS], dtype=np.int8)


def _code(values: tuple[str, ...], value: str | None) -> int:
    return OPEN if value is None else values.index(value)


def scene_row(scene: Scene, sized: bool = True) -> list[int]:
    """Encode shape, color and size of two objects, relation and background."""
    row = []
    for thing in scene.objects:
        row += [SHAPES.index(thing.shape), COLOURS.index(thing.colour), SIZES.index(thing.size) if sized else OPEN]
    row += [ABSENT] * (6 - len(row))
    return [*row, _RELATIONS.index(scene.relation) if scene.relation else ABSENT, BACKGROUNDS.index(scene.background)]


def ground_row(background: str) -> list[int]:
    """Encode an empty background in the same columns."""
    return [*[ABSENT] * 7, BACKGROUNDS.index(background)]


def claim_row(claim: Claim) -> list[int]:
    """Encode a text in the same columns."""
    row = []
    for said in claim.mentions:
        row += [_code(SHAPES, said.shape), _code(COLOURS, said.colour), _code(SIZES, said.size)]
    row += [ABSENT] * (6 - len(row))
    return [*row, _code(_RELATIONS, claim.relation), _code(BACKGROUNDS, claim.background)]


def truth(seen: np.ndarray, claims: np.ndarray) -> np.ndarray:
    """Return whether each text is true, or possibly true, for each image.

    Args:
        seen: Rows of `scene_row`, shape ``(m, 8)``.
        claims: Rows of `claim_row`, shape ``(n, 8)``.

    Returns:
        Bools, shape ``(m, n)``.
    """
    relation, turned = seen[:, None, 6], np.where(seen[:, 6] >= 0, _TURNED[np.maximum(seen[:, 6], 0)], ABSENT)[:, None]
    said = claims[None, :, 6]
    first, second = seen[:, None, 0:3], seen[:, None, 3:6]
    one, other = claims[None, :, 0:3], claims[None, :, 3:6]
    straight = _fits(one, first) & _fits(other, second) & ((said == OPEN) | (said == relation))
    crossed = _fits(one, second) & _fits(other, first) & ((said == OPEN) | (said == turned))
    ground = (claims[None, :, 7] == OPEN) | (claims[None, :, 7] == seen[:, None, 7])
    return np.asarray((straight | crossed) & ground)


def _fits(said: np.ndarray, seen: np.ndarray) -> np.ndarray:
    equal = ((said == OPEN) | (seen == OPEN) | (said == seen)).all(axis=-1)
    return np.asarray((said[..., 0] == ABSENT) | (equal & (seen[..., 0] != ABSENT)))


def targets(rows: np.ndarray) -> np.ndarray:
    """Return the content of images regardless of the order of naming.

    The columns describe the left or upper object, the other object, the axis and the background.

    Args:
        rows: Rows of `scene_row`, shape ``(n, 8)``.

    Returns:
        Values by column as in `N_VALUES`, or `IGNORED`, shape ``(n, 8)``.
    """
    relation = rows[:, 6]
    slots = np.where(np.isin(relation, (1, 3))[:, None], rows[:, [3, 4, 5, 0, 1, 2]], rows[:, :6]).astype(np.int64)
    slots = np.where(slots == ABSENT, np.array(N_VALUES[:6]) - 1, np.where(slots == OPEN, IGNORED, slots))
    axis = np.select([relation >= 2, relation >= 0, relation == ABSENT], [2, 1, 0], IGNORED)
    ground = np.where(rows[:, 7] == OPEN, IGNORED, rows[:, 7])
    return np.column_stack([slots, axis, ground])


def said_targets(claims: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the targets of texts. Without a relation, only a single object in an image with one object has a position.

    Args:
        claims: Rows of `claim_row`, shape ``(n, 8)``.
        seen: Rows of `scene_row` of their images, shape ``(n, 8)``.
    """
    found = targets(claims)
    placed, two = claims[:, 6] >= 0, (claims[:, 3] != ABSENT) | (seen[:, 3] != ABSENT)
    found[~placed, 3:6] = IGNORED
    found[~placed & (two | (claims[:, 0] == ABSENT)), :3] = IGNORED
    return found


def token_ids(text: str) -> list[int]:
    """Return the CLIP token ids of a plain text, without start and end."""
    return list(_tokenizer().encode(text))


@cache
def _tokenizer() -> Any:
    from open_clip.tokenizer import SimpleTokenizer

    return SimpleTokenizer()
