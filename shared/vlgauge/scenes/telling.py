"""Sentences of synthetic stories, with articles, pronouns and sequence words that depend on the position."""

from collections.abc import Sequence

import numpy as np

from vlgauge.scenes.content import OPPOSITES, Scene, SceneObject
from vlgauge.scenes.wording import (
    RELATION_WORDS,
    WORDING,
    Claim,
    ObjectMention,
    Statement,
    background_phrase,
    noun_phrase,
    pick,
)

# Sequence words at the front and at the end of a sentence, by position in the story. The sets are disjoint, so that
# every pair of neighboring sentences can be ordered.
_FRONTS, _ENDS = WORDING["fronts"], WORDING["ends"]


def tell(plot: Sequence[str], scenes: Sequence[Scene], rng: np.random.Generator) -> tuple[Statement, ...]:
    """Generate a sentence for each scene of a plot."""
    names: dict[SceneObject, str] = {}
    subject: SceneObject | None = None
    sentences = []
    for index, (event, scene) in enumerate(zip(plot, scenes, strict=True)):
        template = pick(WORDING["event_templates"][event], rng)
        hero = scene.objects[0]
        by_pronoun = hero == subject and rng.random() < 0.4
        introduced = index > 0 and plot[index - 1] == "enter" and event == "move" and not by_pronoun
        sentence = _sentence(scene, template, names, by_pronoun, _is_said(index, scenes, event, rng), rng)
        sentences.append(_in_sequence(sentence, index, introduced, rng))
        subject = hero if template.startswith("{hero}") or index == 0 else scene.objects[-1]
    return tuple(sentences)


def _is_said(index: int, scenes: Sequence[Scene], event: str, rng: np.random.Generator) -> bool:
    """Return whether the sentence names the background: always the first one, later ones mostly if it is new."""
    new = index == 0 or scenes[index].background != scenes[index - 1].background
    return index == 0 or event == "ground" or bool(rng.random() < (0.7 if new else 0.15))


def _sentence(
    scene: Scene, template: str, names: dict[SceneObject, str], by_pronoun: bool, say: bool, rng: np.random.Generator
) -> Statement:
    """Build one sentence without its sequence word, and add new object names to `names`."""
    mentions: list[ObjectMention] = []
    phrases: list[str] = []
    for thing in scene.objects:
        pronoun = by_pronoun and thing == scene.objects[0]
        mention, phrase = (ObjectMention(), "it") if pronoun else _name_object(thing, names, rng)
        if f"{{{('hero', 'other')[len(mentions)]}}}" in template:
            mentions.append(mention)
            phrases.append(phrase)
    ground = background_phrase(scene.background, rng)
    # The roles are swapped in templates such as "{other} appears {is_at} {hero}".
    newcomer = template.startswith("{other}")
    relation = OPPOSITES[scene.relation] if newcomer and scene.relation else scene.relation
    text = template if say or "{on}" in template else template.removesuffix(" {on}")
    if say and "{on}" not in template and "{ground}" not in template:
        text = f"{template} {{on}}"
    text = text.format(
        hero=phrases[0],
        other=phrases[-1],
        is_at=_place_words(relation, rng) if relation else "",
        on=f"on {ground}" if say else "",
        ground=ground,
    )
    phrases += [ground] if say else []
    claim = Claim(tuple(mentions), scene.relation if "{is_at}" in template else None, scene.background if say else None)
    return Statement(" ".join(text.split()), claim, tuple(sorted(phrases, key=text.index)))


def _place_words(relation: str, rng: np.random.Generator) -> str:
    """Return words such as "above" or "to the left of". Parsers drop the noun before a bare "left of"."""
    words = pick(RELATION_WORDS[relation], rng)
    return f"to the {words}" if words.startswith(("left", "right")) else words


def _name_object(
    thing: SceneObject, names: dict[SceneObject, str], rng: np.random.Generator
) -> tuple[ObjectMention, str]:
    """Name an object with "a" and all properties at first, and later with "the", the same noun and fewer properties."""
    if thing not in names:
        mention = ObjectMention(thing.shape, thing.colour, thing.size)
        phrase = noun_phrase(mention, rng)
        names[thing] = phrase.split()[-1]
        return mention, phrase
    coloured = rng.random() < 0.4
    sized = coloured and rng.random() < 0.3
    mention = ObjectMention(thing.shape, thing.colour if coloured else None, thing.size if sized else None)
    *properties, _ = noun_phrase(mention, rng, "the").split()
    return mention, " ".join([*properties, names[thing]])


def _in_sequence(sentence: Statement, index: int, introduced: bool, rng: np.random.Generator) -> Statement:
    """Add the sequence word, the capital letter and the period.

    A movement right after an introduction may omit the sequence word, because "the star" cannot precede "a star".
    """
    text = sentence.text
    if index and not (introduced and rng.random() < 0.4):
        front = rng.random() < 0.75
        text = f"{pick(_FRONTS[index], rng)} {text}" if front else f"{text} {_ENDS[index]}"
    text = text.strip()
    return Statement(f"{text[0].upper()}{text[1:]}.", sentence.claim, sentence.phrases)
