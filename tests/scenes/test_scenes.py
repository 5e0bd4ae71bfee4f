"""Synthetic scenes: drawing, caption and changes agree, and the splits share nothing."""

import doctest
import itertools
import random
import re

import numpy as np
import pytest
from claims import true_of

from vlgauge import scenes
from vlgauge.scenes.content import OPPOSITES, single_scenes
from vlgauge.scenes.drawing import _BACKGROUNDS, _COLOURS

# A second version of the grammar, for parsing instead of writing.
WORDS = {
    "size": {"small": "small little tiny", "large": "large big huge"},
    "colour": {**{name: name for name in scenes.COLOURS}, "purple": "purple violet"},
    "shape": {**{name: name for name in scenes.SHAPES}, "circle": "circle disc", "square": "square box"}
    | {"ring": "ring hoop"},
    "background": {**{name: name for name in scenes.BACKGROUNDS}, "grey": "grey gray"},
}
MEANING = {
    part: {word: value for value, words in table.items() for word in words.split()} for part, table in WORDS.items()
}
RELATION = re.compile(r"\b(left of|right of|above|over|below|under|beneath)\b")
RELATIONS = {"over": "above", "under": "below", "beneath": "below"}
THING = re.compile(
    rf"\ban? (?P<size>{'|'.join(MEANING['size'])}) (?P<colour>{'|'.join(MEANING['colour'])}) "
    rf"(?P<shape>{'|'.join(MEANING['shape'])})\b"
)
GROUND = re.compile(rf"\b(?:on|against) a ({'|'.join(MEANING['background'])}) (?:background|backdrop)\b")


def read(caption):
    """Return the scene that a complete caption describes."""
    found = [match.groupdict() for match in THING.finditer(caption)]
    objects = tuple(
        scenes.SceneObject(**{part: MEANING[part][word] for part, word in words.items()}) for words in found
    )
    relation = RELATION.findall(caption)
    background = MEANING["background"][GROUND.search(caption).group(1)]
    return scenes.Scene(objects, RELATIONS.get(relation[0], relation[0]) if relation else None, background)


def far_from(pixels, colour):
    """Return which pixels are not of a color, shape (height, width)."""
    return np.abs(pixels.astype(int) - np.array(colour)).sum(axis=-1) > 6


def test_a_seed_gives_the_same_again_and_leaves_global_generators_alone():
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002

    def everything(seed):
        chosen = scenes.scenes(12, seed)
        story, clip = scenes.stories(1, seed)[0], scenes.clips(1, seed)[0]
        images = [scenes.draw_scene(scene, seed=seed).image for scene in chosen] + story.images() + clip.frames()
        texts = [scenes.captions(scene, seed, 3) for scene in chosen]
        wrong = [scenes.change_fact(scene, "object", seed) for scene in chosen]
        told = [story.with_hallucination(seed)[1], clip.references]
        return chosen, story, clip, texts, wrong, told, [image.tobytes() for image in images]

    assert everything(3) == everything(3)
    assert everything(3)[:2] != everything(4)[:2]
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


def test_scenes_are_distinct_and_splits_share_no_image():
    seen = {split: {scene.key for scene in scenes.scenes(1500, 0, split)} for split in scenes.SPLITS}
    assert {split: len(keys) for split, keys in seen.items()} == dict.fromkeys(scenes.SPLITS, 1500)
    for split in scenes.SPLITS:
        seen[split] |= {scene.key for story in scenes.stories(30, 1, split) for scene in story.scenes}
        seen[split] |= {clip.scene.key for clip in scenes.clips(100, 1, split)}
    for one, other in itertools.combinations(scenes.SPLITS, 2):
        assert not seen[one] & seen[other]


def test_a_split_can_be_used_up():
    with pytest.raises(ValueError, match=r"^`n`.*got 100000") as caught:
        scenes.scenes(100_000, 0, "test")
    n = int(re.search(r"at most (\d+)", str(caught.value)).group(1))
    keys = {scene.key for scene in scenes.scenes(n, 0, "test")}
    assert len(keys) == n
    assert n > 5000
    assert {scene.key for scene in single_scenes() if scene.split == "test"} <= keys
    with pytest.raises(ValueError, match=r"^`n`.*got 9999"):
        scenes.clips(9999, 0, "validation")


