"""Metrics of captions: sets beside people's, captions in a style, and captions beside pictures and clips."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from vlgauge.explain import Explanation
from vlgauge.media.tables import Rows, located, read_rows, take_column
from vlgauge.style import StyleTable

from .section import BAD, GOOD, Card, Section, scored

HELD_OUT = 4  # the captions of every so manyth picture are held out
TRM_TIES = 1e-12  # the metric's own for METEOR
OWN, OTHER = "own style", "other style"
RIGHT = "right"


# -- sets of captions -------------------------------------------------------------------------------------------------
def _caption_sets(name: str, examples: Path, **settings: Any) -> tuple[Explanation, list[str], list[str]]:
    rows = read_rows(str(examples / "caption_sets.jsonl"))
    ids, kinds = take_column(rows, "id"), take_column(rows, "kind")
    columns = {column: take_column(rows, column) for column in ("id", "predictions", "references")}
    with warnings.catch_warnings():
        # The bundled sets are of several sizes on purpose, and the report says of each why it has no score.
        warnings.filterwarnings("ignore", message=".* is a mean over sets of")
        return scored(name, columns, pvalue="exact", **settings), ids, kinds


SAME_PICTURE = "The same picture and the same five captions by people in all three: a crowd at an open-air concert."


def trm(examples: Path) -> Section:
    """The bundled caption sets with METEOR."""
    explained, ids, kinds = _caption_sets("trm", examples, tie_tol=TRM_TIES)
    return Section(
        asks="Do model captions differ from people's as people's differ?",
        explained=explained,
        names=ids,
        kinds=kinds,
        good=("diverse",),
        bad=("collapsed",),
        cards=(
            Card("diverse-06", GOOD, "Fair: the columns stay near the line", "The model varies as people do."),
            Card(
                "off-topic-06",
                "",
                "Off topic: it speaks of a garden, and TRM does not notice",
                "METEOR compares words, and people's own captions share few. mmd_bert, below, sees it.",
            ),
            Card(
                "collapsed-06",
                BAD,
                "One sentence five times: its side is always the shortest",
                "In every triangle two model captions lie closer to each other than to one by people.",
            ),
        ),
        note=f"{SAME_PICTURE} Lower is better, but fair sets do not reach 0: read p first.",
    )


def mmd_bert(examples: Path) -> Section:
    """The bundled caption sets with MiniLM."""
    explained, ids, kinds = _caption_sets("mmd_bert", examples, profile="embedded", device="cpu")
    return Section(
        asks="Could the model's captions have been written by people?",
        explained=explained,
        names=ids,
        kinds=kinds,
        good=("diverse",),
        bad=("collapsed", "off-topic"),
        cards=(
            Card("diverse-06", GOOD, "Model and people share one cloud", ""),
            Card("off-topic-06", "", "Another topic: two clouds", "The model speaks of a garden."),
            Card("collapsed-06", BAD, "One sentence five times: a point in a cloud", "People do not all say the same."),
        ),
        note=SAME_PICTURE,
    )


def frechet_bert(examples: Path) -> Section:
    """The bundled caption sets with MiniLM, by mean and spread."""
    explained, ids, kinds = _caption_sets("frechet_bert", examples, profile="embedded", device="cpu")
    return Section(
        asks="Have they the mean and the spread of people's captions?",
        explained=explained,
        names=ids,
        kinds=kinds,
        good=("diverse",),
        bad=("off-topic",),
        cards=(
            Card("diverse-06", GOOD, "Two ellipses over each other", ""),
            Card("collapsed-06", "", "No spread: the ellipse is a point", "The mean is right, the spread is not."),
            Card("off-topic-06", BAD, "Another topic: the means lie apart", "Two clouds of like spread, far apart."),
        ),
        note=SAME_PICTURE,
    )


# -- style ------------------------------------------------------------------------------------------------------------
def _styled(examples: Path) -> tuple[dict[str, Any], list[str], list[str], StyleTable]:
    """Captions of pictures that the table has not seen, each scored in its own style and then in the next one."""
    rows = read_rows(str(examples / "styled_captions.csv"))
    captions, styles, pictures = (take_column(rows, column) for column in ("caption", "style", "picture"))
    chosen = set(list(dict.fromkeys(pictures))[HELD_OUT - 1 :: HELD_OUT])
    if not chosen:
        raise ValueError(f"styled_captions.csv must have at least {HELD_OUT} pictures, got {len(set(pictures))}")
    held_out = [picture in chosen for picture in pictures]
    table = StyleTable.fit(captions, styles, held_out=held_out)
    fitted = {
        style: [text for text, its, held in zip(captions, styles, held_out, strict=True) if its == style and not held]
        for style in table.styles
    }
    following = dict(zip(table.styles, [*table.styles[1:], table.styles[0]], strict=True))
    own = [row for row, held in enumerate(held_out) if held]
    asked = [styles[row] for row in own] + [following[styles[row]] for row in own]
    names = [f"{pictures[row]}, {styles[row]}" for row in own]
    names += [f"{name} as {style}" for name, style in zip(names, asked[len(own) :], strict=True)]
    columns = {
        "id": names,
        "predictions": [captions[row] for row in own] * 2,
        "styles": asked,
        "references": [fitted[style] for style in asked],
    }
    return columns, names, [OWN] * len(own) + [OTHER] * len(own), table


def _style_cards(explained: Explanation, names: list[str], kinds: list[str]) -> tuple[str, str, str]:
    """Names of the caption that sounds most like its style, of the same in another style, and of the lowest one."""
    n = kinds.count(OWN)
    best = max(range(n), key=lambda row: explained.scores[row])
    worst = min(range(n, 2 * n), key=lambda row: explained.scores[row])
    return names[best], names[best + n], names[worst]


def onlystyle(examples: Path) -> Section:
    """The held-out captions in their own style and in another."""
    columns, names, kinds, table = _styled(examples)
    asked = {column: columns[column] for column in ("id", "predictions", "styles")}
    explained = scored("onlystyle", asked, table=table)
    best, same, worst = _style_cards(explained, names, kinds)
    return Section(
        asks="Does the caption sound like the style?",
        explained=explained,
        names=names,
        kinds=kinds,
        good=(OWN,),
        bad=(OTHER,),
        cards=(
            Card(best, GOOD, "In its own style: the turns of the style raise it", ""),
            Card(same, "", "The same caption, asked for another style", "The same words count against it now."),
            Card(worst, BAD, "The lowest of all: words of another style", "It was asked for a style that it has not."),
        ),
        note=f"The table was fitted on {sum(table.captions)} captions of other pictures.",
    )


def stylecider(examples: Path) -> Section:
    """The held-out captions against those of the table, in their own style and in another."""
    columns, names, kinds, table = _styled(examples)
    explained = scored("stylecider", columns, table=table)
    best, same, worst = _style_cards(explained, names, kinds)
    return Section(
        asks="Does it share the style's n-grams with its references?",
        explained=explained,
        names=names,
        kinds=kinds,
        good=(OWN,),
        bad=(OTHER,),
        cards=(
            Card(best, GOOD, "In its own style: it shares turns with references", ""),
            Card(same, "", "The same caption against another style", "What it shares says less about that style."),
            Card(worst, BAD, "The lowest of all: next to nothing is shared", ""),
        ),
        note="As references each has all captions of one style, of other pictures, so that scores are small.",
    )


# -- captions beside pictures -----------------------------------------------------------------------------------------
def _captioned(name: str, config: str, rows: Rows, path: Path, column: str) -> Explanation:
    seen = located({column: take_column(rows, column)}, str(path))[column]
    columns = {key: take_column(rows, key) for key in ("predictions", "references")}
    # Beside the others of its picture a caption is called by what is wrong with it.
    columns |= {"id": take_column(rows, "kind"), column: seen or []}
    return scored(name, columns, config, profile="embedded", device="cpu")


def _picture_section(name: str, examples: Path, asks: str, titles: tuple[str, str, str]) -> Section:
    path = examples / "captioned_scenes.jsonl"
    rows = read_rows(str(path))
    clips = examples / "captioned_clips.jsonl"
    videos = _captioned(name, "video", read_rows(str(clips)), clips, "videos")
    shown = videos.example(0, title="A clip, and the words that saw its frames best")
    kinds = take_column(rows, "kind")
    ladder = "One wrong word costs less than the right words in the wrong places."
    return Section(
        asks=asks,
        explained=_captioned(name, "image", rows, path, "images"),
        names=take_column(rows, "id"),
        kinds=kinds,
        good=(RIGHT,),
        bad=("swapped places", "other scene"),
        cards=(
            Card("scene-01, right", GOOD, titles[0], ladder),
            Card("scene-01, other colour", "", titles[1], "Dotted words are not in this caption."),
            Card("scene-01, swapped places", BAD, titles[2], "Above for under: the same words, another scene."),
        ),
        note="Each card shows captions of its picture, best first; a line at the left marks the one that is explained.",
        more=("With a video", shown),
    )


def clip_s(examples: Path) -> Section:
    """The drawn scenes and clips with the toy CLIP."""
    titles = ("The right caption leads", "One colour is wrong", "Two objects have changed places")
    return _picture_section("clip_s", examples, "How well does a caption fit its picture, by CLIP?", titles)


def pac_s(examples: Path) -> Section:
    """The drawn scenes and clips with the toy's own projections."""
    titles = ("The right caption leads", "One colour is wrong", "Two objects have changed places")
    asks = "The same, by a CLIP trained to tell nearly right from right?"
    return _picture_section("pac_s", examples, asks, titles)


