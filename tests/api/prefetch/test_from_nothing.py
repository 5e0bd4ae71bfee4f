"""From an empty machine to a score, for each metric with files: fetched, downloaded manually, and then offline."""

import dataclasses
import json
import math
import pickle
import shutil
import sys

import numpy as np
import pytest

pytest.importorskip("torch")

import tiny_judges
import tiny_polos
import tiny_roberta
import torch
import torchvision
from asset_tables import list_assets
from local_hub import FolderHub, be_online, serve
from micro_clip import MICRO, MICRO_CONFIG, untrained
from safetensors.torch import load_file
from tiny_rovist_c import CHECKPOINT, TINY
from tiny_vit import WIDTH, write_authors

import vlgauge
from vlgauge.checkpoints.detectors import PublishedFile
from vlgauge.checkpoints.files import sha256_of
from vlgauge.cli import main
from vlgauge.core.catalog import metric_names
from vlgauge.core.pool import pool
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.inputs.text.english import find_folder
from vlgauge.inputs.text.noun_phrases import PAPER_PIPELINE, PAPER_VERSION
from vlgauge.models.clip.architectures import HUB_FILE, TABLE
from vlgauge.models.judges.sources import LLAVA
from vlgauge.models.pairs.models import BASE, PINNED_BASE
from vlgauge.models.rated.models import TEXT_ENCODER
from vlgauge.models.sentences.model import MINILM
from vlgauge.models.token_encoders import ROBERTA

pytestmark = pytest.mark.fetching

GREY = np.full((40, 40, 3), 128, dtype=np.uint8)
GREY[:20, :20] = 255
STORIES = {"predictions": [["A dog ran to the house.", "It stopped there."]]}
MEDIA_COLUMNS = {**STORIES, "images": [[GREY, GREY.T.copy().reshape(40, 40, 3)]]}
CAPTIONS = {"predictions": ["A black dog on green grass."], "references": [["A dog runs over the grass."]]}
SETS = {"predictions": [["A dog.", "Two cats."]], "references": [["A dog runs.", "A puppy.", "Cats sleep."]]}
SEEN = {"predictions": ["a dog"], "images": [GREY]}
ASKED = {"proposition_id": 1, "dependency": 0, "question_natural_language": "Is there a dog?"}
# Data of each metric, and settings without a default.
CASES = {
    "aloha": (CAPTIONS, {}),
    "bertscore": (CAPTIONS, {}),
    "capture": (CAPTIONS, {}),
    "clair": (CAPTIONS, {"max_new_tokens": 8}),
    "clip_s": (SEEN, {}),
    "dsg": (SEEN | {"questions": [[ASKED]]}, {}),
    "fleur": (SEEN, {"max_new_tokens": 8}),
    "frechet_bert": (SETS, {}),
    "groovist": (MEDIA_COLUMNS, {"theta": 0.5}),
    "mmd_bert": (SETS, {}),
    "pac_s": (SEEN, {}),
    "polos": (SEEN | {"references": [["a cat"]]}, {}),
    "rovist": (MEDIA_COLUMNS, {}),
    "rovist_c": (STORIES, {}),
    "rovist_vg": (MEDIA_COLUMNS, {}),
    "soft_spice": (CAPTIONS, {}),
    "specs": (SEEN, {}),
    "spice": (CAPTIONS, {}),
    "spider": (CAPTIONS, {"df": DocumentFrequency({("a",): 9}, 10)}),
    "vqascore": (SEEN, {}),
}
LONG_CONFIG = {**MICRO_CONFIG, "text_cfg": {**MICRO_CONFIG["text_cfg"], "context_length": 248}}
N_VALUES = 30  # per word vector
BROUGHT = ("rovist", "rovist_c", "rovist_vg")
DETECTING = ("groovist", "rovist", "rovist_vg")
TORCHVISION = "torchvision/models"
LOADER = """from spacy.util import load_model_from_init_py

loaded = {}


def load(**given):
    return loaded.get(str(given)) or loaded.setdefault(str(given), load_model_from_init_py(__file__, **given))
"""
DETECTOR = "fasterrcnn_resnet50_fpn_v2"
SMALL_DETECTOR = "ssdlite320_mobilenet_v3_large"


