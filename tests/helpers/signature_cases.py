"""For every metric, pairs of settings that differ in one, and the rows that read it."""

import json
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
import spice_stand_in
from meteor15 import write_lists, write_table
from metric_checks import IMAGES, SETS, class_of, family_of
from own_cases import own
from safetensors.numpy import save_file
from tiny_clip import TINY, rand_clip, tiny_state, write_tiny
from tiny_rovist_c import TINY as TINY_ORDER
from tiny_vit import TEXT_WIDTH, write_ours

import vlgauge
from vlgauge.core.catalog import metric_folder
from vlgauge.core.validation import setting_names
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.families.style import StyleTable
from vlgauge.models.clip.heads import heads_digest

STORIES = ["The dog saw a cat.", "A bird sang."]
CAPTIONS = {"predictions": ["a dog"], "images": IMAGES[:1]}
CLIPS = {"predictions": ["a dog"], "videos": [IMAGES], "references": [["a cat"]]}
TOLD = {"predictions": [STORIES], "images": [IMAGES[:1]]}
PARTS = {"groovist": 1.0, "rovist_c": 0.5, "rovist_nr": 0.5}
STYLED = {"predictions": ["the sea sings"], "styles": ["angry"], "references": [["the sea sang"]]}
FEW = {name: rows[:2] for name, rows in SETS.items()}


def by_line(text):
    return text.split(". ")


def lengths(texts):
    return np.array([[float(len(text)), 1.0, text.count("a")] for text in texts])


def letters(texts):
    return np.array([[float(text.count(letter)) for letter in "adeo"] for text in texts]) + 1.0


def even(pairs):
    return [0.5] * len(pairs)


# Keyed by metric family.
ROWS_OF_FAMILY = {
    "StoryMetric": {"predictions": [STORIES]},
    **dict.fromkeys(("GroundingMetric", "Rovist"), TOLD),
    "ComponentMetric": {"predictions": [PARTS], "references": [PARTS]},
    "CaptionSetMetric": FEW,
    "Diversity": {"predictions": FEW["predictions"]},
    "StyleMetric": STYLED,
    "BackboneMetric": CAPTIONS,
    "Polos": CAPTIONS | {"references": [["a cat", "two dogs"]]},
    "ClipScoreMetric": CAPTIONS,
    "JudgeMetric": CAPTIONS,
    "Vqascore": CAPTIONS,
    "Dsg": CAPTIONS,
    "CaptionMetric": {"predictions": ["a dog"], "references": ["a cat"]},
    "TokenMetric": {"predictions": ["a dog"], "references": ["a cat"]},
    "Clair": {"predictions": ["a dog"], "references": ["a cat"]},
    "SceneGraphMetric": {"predictions": ["a dog"], "references": ["a cat"]},
    "ObjectMetric": {"predictions": ["a dog"], "references": ["a cat"]},
}


def rows_of(metric, settings):
    """Return columns that are fast to score."""
    rows = ROWS_OF_FAMILY[family_of(class_of(metric_folder(metric))).__name__]
    return CLIPS if settings.get("config_name") == "video" else rows