# -- captions beside references ---------------------------------------------------------------------------------------
def _referenced(name: str, examples: Path, asks: str) -> Section:
    """The drawn scenes again, by the words of their captions and references alone."""
    rows = read_rows(str(examples / "captioned_scenes.jsonl"))
    columns = {column: take_column(rows, column) for column in ("id", "predictions", "references")}
    return Section(
        asks=asks,
        explained=scored(name, columns),
        names=columns["id"],
        kinds=take_column(rows, "kind"),
        good=(RIGHT,),
        bad=("other scene",),
        cards=(
            Card("scene-01, right", GOOD, "The right caption", "Other words than the references, for the same scene."),
            Card(
                "scene-01, swapped places",
                "",
                "Two objects have changed places, and the score hardly notices",
                "The words are nearly the same. clip_s and pac_s look at the picture, and see it.",
            ),
            Card("scene-01, other scene", BAD, "The caption of another scene", "Few words are shared."),
        ),
        note="The same picture and the same two references in all three.",
    )


def cider(examples: Path) -> Section:
    """Rare n-grams that are shared."""
    return _referenced("cider", examples, "Does it share the rare n-grams of its references?")


def meteor(examples: Path) -> Section:
    """Words, stems and synonyms that are shared."""
    return _referenced("meteor", examples, "Does it share words, stems or synonyms, in order?")


def rouge_l(examples: Path) -> Section:
    """The longest sequence that is shared."""
    return _referenced("rouge_l", examples, "How long is the sequence of words that both have?")


def bleu(examples: Path) -> Section:
    """n-grams that are shared."""
    return _referenced("bleu", examples, "How many of its n-grams do the references have?")
