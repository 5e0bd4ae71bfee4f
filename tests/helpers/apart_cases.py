"""Rows and settings of every metric, to be scored apart and at once."""

import io
import random
import zlib
from functools import cache

import numpy as np

from vlgauge import scenes

EMBEDDED = {"profile": "embedded", "device": "cpu"}
WORDS = ("a", "the", "dog", "cat", "runs", "sits", "on", "grass", "red", "two", "big", "and", "with", "under", "tree")


def fake_encoder(texts):
    return np.stack([np.random.default_rng(zlib.crc32(text.encode())).normal(size=6) for text in texts])


def png(picture):
    stream = io.BytesIO()
    picture.save(stream, "PNG")
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
    references[1], references[2] = None, references[0]  # what rows share may be remembered
    return {
        "predictions": [scenes.captions(scene, seed=0)[0] for scene in found],
        "images": [png(scenes.draw_scene(scene, size=48).image) for scene in found],
        "references": references,
    }


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
# Name of a case, which begins with that of its metric -> settings, and the function that makes the rows.
CASES = {
    "bleu": ({}, captioned),
    "cider": ({}, captioned),
    "clip_s": (EMBEDDED, drawn),
    "clip_s-video": ({**EMBEDDED, "config_name": "video", "idf": "auto"}, clips),
    "d_hm": ({}, components),
    "frechet_bert": ({"encoder": fake_encoder, **SAMPLED}, sets),
    "groovist": ({**EMBEDDED, "analysis": "np_proportion"}, drawn_stories),
    "meteor": ({}, captioned),
    "mmd_bert": ({"encoder": fake_encoder, "pvalue": "exact"}, sets),
    "onlystyle": ({"config_name": "demo", "top_k": 2, "return_style_matrix": True}, styled),
    "pac_s": (EMBEDDED, lambda: without(drawn(), "references")),
    "rouge_l": ({}, captioned),
    "rovist": (EMBEDDED, drawn_stories),
    "rovist_c": (EMBEDDED, lambda: without(drawn_stories(), "images")),
    "rovist_nr": ({}, stories),
    "rovist_vg": (EMBEDDED, drawn_stories),
    "stylecider": ({"config_name": "demo"}, styled),
    "trm": ({"pvalue": "exact", "mean_aggregate": True}, sets),
    "trm-bert": ({"distance": "bert", "encoder": fake_encoder, "pvalue": "auto"}, sets),
    "trm-cider": ({"distance": "cider_d", "pvalue": "exact", "permutations": 199}, sets),
    "trm-pooled": ({"distance": "cider_d", "df": "pooled"}, sets),
}