def test_the_key_does_not_depend_on_the_order_of_naming():
    one, other = scenes.SceneObject("star", "red", "small"), scenes.SceneObject("ring", "blue", "large")
    for relation, opposite in OPPOSITES.items():
        scene, turned = scenes.Scene((one, other), relation, "grey"), scenes.Scene((other, one), opposite, "grey")
        assert scene.key == turned.key
        assert scene.reverse_order() == turned
        assert scene.key != scenes.Scene((one, other), opposite, "grey").key
        drawn, again = scenes.draw_scene(scene, seed=5), scenes.draw_scene(turned, seed=5)
        assert drawn.image.tobytes() == again.image.tobytes()
        assert drawn.boxes == again.boxes[::-1]


@pytest.mark.parametrize("size", [64, 128, 200])
def test_boxes_lie_tightly_around_what_is_drawn(size):
    for scene in scenes.scenes(25, size):
        drawing = scenes.draw_scene(scene, size=size, seed=1)
        pixels = np.asarray(drawing.image)
        foreground = far_from(pixels, pixels[0, 0])
        assert pixels.shape == (size, size, 3)
        for thing, (left, top, right, bottom) in zip(scene.objects, drawing.boxes, strict=True):
            # Two pixels around the box are still background, so that no part of the object is outside.
            rows, columns = np.nonzero(foreground[max(top - 2, 0) : bottom + 2, max(left - 2, 0) : right + 2])
            rows, columns = rows + max(top - 2, 0), columns + max(left - 2, 0)
            found = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            assert np.abs(np.array(found) - (left, top, right, bottom)).max() <= 1, (scene.key, thing)
            foreground[top:bottom, left:right] = False
        assert not foreground.any()


def test_images_show_the_colours_sizes_places_and_background_of_the_scene():
    for scene in scenes.scenes(60, 7):
        drawing = scenes.draw_scene(scene, seed=2)
        pixels = np.asarray(drawing.image).astype(int)
        assert nearest(_BACKGROUNDS, pixels[0, 0]) == scene.background
        for thing, (left, top, right, bottom) in zip(scene.objects, drawing.boxes, strict=True):
            part = pixels[top:bottom, left:right].reshape(-1, 3)
            inner = part[far_from(part, pixels[0, 0])]
            assert nearest(_COLOURS, np.median(inner, axis=0)) == thing.colour
            assert (right - left > 0.25 * 128) == (thing.size == "large")
        if scene.relation:
            (x, y), (other_x, other_y) = (((b[0] + b[2]) / 2, (b[1] + b[3]) / 2) for b in drawing.boxes)
            holds = {"left of": x < other_x, "right of": x > other_x, "above": y < other_y, "below": y > other_y}
            assert holds[scene.relation]
            level = abs(x - other_x) > abs(y - other_y)
            assert level == (scene.relation in ("left of", "right of"))


def nearest(table, rgb):
    return min(table, key=lambda name: np.abs(np.array(table[name]) - rgb).sum())


def test_styles_differ_in_pixels_and_not_in_places():
    for scene in scenes.scenes(5, 0):
        flat, outlined = (scenes.draw_scene(scene, seed=1, style=style) for style in scenes.STYLES)
        assert (flat.boxes, flat.labels) == (outlined.boxes, outlined.labels)
        assert flat.image.tobytes() != outlined.image.tobytes()
        assert flat.labels == [thing.label for thing in scene.objects]


def test_complete_captions_say_the_scene_and_nothing_else():
    for scene in scenes.scenes(150, 11):
        texts = scenes.captions(scene, 5, 6)
        assert len(set(texts)) == 6
        assert {read(text).key for text in texts} == {scene.key}


def test_incomplete_captions_are_true_and_leave_something_out():
    n_complete = 0
    for seed, scene in enumerate(scenes.scenes(150, 12)):
        said = scenes.statement(scene, np.random.default_rng(seed), complete=False)
        assert true_of(said.claim, scene)
        assert scenes.captions(scene, seed, complete=False) == [said.text]
        assert all(phrase in said.text for phrase in said.phrases)
        n_complete += said.claim == scenes.statement(scene, np.random.default_rng(seed)).claim
    assert n_complete < 15


def test_the_same_captions_come_again_when_there_are_not_enough():
    texts = scenes.captions(single_scenes()[0], 0, 2000)
    assert len(texts) == 2000
    assert 100 < len(set(texts)) < 2000
    assert scenes.captions(single_scenes()[0], 0, 0) == []


def facts(scene):
    """Return the facts of a scene in the order of naming of its first object."""
    parts = [(place, part) for place in range(len(scene.objects)) for part in ("shape", "colour", "size")]
    said = {(place, part): getattr(scene.objects[place], part) for place, part in parts}
    return {**said, "relation": scene.relation, "background": scene.background}


