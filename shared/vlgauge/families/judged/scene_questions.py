"""Questions about captions of synthetic scenes, by rules, for the profile "embedded"."""

import re
from collections.abc import Iterable

from vlgauge.families.judged.question_graphs import GraphQuestion, QuestionGraph
from vlgauge.scenes.content import BACKGROUNDS, COLOURS
from vlgauge.scenes.wording import (
    BACKGROUND_WORDS,
    COLOUR_WORDS,
    GROUND_WORDS,
    RELATION_WORDS,
    SHAPE_WORDS,
    SIZE_WORDS,
)

SCENE_RULES = "scene-rules"
"""Name of the rules, for signatures."""


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_GROUND = re.compile(
    rf"(?:on|against) an? (?P<tone>{_any_of([*BACKGROUNDS, *BACKGROUND_WORDS['grey']])}) (?:{_any_of(GROUND_WORDS)})"
)
_LEAD = re.compile(r"(?:a picture of|there (?:is|are)) ")
_RELATIONS = [words for several in RELATION_WORDS.values() for words in several]
_BETWEEN = re.compile(rf" (?:(?:is )?(?P<relation>{_any_of([*_RELATIONS, 'next to'])})|and) ")
_THING = re.compile(
    rf"an? (?:(?P<size>{_any_of(word for words in SIZE_WORDS.values() for word in words)}) )?"
    rf"(?:(?P<color>{_any_of([*COLOURS, *COLOUR_WORDS['purple']])}) )?"
    rf"(?P<shape>{_any_of(word for words in SHAPE_WORDS.values() for word in words)})"
)


def scene_graph_questions(caption: str) -> QuestionGraph | None:
    """Return the questions about a caption in the wording of `vlgauge.scenes`, or None for any other caption."""
    text = " ".join(caption.lower().split()).removesuffix(".")
    ground = _GROUND.search(text)
    if ground is not None:
        text = f"{text[: ground.start()]} {text[ground.end() :]}"
    text = " ".join(text.replace(" is shown", "").split()).removeprefix(", ")
    text = _LEAD.sub("", text, count=1)
    pieces = _BETWEEN.split(text)  # thing, relation, thing, ...
    things = [_THING.fullmatch(piece) for piece in pieces[::2]]
    found: list[GraphQuestion] = []

    def ask(question: str, proposition: str, *parents: int) -> int:
        found.append(GraphQuestion(len(found) + 1, question, parents, proposition))
        return len(found)

    ids = []
    for thing in things:
        if thing is None:
            return None
        shape = thing["shape"]
        ids.append(ask(f"Is there {_article(shape)}?", f"entity - whole ({shape})"))
        for kind in ("size", "color"):
            if thing[kind]:
                ask(
                    f"Is there {_article(f'{thing[kind]} {shape}')}?",
                    f"attribute - {kind} ({shape}, {thing[kind]})",
                    ids[-1],
                )
    shapes = [thing["shape"] for thing in things if thing is not None]
    for i, relation in enumerate(pieces[1::2]):
        if relation:
            one, other = shapes[i], shapes[i + 1]
            words = f"relation - spatial ({one}, {other}, {relation})"
            ask(f"Is there {_article(one)} {relation} {_article(other)}?", words, *dict.fromkeys(ids[i : i + 2]))
    if ground is not None:
        ask(f"Is the background {ground['tone']}?", f"global ({ground['tone']} background)")
    return tuple(found)


def _article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
