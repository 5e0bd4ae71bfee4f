"""Rows and settings of every metric, to be scored apart and at once."""

import io
import random
import zlib
from functools import cache

import numpy as np
from metric_checks import class_of, family_of
from own_cases import own, usual

from vlgauge import scenes
from vlgauge.core.catalog import metric_folder, metric_names

EMBEDDED = {"profile": "embedded", "device": "cpu"}
WORDS = ("a", "the", "dog", "cat", "runs", "sits", "on", "grass", "red", "two", "big", "and", "with", "under", "tree")


def fake_encoder(texts):
    return np.stack([np.random.default_rng(zlib.crc32(text.encode())).normal(size=6) for text in texts])


def png(image):
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def caption(rng):
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 9)))


def captioned(n=7):
    rng = random.Random(1)
    references = [[caption(rng) for _ in range(rng.randint(1, 4))] for _ in range(n)]
    references[3] = []
    return {"predictions": [caption(rng) for _ in range(n)], "references": references}


def styled():
    rows = captioned()
    return rows | {"styles": [("romantic", "angry", "plain")[i % 3] for i in range(len(rows["predictions"]))]}


def sets(n=7):
    rng = random.Random(2)
    rows = {"predictions": [[caption(rng) for _ in range(4)] for _ in range(n)]}
    rows["references"] = [[caption(rng) for _ in range(3)] for _ in range(n)]
    rows["predictions"][2] = rows["predictions"][2][:1]
    rows["predictions"][4][1] = rows["predictions"][4][0]
    rows["references"][5].append("a new one")
    return rows


def sampled():
    return without(sets(), "references")


def stories(n=6):
    rng = random.Random(3)
    return {"predictions": [[caption(rng) + "." for _ in range(rng.randint(1, 4))] for _ in range(n)]}


def components(n=6):
    rng = random.Random(4)
    names = ("groovist", "rovist_c", "rovist_nr")
    rows = {side: [{name: rng.random() for name in names} for _ in range(n)] for side in ("predictions", "references")}
    rows["predictions"][4]["rovist_nr"] = None
    return rows


@cache
def drawn(n=6):
    found = scenes.scenes(n, seed=3, split="test")
    references = [scenes.captions(scene, seed=1)[:2] for scene in found]
    references[1], references[2] = None, references[0]  # values shared by rows may be cached
    return {
        "predictions": [scenes.captions(scene, seed=0)[0] for scene in found],
        "images": [png(scenes.draw_scene(scene, size=48).image) for scene in found],
        "references": references,
    }


def referenced_scenes():
    rows = drawn()
    return rows | {"references": [row or [] for row in rows["references"]]}


def without(rows, name):
    return {key: cells for key, cells in rows.items() if key != name}


@cache
def clips(n=4):
    rows = drawn(n)
    frames = [[rows["images"][i], rows["images"][(i + 1) % n]] for i in range(n)]
    return {"predictions": rows["predictions"], "videos": frames, "references": rows["references"]}


@cache
def drawn_stories(n=2):
    found = scenes.stories(n, seed=5, split="test")
    return {
        "predictions": [list(story.sentences)[:3] for story in found],
        "images": [[png(image) for image in story.images()[:2]] for story in found],
    }


SAMPLED = {"pvalue": "monte_carlo", "permutations": 199, "seed": 5}
# Keyed by metric family.
ROWS_OF_FAMILY = {
    "StoryMetric": stories,
    **dict.fromkeys(("GroundingMetric", "Rovist"), drawn_stories),
    "ComponentMetric": components,
    "CaptionSetMetric": sets,
    "Diversity": sampled,
    "StyleMetric": styled,
    "BackboneMetric": drawn,
    "Polos": referenced_scenes,
    "ClipScoreMetric": drawn,
    "JudgeMetric": drawn,
    "Vqascore": drawn,
    "Dsg": drawn,
    "CaptionMetric": captioned,
    "TokenMetric": captioned,
    "Clair": captioned,
    "SceneGraphMetric": captioned,
    "ObjectMetric": captioned,
}


def cases_of(name):
    """Return the settings and the row function of each case of a metric, keyed by case name.

    A case name is the name of the metric plus a suffix. `APART` in the `cases.py` of a metric defines other cases,
    keyed by suffix.
    """
    rows = ROWS_OF_FAMILY[family_of(class_of(metric_folder(name))).__name__]
    settings = usual(name, profile="embedded", device="cpu", encoder=fake_encoder, pvalue="exact")
    found = own(name, "APART", {"": ({}, rows)})
    chosen = {behind: ({**settings, **more}, rows_of) for behind, (more, rows_of) in found.items()}
    return {  # None leaves one of the usual settings out
        f"{name}{behind}": ({key: value for key, value in own_settings.items() if value is not None}, rows_of)
        for behind, (own_settings, rows_of) in chosen.items()
    }


CASES = {case: found for name in metric_names() for case, found in cases_of(name).items()}