class Files:
    """Files for settings, each written at its first use, with equal content in every folder.

    Args:
        folder: Folder to write to. Its name and location do not matter.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.clip = cache(partial(write_tiny, self.folder))

    def text(self, name, content):
        (self.folder / name).write_text(content, "utf-8")
        return str(self.folder / name)

    def judge(self, seed):
        """Return a tiny LLaVA."""
        import tiny_judges

        folder = self.folder / f"judge_{seed}"
        if not folder.is_dir():
            tiny_judges.llava(folder, seed=seed)
        return str(folder)

    def judge_adapter(self):
        """Return an adapter for the tiny LLaVA."""
        import tiny_judges

        return str(tiny_judges.adapter(self.folder / "judge_adapter"))

    def text_judge(self, seed):
        """Return a tiny language model."""
        import tiny_judges

        folder = self.folder / f"text_judge_{seed}"
        if not folder.is_dir():
            tiny_judges.text_model(folder, seed=seed)
        return str(folder)

    def clip_t5(self):
        """Return a tiny CLIP-FlanT5, its image tower, and another image tower."""
        import tiny_judges

        folders = [self.folder / f"clip_t5_{seed}" for seed in (0, 1)]
        for seed, folder in enumerate(folders):
            if not folder.is_dir():
                tiny_judges.clip_t5(folder, seed=5 * seed)
        return str(folders[0] / "t5"), str(folders[0] / "tower"), str(folders[1] / "tower")

    def adapter(self, seed, of):
        """Write projections for `clip(of)`."""
        about = {"format": "vlgauge-clip-adapter-1", "kind": "pac_s", "architecture": TINY.architecture}
        about["base_projections_sha256"] = heads_digest(tiny_state(of))
        path = self.folder / f"adapter_{seed}_{of}.safetensors"
        save_file(rand_clip().make_adapter("tiny", of, 0.8, adapter_seed=seed), path, metadata=about)
        return path

    def grounding(self, seed):
        """Write a checkpoint of rovist_vg."""
        import torch

        head = torch.from_numpy(np.random.default_rng(seed).normal(size=7).astype(np.float32))
        return write_ours(self.folder / f"grounding_{seed}", **{"text_head.bias": head})

    def vectors(self, seed, width=TEXT_WIDTH):
        rng = np.random.default_rng(seed)
        words = ("dog", "cat", "bird", "unk")
        lines = [" ".join([word, *(f"{x:.5f}" for x in rng.normal(size=width))]) for word in words]
        return self.text(f"vectors_{seed}_{width}.txt", "\n".join(lines) + "\n")

    def ratings(self, value):
        return self.text(f"ratings_{value}.csv", f"Word,Conc.M\ndog,{value}\n")

    def base(self, name):
        """Write the configuration and tokenizer of the tiny sentence order model, with a name as additional content."""
        folder = self.folder / f"base_{name}"
        folder.mkdir(exist_ok=True)
        for file in (*TINY_ORDER.glob("*.json"), *TINY_ORDER.glob("*.model"), *TINY_ORDER.glob("*.txt")):
            (folder / file.name).write_bytes(file.read_bytes())
        (folder / "note.json").write_text(json.dumps(name))
        return str(folder)

    def frequencies(self, *captions):
        path = self.folder / f"df_{len(captions)}.json"
        DocumentFrequency.from_references([[caption] for caption in captions]).save(path)
        return str(path)

    def java(self):
        """Write a program that replaces Java with spice-1.0.jar."""
        return str(spice_stand_in.write_java(self.folder))

    def spice_jars(self, content):
        """Write a folder with the jars of SPICE."""
        return str(spice_stand_in.write_jars(self.folder / f"spice_{content}", content))

    def lists(self, word):
        """Write word lists of METEOR 1.5 with one function word."""
        return str(write_lists(self.folder / f"{word}.lists", function_words=[word]))

    def paraphrases(self, phrase):
        """Write a paraphrase table of METEOR 1.5 with one pair."""
        return str(write_table(self.folder / f"{phrase}.gz", [("dog", phrase)]))

    def table(self, *captions):
        """Return a style table with all captions angry except the first."""
        return StyleTable.fit(captions, ["plain", *["angry"] * (len(captions) - 1)])


def changes(metric, files):
    """Return two versions of the settings for each setting, which differ in this setting only.

    `changes` in the `cases.py` of a metric overrides the result.
    """
    made = own(metric, "changes", None)
    if made is not None:
        return made(files)
    found = {"tokenizer": ({}, {"tokenizer": str.split})}
    return {name: pair for name, pair in found.items() if name in setting_names(type(vlgauge.load(metric)))}


def each_of(common, **pairs):
    """Return the settings with each of two values, keyed by setting. None is the default."""
    return {
        name: tuple(common | ({} if value is None else {name: value}) for value in pair) for name, pair in pairs.items()
    }


def backbone_changes(files):
    """Return the changes of the settings that every metric with a backbone has."""
    names = ("backbone", "weights", "checkpoint", "long_text", "on_error", "dtype")
    return {name: pair for name, pair in clip_changes(files).items() if name in names}


def clip_changes(files):
    demo, tiny = {"profile": "embedded"}, {"backbone": TINY}
    clips = {"config_name": "video", **demo}
    other = TINY.__class__(**{**vars(TINY), "name": "other", "architecture": "other-gelu"})
    return {
        **each_of({"weights": files.clip(0)}, backbone=(TINY, other)),
        **each_of(tiny, weights=(files.clip(0), files.clip(1))),
        **each_of(tiny | {"weights": files.clip(0)}, checkpoint=(files.adapter(1, 0), files.adapter(2, 0))),
        **each_of(demo, variant=(None, "paper"), w=(None, 1.5), long_text=(None, "split"), on_error=(None, "nan")),
        **each_of(demo, dtype=(None, "bfloat16")),
        **each_of(clips, idf=(["a dog"], ["a cat"]), n_frames=(1, 2)),
        **each_of(clips | {"variant": "emscore"}, emscore_batch_size=(None, 2)),
    }


def vector_changes(files):
    test = {"encoder": lengths, "pvalue": "monte_carlo"}
    return {
        **each_of({}, encoder=(lengths, letters)),
        **each_of({"profile": "embedded"}, pooling=(None, "cls")),
        **each_of({"encoder": lengths}, pvalue=(None, "exact")),
        **each_of(test, max_partitions=(None, 5), permutations=(None, 9), seed=(None, 1)),
    }


def style_changes(files):
    demo = {"config_name": "demo"}
    return {
        **each_of({}, table=(files.table("a dog", "a cat"), files.table("a dog", "the sea"))),
        **each_of({"table": "owner/name"}, table_revision=("1" * 40, "2" * 40)),
        **each_of(demo, variant=(None, "released"), exclude_self=(None, True)),
    }


# Other values of the settings that no signature names.
UNSIGNED = {
    **{
        "progress": False,
        "sandbox": True,
        "batch_size": 1,
        "workers": 2,
        "chunk_bytes": 1,
        "device": "cpu",
        "details": True,
        "java": "other",
        "training_captions": ["a dog"],
    },
    **{"device_map": {"": "cpu"}, "reasons": True, "mean_aggregate": True, "top_k": 1, "return_style_matrix": True},
}


def here(names):
    """Return the signatures of metrics with settings that name files and folders relative to the working folder."""
    files = Files(".")
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name in names:
            settings = own(name, "named", lambda files: {})(files)
            metric = vlgauge.load(name, keep_in_memory=True, **settings)
            rows = rows_of(name, settings)
            found[name] = metric.compute(**rows)[f"{name}_signature"]
    return found