@pytest.fixture(scope="module")
def repositories(tmp_path_factory):
    """Return the repositories of the Hub: small models, and the other files of a small ALBERT."""
    folder = tmp_path_factory.mktemp("hub")
    (folder / "clip").mkdir()
    untrained(MICRO_CONFIG, folder / "clip" / HUB_FILE)
    (folder / "specs").mkdir()
    long = load_file(untrained(LONG_CONFIG, folder / "specs" / "untrained.safetensors"))
    torch.save({**long, "positional_embedding_res": long["positional_embedding"]}, folder / "specs" / "spec.pt")
    albert = shutil.copytree(TINY, folder / "albert", ignore=shutil.ignore_patterns("*.pth.tar"))
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling

    tokens = Transformer(str(tiny_polos.text_encoder(folder / "tokens")))
    SentenceTransformer(modules=[tokens, Pooling(tiny_polos.WIDTH, "mean"), Normalize()]).save(str(folder / "minilm"))
    judge = {LLAVA.partition("@")[0]: tiny_judges.llava(folder / "judge", answer="0.6", strength=6.0)}
    return {
        TABLE["ViT-B/32"].repository: folder / "clip",
        "Xiaohud/SPECS": folder / "specs",
        TEXT_ENCODER: tiny_polos.text_encoder(folder / "simcse"),
        BASE: albert,
        MINILM: folder / "minilm",
        # Layer 17 of 24 is used, and the tiny model has no others above.
        ROBERTA.partition("@")[0]: tiny_roberta.roberta(folder / "roberta", num_hidden_layers=17),
        **judge,
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Yield a folder like `spacy download` creates: the small pipeline with the name and version of the paper.

    It is loaded once for all tests, and nothing is fetched.
    """
    folder = tmp_path_factory.mktemp("site")
    package = folder / PAPER_PIPELINE
    data = package / f"{PAPER_PIPELINE}-{PAPER_VERSION}"
    shutil.copytree(find_folder(), data)
    meta = json.loads((data / "meta.json").read_text()) | {"name": "core_web_trf", "version": PAPER_VERSION}
    for place in (package, data):
        (place / "meta.json").write_text(json.dumps(meta))
    (package / "__init__.py").write_text(LOADER)
    (folder / f"{data.name}.dist-info").mkdir()
    told = f"Metadata-Version: 2.1\nName: {PAPER_PIPELINE}\nVersion: {PAPER_VERSION}\n"
    (folder / f"{data.name}.dist-info" / "METADATA").write_text(told)
    sys.modules.pop(PAPER_PIPELINE, None)
    yield folder
    sys.modules.pop(PAPER_PIPELINE, None)


@pytest.fixture(scope="module")
def detector_file(tmp_path_factory):
    """Return a small detector that finds something in any image, in a file with its digest in the name."""
    torch.manual_seed(0)
    model = torchvision.models.get_model(SMALL_DETECTOR, weights=None, weights_backbone=None)
    for layer in model.head.classification_head.module_list:
        layer[-1].bias.data.view(-1, model.head.classification_head.num_columns)[:, 1] = 8.0
    file = tmp_path_factory.mktemp("torchvision") / "detector.pth"
    torch.save(model.state_dict(), file)
    return file.rename(file.with_name(f"{DETECTOR}_coco-{sha256_of(file)[:8]}.pth"))


@pytest.fixture
def machine(repositories, site, detector_file, tmp_path, monkeypatch):
    """A machine with empty caches, whose Hub is on loopback. `machine()` removes the Hub.

    Its pipeline and its detector are small, and have the names of the published ones.
    """
    repositories = {**repositories, TORCHVISION: detector_file.parent}
    handler = type("Handler", (FolderHub,), {"repositories": repositories, "asked": []})
    server, address = serve(handler)
    be_online(monkeypatch, address, tmp_path / "cache")
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.syspath_prepend(site)
    place = tmp_path / "torch" / "hub" / "checkpoints" / detector_file.name
    url = f"{address}/{TORCHVISION}/resolve/main/{detector_file.name}"
    for module in ("checkpoints.detectors", "api.prefetch.assets"):
        monkeypatch.setattr(
            f"vlgauge.{module}.find_published_file",
            lambda name: PublishedFile(name, url, place, detector_file.stem.rpartition("-")[2]),
        )
    build = torchvision.models.get_model
    monkeypatch.setattr("torchvision.models.get_model", lambda name, **how: build(SMALL_DETECTOR, **how))
    for module in ("vlgauge.api.prefetch.assets", "vlgauge.models.model_folders"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None, raising=False)
    file = repositories[TABLE["ViT-B/32"].repository] / HUB_FILE
    published = TABLE["ViT-B/32"]
    micro = dataclasses.replace(
        MICRO,
        name="ViT-B/32",
        repository=published.repository,
        revision=published.revision,
        sha256=sha256_of(file),
        files=(HUB_FILE,),
    )
    monkeypatch.setitem(TABLE, "ViT-B/32", micro)
    for module in ("models.sentences.model", "api.prefetch.assets"):
        digest = sha256_of(repositories[MINILM] / "model.safetensors")
        monkeypatch.setattr(f"vlgauge.{module}.MINILM_SHA256", digest)
    widths = {key: getattr(MICRO, key) for key in ("embed_width", "size")}
    monkeypatch.setitem(TABLE, "specs", dataclasses.replace(TABLE["specs"], config=LONG_CONFIG, **widths))
    pool.unload()

    def unplug():
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        handler.asked.clear()

    yield handler, unplug
    server.shutdown()
    server.server_close()
    pool.unload()


@pytest.fixture(scope="module")
def downloads(tmp_path_factory, repositories):
    """Return the files that a user downloads with a browser."""
    folder = tmp_path_factory.mktemp("downloads")
    words = {"text_encoder.linear.weight": torch.randn(WIDTH, N_VALUES, generator=torch.Generator().manual_seed(0))}
    write_authors(folder / "r2p_model_epoch2.pth.tar", **words)
    shutil.copy(CHECKPOINT, folder / "sop_model_epoch4.pth.tar")
    (folder / "idf.pkl").write_bytes(pickle.dumps({"dog": 1.5, "house": 2.0}))
    rows = np.random.default_rng(0).normal(size=(5, N_VALUES))
    words = ("unk", "dog", "house", "it", "there")
    text = "".join(f"{word} {' '.join(f'{x:.4f}' for x in row)}\n" for word, row in zip(words, rows, strict=True))
    (folder / "glove.6B.300d.txt").write_text(text)
    clip = load_file(repositories[TABLE["ViT-B/32"].repository] / HUB_FILE)
    clip |= {name: clip[name] + 0.05 for name in ("visual.proj", "text_projection")}
    torch.save({"state_dict": clip}, folder / "clip_ViT-B-32.pth")
    head = tiny_polos.tensors(4 * tiny_polos.WIDTH + 6 * MICRO.embed_width)
    state = {name: torch.from_numpy(array) for name, array in head.items()}
    public = load_file(repositories[TABLE["ViT-B/32"].repository] / HUB_FILE)
    texts = load_file(repositories[TEXT_ENCODER] / "model.safetensors")
    state |= {f"clip.{name}": tensor.half() for name, tensor in public.items()}
    state |= {f"encoder.model.{name}": tensor for name, tensor in texts.items()}
    torch.save({"state_dict": state, "hyper_parameters": {"final_activation": False}}, folder / "reprod.ckpt")
    return folder


def test_no_metric_that_needs_files_is_left_out():
    assert set(CASES) == {name for name in metric_names() if list_assets(name)}


def converted(name, downloads):
    """Run the commands that the documentation lists between fetching and scoring."""
    if name == "pac_s":
        assert main(["convert", str(downloads / "clip_ViT-B-32.pth"), "--backbone", "ViT-B/32"]) == 0
    if name == "polos":
        assert main(["convert", str(downloads / "reprod.ckpt"), "--kind", "polos"]) == 0


@pytest.mark.parametrize("name", CASES)
def test_a_metric_comes_to_its_number(name, machine, downloads, capsys, tmp_path):
    hub, unplug = machine
    data, settings = CASES[name]
    assert main(["prefetch", name]) == 0
    fetched = [one for one in list_assets(name) if hasattr(one, "repository")]
    assert {one.repository for one in fetched} <= {"/".join(path.split("/")[:2]) for path in hub.asked} | {""}
    if name in ("dsg", "fleur", "vqascore"):  # its terms are binding, so that it is fetched only by its name
        assert f"vlgauge prefetch judge:{LLAVA}" in capsys.readouterr().out
        assert main(["prefetch", f"judge:{LLAVA}"]) == 0
    if name == "clair":  # its model is selected by the user
        folder = tiny_judges.text_model(tmp_path / "model", answer="85", strength=6.0)
        settings = {**settings, "model": str(folder)}
    unplug()
    converted(name, downloads)
    metric = by_hand(name, downloads) if name in BROUGHT else vlgauge.load(name, keep_in_memory=True, **settings)
    result = metric.compute(**data)
    assert math.isfinite(result[name])
    if name in DETECTING:
        assert f"{DETECTOR}@" in str(result)
    assert hub.asked == []
    assert f"{name}|v:" in result[f"{name}_signature"]


def by_hand(name, downloads):
    """Return the metric by the calls of the how-to, with the files that a user downloads."""
    table = downloads / "idf.json"
    assert main(["idf", str(table), "--pickle", str(downloads / "idf.pkl")]) == 0
    grounding = {"checkpoint": str(downloads / "r2p_model_epoch2.pth.tar"), "idf": str(table)}
    grounding["glove_path"] = str(downloads / "glove.6B.300d.txt")
    order = {"model": str(downloads / "sop_model_epoch4.pth.tar"), "base": PINNED_BASE}
    settings = {"rovist_vg": grounding, "rovist_c": order, "rovist": {"vg": grounding, "c": order}}
    return vlgauge.load(name, keep_in_memory=True, **settings[name])
