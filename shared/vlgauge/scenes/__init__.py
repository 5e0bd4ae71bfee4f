"""Synthetic scenes: seeded images of simple shapes with captions, boxes, labels, controlled errors, stories and videos.

    >>> from vlgauge import scenes
    >>> scene = scenes.scenes(1, seed=0, split="test")[0]
    >>> scene.key
    'large purple square above small red triangle on grey'
    >>> scenes.captions(scene, seed=0)
    ['a little red triangle beneath a large purple square on a grey background']
    >>> scenes.change_fact(scene, "place", seed=0).key
    'small red triangle above large purple square on grey'
    >>> scenes.draw_scene(scene, size=96).labels
    ['small red triangle', 'large purple square']
    >>> for sentence in scenes.stories(1, seed=0, split="test")[0].sentences:
    ...     print(sentence)
    A large pink box stands on a white backdrop.
    The box meets a huge red ring soon.
    The box goes to the right of the ring.
    Afterwards, the ring comes to a black backdrop.
    The box is left alone on a white background at last.

The splits share no content. This also applies to each image of a story and each frame of a video. This package does not
require torch.
"""

from vlgauge.scenes.clips import DIRECTIONS, SceneClip, clips
from vlgauge.scenes.content import (
    BACKGROUNDS,
    CHANGES,
    COLOURS,
    SHAPES,
    SIZES,
    SPLITS,
    Scene,
    SceneObject,
    change_fact,
    scenes,
)
from vlgauge.scenes.drawing import STYLES, Drawing, draw_scene
from vlgauge.scenes.stories import SceneStory, stories
from vlgauge.scenes.wording import Claim, ObjectMention, Statement, captions, statement

__all__ = [
    "BACKGROUNDS",
    "CHANGES",
    "COLOURS",
    "DIRECTIONS",
    "SHAPES",
    "SIZES",
    "SPLITS",
    "STYLES",
    "Claim",
    "Drawing",
    "ObjectMention",
    "Scene",
    "SceneClip",
    "SceneObject",
    "SceneStory",
    "Statement",
    "captions",
    "change_fact",
    "clips",
    "draw_scene",
    "scenes",
    "statement",
    "stories",
]
