"""Pictures and texts as rows of small numbers: the truth of every text of every picture is a few comparisons."""

import re
from functools import lru_cache
from typing import Any

import numpy as np

from vlgauge.scenes.content import BACKGROUNDS, COLOURS, OPPOSITES, SHAPES, SIZES, Scene
from vlgauge.scenes.wording import Claim

# Left open by a text; not to be seen, such as the size in a close crop.
OPEN = -1
# No object, no mention, no relation.
ABSENT = -9
# Numbers of values of the columns of `targets`; the last value of an object's column means that there is none.
N_VALUES = (*(len(SHAPES) + 1, len(COLOURS) + 1, len(SIZES) + 1) * 2, 3, len(BACKGROUNDS))
# Column that is not asked for; the value that torch's cross-entropy leaves out.
IGNORED = -100

_RELATIONS = tuple(OPPOSITES)
_TURNED = np.array([_RELATIONS.index(OPPOSITES[relation]) for relation in _RELATIONS], dtype=np.int8)


def _code(values: tuple[str, ...], value: str | None) -> int:
    return OPEN if value is None else values.index(value)


def scene_row(scene: Scene, sized: bool = True) -> list[int]:
    """Shape, colour, size of two objects, relation, background."""
    row = []
    for thing in scene.objects:
        row += [SHAPES.index(thing.shape), COLOURS.index(thing.colour), SIZES.index(thing.size) if sized else OPEN]
    row += [ABSENT] * (6 - len(row))
    return [*row, _RELATIONS.index(scene.relation) if scene.relation else ABSENT, BACKGROUNDS.index(scene.background)]


def ground_row(background: str) -> list[int]:
    """The same columns of an empty background."""
    return [*[ABSENT] * 7, BACKGROUNDS.index(background)]


def claim_row(claim: Claim) -> list[int]:
    """The same columns of a text."""
    row = []
    for said in claim.mentions:
        row += [_code(SHAPES, said.shape), _code(COLOURS, said.colour), _code(SIZES, said.size)]
    row += [ABSENT] * (6 - len(row))
    return [*row, _code(_RELATIONS, claim.relation), _code(BACKGROUNDS, claim.background)]


def truth(seen: np.ndarray, claims: np.ndarray) -> np.ndarray:
    """Whether each text is true of each picture, or may be.

    Args:
        seen: Rows of `scene_row`, shape ``(m, 8)``.
        claims: Rows of `claim_row`, shape ``(n, 8)``.

    Returns:
        Booleans, shape ``(m, n)``.
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
    """What a picture shows, whatever the order of naming: the left or upper object, the other one, axis, background.

    Args:
        rows: Rows of `scene_row`, shape ``(n, 8)``.

    Returns:
        Values by column as in `N_VALUES` or `IGNORED`, shape ``(n, 8)``.
    """
    relation = rows[:, 6]
    slots = np.where(np.isin(relation, (1, 3))[:, None], rows[:, [3, 4, 5, 0, 1, 2]], rows[:, :6]).astype(np.int64)
    slots = np.where(slots == ABSENT, np.array(N_VALUES[:6]) - 1, np.where(slots == OPEN, IGNORED, slots))
    axis = np.select([relation >= 2, relation >= 0, relation == ABSENT], [2, 1, 0], IGNORED)
    ground = np.where(rows[:, 7] == OPEN, IGNORED, rows[:, 7])
    return np.column_stack([slots, axis, ground])


def said_targets(claims: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The same of texts; without a relation only a single object has a place, and that only in a picture of one.

    Args:
        claims: Rows of `claim_row`, shape ``(n, 8)``.
        seen: Rows of `scene_row` of their pictures, shape ``(n, 8)``.
    """
    found = targets(claims)
    placed, two = claims[:, 6] >= 0, (claims[:, 3] != ABSENT) | (seen[:, 3] != ABSENT)
    found[~placed, 3:6] = IGNORED
    found[~placed & (two | (claims[:, 0] == ABSENT)), :3] = IGNORED
    return found


def token_ids(text: str) -> list[int]:
    """CLIP's token ids of a plain text, without start and end; words are looked up once."""
    return [number for word in re.findall(r"[a-z]+|[^a-z\s]+", text.lower()) for number in _word_ids(word)]


@lru_cache(maxsize=4096)
def _word_ids(word: str) -> tuple[int, ...]:
    return tuple(_tokenizer().encode(word))


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    from open_clip.tokenizer import SimpleTokenizer

    return SimpleTokenizer()