@pytest.mark.parametrize("what", scenes.CHANGES)
def test_one_fact_changes_and_the_captions_become_false(what):
    for seed, scene in enumerate(scenes.scenes(80, 13)):
        other = scenes.change_fact(scene, what, seed)
        if what == "place" and scene.relation is None:
            assert other is None
            continue
        before, after = facts(scene), facts(other)
        moved = [name for name in before if before[name] != after[name]]
        names = {"place": "relation", "background": "background"}
        if what == "object":
            assert {name[1] for name in moved} == {"shape", "colour"}
            assert len({name[0] for name in moved}) == 1
        else:
            assert [names.get(what, what)] == [name[1] if isinstance(name, tuple) else name for name in moved]
        assert other.key != scene.key
        assert not true_of(scenes.statement(other, np.random.default_rng(seed)).claim, scene)
        assert read(scenes.captions(other, seed)[0]).key == other.key
        if len(other.objects) == 2:
            one, two = other.objects
            assert one.shape != two.shape
            assert one.colour != two.colour


def test_a_claim_holds_in_either_order_and_fails_on_any_wrong_part():
    star, ring = scenes.SceneObject("star", "red", "small"), scenes.SceneObject("ring", "blue", "large")
    scene = scenes.Scene((star, ring), "left of", "white")
    true = [
        scenes.Claim(),
        scenes.Claim((scenes.ObjectMention("ring"), scenes.ObjectMention("star")), "right of", "white"),
        scenes.Claim((scenes.ObjectMention(colour="red"), scenes.ObjectMention()), "left of"),
    ]
    false = [
        scenes.Claim((scenes.ObjectMention("ring"), scenes.ObjectMention("star")), "left of"),
        scenes.Claim((scenes.ObjectMention("star"), scenes.ObjectMention("star"))),
        scenes.Claim((scenes.ObjectMention("star", "blue"),)),
        scenes.Claim((scenes.ObjectMention("star", "red", "large"),)),
        scenes.Claim(background="black"),
        scenes.Claim((scenes.ObjectMention("star"), scenes.ObjectMention("ring")), "above"),
    ]
    assert all(true_of(claim, scene) for claim in true)
    assert not any(true_of(claim, scene) for claim in false)
    assert not true_of(true[2], scenes.Scene((star,), None, "white"))


def test_wrong_settings_are_refused():
    scene = scenes.scenes(1, 0)[0]
    with pytest.raises(ValueError, match=r"^`split`.*got 'dev'"):
        scenes.scenes(1, 0, "dev")
    with pytest.raises(ValueError, match=r"^`what`"):
        scenes.change_fact(scene, "color", 0)
    with pytest.raises(ValueError, match=r"^`style`.*got 'oil'"):
        scenes.draw_scene(scene, style="oil")
    with pytest.raises(ValueError, match=r"^`size`.*at least 16, got 8"):
        scenes.draw_scene(scene, size=8)


@pytest.mark.parametrize(
    ("objects", "relation", "message"),
    [
        ("", None, "got none"),
        ("star", "above", "got small red star with 'above'"),
        ("star star", "above", "got small red star and small red star with 'above'"),
        ("star ring star", "above", "blue ring"),
        ("star ring", None, r"^`relation`.*got None"),
        ("star ring", "near", r"^`relation`.*got 'near'"),
    ],
)
def test_impossible_scenes_are_refused(objects, relation, message):
    known = {"star": scenes.SceneObject("star", "red", "small"), "ring": scenes.SceneObject("ring", "blue", "large")}
    with pytest.raises(ValueError, match=message):
        scenes.Scene(tuple(known[name] for name in objects.split()), relation, "white")


def test_unknown_properties_are_refused():
    with pytest.raises(ValueError, match=r"^`shape`.*got 'oval'"):
        scenes.SceneObject("oval", "red", "small")
    with pytest.raises(ValueError, match=r"^`colour`.*got 'grey'"):
        scenes.SceneObject("star", "grey", "small")
    with pytest.raises(ValueError, match=r"^`size`.*got 'tiny'"):
        scenes.SceneObject("star", "red", "tiny")
    with pytest.raises(ValueError, match=r"^`background`.*got 'red'"):
        scenes.Scene((scenes.SceneObject("star", "red", "small"),), None, "red")


def test_the_examples_of_the_package_print_what_they_say():
    outcome = doctest.testmod(scenes)
    assert outcome.failed == 0
    assert outcome.attempted > 4


def test_nothing_here_needs_torch(run_python, tmp_path):
    code = "import sys, vlgauge.scenes, vlgauge.models.clip.demo\n"
    code += "print(sorted({'torch', 'open_clip'} & set(sys.modules)))"
    assert run_python(code, cwd=tmp_path) == "[]\n"
