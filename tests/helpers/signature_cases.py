"""For every metric, pairs of settings that differ in one, and the rows that read it."""

import json
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
from fake_clip import FakeClip
from metric_checks import PICTURES, SETS
from safetensors.numpy import save_file
from tiny_clip import TINY, rand_clip, tiny_state, write_tiny
from tiny_rovist_c import CHECKPOINT
from tiny_rovist_c import TINY as TINY_ORDER
from tiny_vit import TEXT_WIDTH, write_ours

import vlgauge
from vlgauge.distances.cider import DocumentFrequency
from vlgauge.encoders.clip.heads import heads_digest
from vlgauge.style import StyleTable

STORIES = ["The dog saw a cat.", "A bird sang."]
CAPTIONS = {"predictions": ["a dog"], "images": PICTURES[:1]}
CLIPS = {"predictions": ["a dog"], "videos": [PICTURES], "references": [["a cat"]]}
TOLD = {"predictions": [STORIES], "images": [PICTURES[:1]]}
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


def apart(a, b):
    return float(a != b)


def rows_of(metric, settings):
    """Columns that are scored in no time."""
    if metric in ("clip_s", "pac_s"):
        return CLIPS if settings.get("config_name") == "video" else CAPTIONS
    if metric in ("onlystyle", "stylecider"):
        return STYLED
    if metric in ("bleu", "cider", "meteor", "rouge_l"):
        return {"predictions": ["a dog"], "references": ["a cat"]}
    if metric in ("trm", "mmd_bert", "frechet_bert"):
        return FEW
    if metric == "d_hm":
        return {"predictions": [PARTS], "references": [PARTS]}
    return {"predictions": [STORIES]} if metric in ("rovist_c", "rovist_nr") else TOLD


