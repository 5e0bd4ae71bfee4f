"""Synthetic stories and videos: sentences fit their images, state their order, and can be made wrong in known ways."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from claims import true_of

from vlgauge import scenes
from vlgauge.inputs.text.noun_phrases import phrase_source
from vlgauge.scenes.content import OPPOSITES, single_scenes
from vlgauge.scenes.stories import PLOTS

NOUNS = ["circle", "disc", "square", "box", "triangle", "star", "cross", "ring", "hoop"]
PLACE_WORDS = (
    (),
    ("then", "soon", "shortly"),
    ("next", "this", "that"),
    ("later", "afterwards", "thereafter"),
    ("finally", "last", "lastly", "eventually"),
)


@pytest.fixture(scope="module")
def told():
    return scenes.stories(100, 0)


def introduced(sentence):
    """Return the nouns that come with "a" and the nouns that come with "the"."""
    found = re.findall(rf"\b(an?|the) (?:\w+ ){{0,2}}?({'|'.join(NOUNS)})\b", sentence.lower())
    return {noun for article, noun in found if article != "the"}, {noun for article, noun in found if article == "the"}


def test_every_sentence_is_true_of_its_image(told):
    for story in told:
        assert len(story.scenes) == len(story.sentences) == 5
        assert all(true_of(each.claim, scene) for each, scene in zip(story.statements, story.scenes, strict=True))
        for each, phrases in zip(story.statements, story.noun_phrases, strict=True):
            places = [each.text.lower().index(phrase) for phrase in phrases]
            assert places == sorted(places)
            assert re.fullmatch(r"[A-Z][a-z, ]+\.", each.text)


def test_relations_in_sentences_are_those_of_the_image(told):
    words = {"over": "above", "under": "below", "beneath": "below"}
    meaning = {"disc": "circle", "box": "square", "hoop": "ring"}
    told_of = 0
    for story in told:
        for sentence, scene in zip(story.sentences, story.scenes, strict=True):
            found = re.search(
                rf"\b({'|'.join(NOUNS)})\b[a-z ]*?\b(left of|right of|{'|'.join([*words, *words.values()])}) "
                rf"[a-z ]*?\b({'|'.join(NOUNS)})\b",
                sentence.lower(),
            )
            if found:
                one, relation, other = found.groups()
                shapes = tuple(meaning.get(noun, noun) for noun in (one, other))
                relation = words.get(relation, relation)
                seen = [scene, scene.reverse_order()]
                assert (shapes, relation) in [(tuple(t.shape for t in s.objects), s.relation) for s in seen], sentence
                told_of += 1
    assert told_of > 75


def test_sentences_say_to_the_left_of(told):
    """Check the wording, because parsers lose the noun before a bare "left of"."""
    texts = [sentence for story in told for sentence in story.sentences]
    assert sum(" to the left of " in text or " to the right of " in text for text in texts) > 30
    assert not any(re.search(r"(?<!to the )\b(left|right) of\b", text) for text in texts)


def test_the_embedded_pipeline_finds_the_phrases(told):
    """Check all phrases except phrases of place or time such as "the left" and "after that"."""
    statements = [each for story in told for each in story.statements]
    found = phrase_source("embedded").noun_phrases([each.text for each in statements])
    elsewhere = {"the left", "the right", "this", "that"}
    wrong = [
        each.text
        for each, phrases in zip(statements, found, strict=True)
        if [phrase for phrase in phrases if phrase not in elsewhere] != list(dict.fromkeys(each.phrases))
    ]
    assert len(wrong) <= 0.005 * len(statements), wrong


def test_the_sentences_of_two_stories_are_mostly_false_of_each_others_images(told):
    true = [
        true_of(each.claim, scene)
        for story, other in itertools.pairwise(told)
        for each, scene in zip(story.retell_with(other).statements, story.scenes, strict=True)
    ]
    assert np.mean(true) < 0.15
    assert told[0].retell_with(told[1]).scenes == told[0].scenes


def test_an_object_comes_in_with_a_and_is_the_from_then_on(told):
    for story in told:
        known = set()
        for sentence in story.sentences:
            new, old = introduced(sentence)
            assert not new & known
            assert old <= known
            known |= new
    assert any("It " in sentence for story in told for sentence in story.sentences)


def test_the_order_of_neighbours_can_be_told_in_more_than_one_way(told):
    by_word, by_article = [], []
    for story in told:
        for place in range(4):
            first, second = story.sentences[place : place + 2]
            words = set(re.findall(r"[a-z]+", second.lower()))
            by_word.append(bool(words & set(PLACE_WORDS[place + 1])))
            by_article.append(bool(introduced(first)[0] & introduced(second)[1]) or (place == 0 and "it" in words))
    assert np.all(np.array(by_word) | np.array(by_article))
    assert 0.7 < np.mean(by_word) < 0.95
    assert np.mean(by_article) > 0.4
    # Words of sequence occur only at their own position.
    for place, words in enumerate(PLACE_WORDS):
        others = " ".join(s for story in told for i, s in enumerate(story.sentences) if i != place).lower()
        assert not set(words) & set(re.findall(r"[a-z]+", others))


def test_no_single_word_gives_a_place_away(told):
    for place in range(1, 5):
        counts = {}
        for story in told:
            for word in set(re.findall(r"[a-z]+", story.sentences[place].lower())) & set(sum(PLACE_WORDS, ())):
                counts[word] = counts.get(word, 0) + 1
        assert len(counts) >= 2
        assert max(counts.values()) < 0.6 * len(told)


def test_plots_are_followed(told):
    n_objects = {tuple(len(scene.objects) for scene in story.scenes) for story in told}
    expected = set()
    for plot in PLOTS:
        counts = []
        for event in plot:
            change = {"open one": 1, "open two": 2, "enter": 2, "exchange": 2, "alone": 1}
            counts.append(change.get(event) or counts[-1])
        expected.add(tuple(counts))
    assert n_objects == expected
    assert len({story.key for story in told}) == len(told)


def test_images_boxes_and_labels_belong_together(told):
    story = replace(told[0], style="outlined")
    assert [drawn.size for drawn in story.images()] == [(128, 128)] * 5
    assert [drawn.size for drawn in story.images(size=64)] == [(64, 64)] * 5
    assert [drawing.labels for drawing in story.drawings()] == story.labels
    assert [drawing.boxes for drawing in story.drawings()] == story.boxes == told[0].boxes
    assert story.images()[0].tobytes() != told[0].images()[0].tobytes()
    assert [drawing.image.tobytes() for drawing in story.drawings()] == [image.tobytes() for image in story.images()]


def test_a_hallucinated_object_is_in_none_of_the_images(told):
    for seed, story in enumerate(told):
        wrong, phrase = story.with_hallucination(seed)
        changed = [i for i in range(5) if wrong.sentences[i] != story.sentences[i]]
        assert len(changed) == 1
        assert phrase in wrong.sentences[changed[0]].lower()
        assert phrase in wrong.noun_phrases[changed[0]]
        assert wrong.scenes == story.scenes
        seen = [thing for scene in story.scenes for thing in scene.objects]
        _, *_, colour, shape = phrase.split()
        assert {"violet": "purple"}.get(colour, colour) not in {thing.colour for thing in seen}
        assert {"disc": "circle", "box": "square", "hoop": "ring"}.get(shape, shape) not in {t.shape for t in seen}
        assert re.fullmatch(r"[A-Z][a-z, ]+\.", wrong.sentences[changed[0]])


@pytest.mark.parametrize("split", scenes.SPLITS)
def test_all_scenes_of_a_story_are_of_its_split(split):
    assert {scene.split for story in scenes.stories(40, 5, split) for scene in story.scenes} == {split}


def test_objects_of_a_clip_move_as_its_caption_says():
    directions = set()
    for clip in scenes.clips(30, 0):
        drawings = clip.drawings(size=96)
        assert 8 <= len(drawings) == clip.n_frames <= 12
        centres = np.array([((b[0] + b[2]) / 2, (b[1] + b[3]) / 2) for (b,) in (d.boxes for d in drawings)])
        steps = np.diff(centres, axis=0)
        along = {"right": steps[:, 0], "left": -steps[:, 0], "down": steps[:, 1], "up": -steps[:, 1]}
        assert along.pop(clip.direction).min() > 2
        across = steps[:, 1 if clip.direction in ("left", "right") else 0]
        assert np.abs(across).max() < 0.6
        assert len({clip.caption, *clip.references}) == 5
        for text in [clip.caption, *clip.references]:
            assert re.search(rf"(moves|goes|is moving) (to the )?{clip.direction}(wards|ward)?\b", text), text
        directions.add(clip.direction)
    assert directions == set(scenes.DIRECTIONS)


@pytest.mark.parametrize("what", scenes.CHANGES)
def test_a_changed_clip_is_wrong_in_one_fact(what):
    for seed, clip in enumerate(scenes.clips(20, 1)):
        other = clip.change_fact(what, seed)
        if what == "place":
            assert (other.scene, other.direction != clip.direction) == (clip.scene, True)
            assert {clip.direction, other.direction} in ({"left", "right"}, {"up", "down"})
            continue
        assert other.direction == clip.direction
        assert not true_of(other.statement(np.random.default_rng(seed)).claim, clip.scene)
        assert true_of(clip.statement(np.random.default_rng(seed)).claim, clip.scene)


def test_unknown_splits_are_refused():
    for make in (scenes.stories, scenes.clips):
        with pytest.raises(ValueError, match=r"^`split`.*got 'dev'"):
            make(1, 0, "dev")


def test_relations_and_scenes_have_no_loose_ends():
    assert all(OPPOSITES[OPPOSITES[relation]] == relation for relation in OPPOSITES)
    assert len({scene.key for scene in single_scenes()}) == 6 * 8 * 2 * 4