class Files:
    """Files that settings name, each written at its first use; equal in every folder.

    Args:
        folder: Where they are written. Its own name and place play no part.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.clip = cache(partial(write_tiny, self.folder))

    def text(self, name, content):
        (self.folder / name).write_text(content, "utf-8")
        return str(self.folder / name)

    def adapter(self, seed, of):
        """Projections for `clip(of)`."""
        about = {"format": "vlgauge-clip-adapter-1", "kind": "pac_s", "architecture": TINY.architecture}
        about["base_projections_sha256"] = heads_digest(tiny_state(of))
        path = self.folder / f"adapter_{seed}_{of}.safetensors"
        save_file(rand_clip().make_adapter("tiny", of, 0.8, adapter_seed=seed), path, metadata=about)
        return path

    def grounding(self, seed):
        """A checkpoint of rovist_vg."""
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
        """Configuration and tokenizer of the tiny model of sentence order, in a folder of that content."""
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

    def jar(self, content):
        return self.text(f"{content}.jar", content)

    def table(self, *captions):
        """A style table; all captions but the first are angry."""
        return StyleTable.fit(captions, ["plain", *["angry"] * (len(captions) - 1)])


def changes(metric, files):
    """By setting: settings, and the same with another value of this one."""
    tokens = {"tokenizer": ({}, {"tokenizer": str.split})}
    return {
        "bleu": lambda files: tokens,
        "cider": lambda files: {**tokens, "df": ({}, {"df": files.frequencies("a dog")})},
        "clip_s": clip_changes,
        "pac_s": pac_s_changes,
        "d_hm": lambda files: {"apply_tanh": ({}, {"apply_tanh": False})},
        "frechet_bert": vector_changes,
        "groovist": groovist_changes,
        "mmd_bert": lambda files: {
            **vector_changes(files),
            "estimator": ({"encoder": lengths}, {"encoder": lengths, "estimator": "biased"}),
            "bandwidth": ({"encoder": lengths}, {"encoder": lengths, "bandwidth": np.float32(0.5)}),
        },
        "meteor": lambda files: tokens,
        "onlystyle": lambda files: {
            **style_changes(files),
            "orders": ({"config_name": "demo"}, {"config_name": "demo", "orders": "four"}),
        },
        "rouge_l": lambda files: tokens,
        "rovist": rovist_changes,
        "rovist_c": rovist_c_changes,
        "rovist_nr": lambda files: {
            "mode": ({}, {"mode": "jaccard"}),
            "n": ({}, {"n": 2}),
            "sentences": ({}, {"sentences": by_line}),
            "lowercase": ({}, {"lowercase": True}),
        },
        "rovist_vg": rovist_vg_changes,
        "stylecider": style_changes,
        "trm": trm_changes,
    }[metric](files)


def each_of(common, **pairs):
    """Settings with a value, and with another; None is the default."""
    return {
        name: tuple(common | ({} if value is None else {name: value}) for value in pair) for name, pair in pairs.items()
    }


def clip_changes(files):
    toy, tiny = {"profile": "embedded"}, {"backbone": TINY}
    clips = {"config_name": "video", **toy}
    other = TINY.__class__(**{**vars(TINY), "name": "other", "architecture": "other-gelu"})
    return {
        **each_of({"weights": files.clip(0)}, backbone=(TINY, other)),
        **each_of(tiny, weights=(files.clip(0), files.clip(1))),
        **each_of(tiny | {"weights": files.clip(0)}, checkpoint=(files.adapter(1, 0), files.adapter(2, 0))),
        **each_of(toy, variant=(None, "paper"), w=(None, 1.5), long_text=(None, "split"), on_error=(None, "nan")),
        **each_of(toy, dtype=(None, "bfloat16")),
        **each_of(clips, idf=(["a dog"], ["a cat"]), n_frames=(1, 2)),
        **each_of(clips | {"variant": "emscore"}, emscore_batch_size=(None, 2)),
    }


def pac_s_changes(files):
    both = [{"backbone": TINY, "weights": files.clip(of), "checkpoint": files.adapter(1, of)} for of in (0, 1)]
    other = TINY.__class__(**{**vars(TINY), "name": "other", "architecture": "other-gelu"})
    whole = {"weights": files.clip(0), "checkpoint": files.clip(1)}
    return {
        **clip_changes(files),
        **each_of(whole, backbone=(TINY, other)),
        "weights": tuple(both),
    }


def vector_changes(files):
    test = {"encoder": lengths, "pvalue": "monte_carlo"}
    return {
        **each_of({}, encoder=(lengths, letters)),
        **each_of({"profile": "embedded"}, pooling=(None, "cls")),
        **each_of({"encoder": lengths}, pvalue=(None, "exact")),
        **each_of(test, max_partitions=(None, 5), permutations=(None, 9), seed=(None, 1)),
    }


def trm_changes(files):
    bert = {name: tuple({"distance": "bert"} | one for one in pair) for name, pair in vector_changes(files).items()}
    cider = {"distance": "cider_d"}
    return {
        **bert,
        **each_of({}, distance=(None, "rouge_l"), ties=(None, "paper"), tie_tol=(None, 0.5)),
        **each_of({}, force_zero_self=(None, True), tokenizer=(None, str.split), backend=(None, "nltk")),
        **each_of(cider, df=(files.frequencies("a dog"), files.frequencies("a dog", "a cat"))),
        **each_of({"backend": "meteor-1.5"}, jar=(files.jar("one"), files.jar("two"))),
    }


def style_changes(files):
    demo = {"config_name": "demo"}
    return {
        **each_of({}, table=(files.table("a dog", "a cat"), files.table("a dog", "the sea"))),
        **each_of({"table": "owner/name"}, table_revision=("1" * 40, "2" * 40)),
        **each_of(demo, variant=(None, "authors"), exclude_self=(None, True)),
    }


def groovist_changes(files):
    fake = {"backbone": FakeClip(), "theta": 1.0, "concreteness": None, "regions": "whole"}
    rated = fake | {"concreteness": "brysbaert", "concreteness_path": files.ratings(4)}
    published = {name: value for name, value in fake.items() if name != "theta"}
    tiny = {name: value for name, value in fake.items() if name != "backbone"} | {"backbone": TINY}
    return {
        **each_of(fake, variant=(None, "paper"), theta=(1.0, 2.0), penalize=(None, False), units=(None, "nouns")),
        **each_of(published, dataset=("VIST", "AESOP")),
        **each_of(fake, backbone=(FakeClip(), FakeClip("other@00000000")), noun_phrases=("one", "two")),
        "concreteness": (fake, rated),
        **each_of(rated, concreteness_path=(files.ratings(4), files.ratings(5)), lemmatizer=(None, "wordnet")),
        **each_of(fake | {"concreteness": "idf"}, idf=([STORIES], [STORIES, ["A dog."]])),
        **each_of(fake, sentences=(None, by_line), placeholders=(None, "all"), deduplicate=(None, False)),
        **each_of(fake, drop_pronouns=(None, False), regions=("whole", "grid"), top_k=(None, 1), min_score=(None, 0.5)),
        **each_of({name: value for name, value in fake.items() if name != "regions"}, detector_weights=("one", "two")),
        **each_of(fake, normalize=(None, "tanh"), analysis=(None, "np_proportion"), reverse=(None, True)),
        **each_of(fake | {"analysis": "temporal_misalignment"}, matching=(None, "best")),
        **each_of(tiny, weights=(files.clip(0), files.clip(1))),
        **each_of(tiny | {"weights": files.clip(0)}, dtype=(None, "bfloat16")),
    }


def rovist_vg_changes(files):
    own = {"checkpoint": files.grounding(0), "glove_path": files.vectors(0), "idf": None, "regions": "whole"}
    named = {name: value for name, value in own.items() if name != "regions"}
    return {
        **each_of(own, checkpoint=(files.grounding(0), files.grounding(1))),
        **each_of(own, glove_path=(files.vectors(0), files.vectors(1)), idf=({"dog": 1.0}, {"dog": 2.0})),
        **each_of(own, oov=(None, "skip"), aggregate=(None, "mean"), scale=(None, True), nouns=("one", "two")),
        **each_of(own, sentences=(None, by_line), placeholders=(None, "all"), regions=("whole", "grid")),
        **each_of(own, top_k=(None, 1), min_score=(None, 0.5)),
        **each_of(named, detector_weights=("one", "two")),
    }


def rovist_changes(files):
    toy = {"profile": "embedded"}
    return each_of(
        toy, vg=(None, {"oov": "skip"}), c=(None, {"context": "prefix"}), nr=(None, {"n": 2}), scale_vg=(None, True)
    )


def rovist_c_changes(files):
    toy = {"profile": "embedded"}
    return {
        **each_of(toy, model=(None, even)),
        **each_of({"model": str(CHECKPOINT)}, base=(files.base("one"), files.base("two"))),
        **each_of(toy, context=(None, "prefix"), identical=(None, "score"), coherent_label=(None, 0)),
        **each_of(toy, sentences=(None, by_line), truncation=(None, "error")),
    }


# Other values of the settings that no signature names.
UNSIGNED = {
    **{"progress": False, "batch_size": 1, "workers": 2, "chunk_bytes": 1, "device": "cpu", "details": True},
    **{"mean_aggregate": True, "top_k": 1, "return_style_matrix": True},
}


def here():
    """Signatures of metrics whose settings name files and folders by paths from the working folder."""
    files = Files(".")
    toy = {"profile": "embedded"}
    files.table("a dog", "a cat").save("style.parquet")
    cases = {
        "clip_s": {"backbone": TINY, "weights": files.clip(0)},
        "pac_s": {"backbone": TINY, "weights": files.clip(0), "checkpoint": files.adapter(1, 0)},
        "groovist": toy | {"concreteness_path": files.ratings(4), "sentences": by_line},
        "rovist_vg": toy | {"checkpoint": files.grounding(0), "glove_path": files.vectors(0), "idf": {"dog": 1.0}},
        "rovist_c": {"model": str(CHECKPOINT), "base": files.base("one")},
        "rovist_nr": {"sentences": by_line},
        "trm": {"distance": "cider_d", "df": files.frequencies("a dog")},
        "mmd_bert": {"encoder": f"vectors:{files.vectors(0, width=3)}", "pvalue": "monte_carlo"},
        "frechet_bert": {"encoder": f"bow:{files.text('words.txt', 'dog')}"},
        "onlystyle": {"table": "style.parquet"},
        "stylecider": {"config_name": "demo"},
        "rovist": toy,
        "d_hm": {},
        "bleu": {"tokenizer": str.split},
        "rouge_l": {},
        "meteor": {},
        "cider": {"df": files.frequencies("a dog")},
    }
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, settings in cases.items():
            metric = vlgauge.load(name, keep_in_memory=True, **settings)
            rows = rows_of(name, settings)
            found[name] = metric.compute(**rows)[f"{name}_signature"]
    return found
