"""Every loader of every model raises an error with the name of any missing or extra tensor."""

import json
import re
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load, save_file
from sentence_pair_models import authors_model, bert, written
from tiny_clip import TINY, rand_clip, tiny_state
from tiny_rovist_c import CHECKPOINT
from tiny_rovist_c import TINY as TINY_PAIR
from tiny_vit import old_names, tiny_vit, write_authors, write_ours

from vlgauge.checkpoints import known_tensors
from vlgauge.core.pool import pool
from vlgauge.models.clip.checkpoints import check_adapter, clip_state, read_state
from vlgauge.models.clip.heads import adapter_of, heads_digest, heads_of, read_adapter, write_adapter
from vlgauge.models.grounding.model import grounding_model
from vlgauge.models.grounding.vit import build_vit
from vlgauge.models.pairs.loading import pair_scorer
from vlgauge.models.sentences.model import sentence_encoder
from vlgauge.research.training.rovist_c.classifier import base_model
from vlgauge.research.training.rovist_vg.heads import load_pretrained_vit

EXTRA = "stranger.weight"


def load_file(path):
    """Return copies of the tensors of a file, because mapped tensors would change when it is overwritten."""
    return load(path.read_bytes())


# Differences between names of tensors of one kind. Slow loaders are tested with the last tensor of each kind.
OF_ONE_KIND = r"\d+|query|key|value|weight|bias|beta|gamma"


def refusals(state, load, of_one_kind=r"\d+"):
    """Return messages by the name of the missing or extra tensor, None if the rest was loaded.

    If names differ only in the number of a layer, or in another pattern, the last tensor is removed.
    """
    names = {re.sub(of_one_kind, "", name): name for name in sorted(state)}.values()
    changed = {name: {other: value for other, value in state.items() if other != name} for name in names}
    changed[EXTRA] = {**state, EXTRA: torch.zeros(2)}
    found = {}
    for name, tensors in changed.items():
        try:
            load(tensors)
        except ValueError as error:
            found[name] = str(error)
        else:
            found[name] = None
    return found


def accepted(found):
    return sorted(name for name, message in found.items() if message is None)


def unnamed(found, told=lambda name: name):
    """Return tensors whose message does not name them."""
    return sorted(name for name, message in found.items() if message is not None and told(name) not in message)


# -- CLIP -------------------------------------------------------------------------------------------------------------
def test_clip():
    state = tiny_state()
    found = refusals(state, lambda tensors: clip_state(tensors, TINY, source="x"))
    assert (accepted(found), unnamed(found)) == ([], [])


def test_clip_from_a_file(tmp_path):
    def load(tensors):
        save_file(tensors, tmp_path / "clip.safetensors")
        read_state(tmp_path / "clip.safetensors", TINY)

    few = {"logit_scale", "visual.proj", "visual.transformer.resblocks.1.ln_2.bias"}
    state = tiny_state()
    load(state)
    for name in few:
        with pytest.raises(ValueError, match=re.escape(f"missing: {name}")):
            load({other: value for other, value in state.items() if other != name})


def test_clip_by_the_names_of_hugging_face():
    from transformers import CLIPConfig, CLIPModel

    sizes = {"hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 1}
    vision = {**sizes, "hidden_size": 128, "intermediate_size": 512, "num_attention_heads": 2, "patch_size": 32}
    config = CLIPConfig(text_config={**sizes, "vocab_size": 49408}, vision_config=vision, projection_dim=32)
    state = {name: tensor.detach() for name, tensor in CLIPModel(config).state_dict().items()}
    found = refusals(state, lambda tensors: clip_state(tensors, TINY, source="x"))
    assert accepted(found) == []
    assert EXTRA in found[EXTRA]


def test_low_rank_updates():
    lora = rand_clip().to_torch(rand_clip().make_lora("tiny"))
    base = tiny_state()
    found = refusals(lora, lambda tensors: clip_state({**base, **tensors}, TINY, source="x"))
    assert accepted(found) == []
    pairs = sorted({name[:-1] for name in lora})
    left = []
    for pair in pairs:
        rest = {name: value for name, value in lora.items() if name[:-1] != pair}
        try:
            clip_state({**base, **rest}, TINY, source="x")
            left.append(pair)
        except ValueError as error:
            assert "LoRA update" in str(error)  # noqa: PT017
    # Modules that the released forward does not use.
    assert left == [pair for pair in pairs if ".mlp." in pair]


@pytest.mark.parametrize("resnet", [False, True])
def test_adapters(tmp_path, resnet):
    base = {"text_projection": np.ones((5, 3), np.float32)}
    names = ("k_proj.weight", "c_proj.weight") if resnet else ()
    base |= {f"visual.attnpool.{name}": np.ones((3, 3), np.float32) for name in names}
    base |= {} if resnet else {"visual.proj": np.ones((4, 3), np.float32)}
    about = {"kind": "pac_s", "architecture": TINY.architecture, "base_projections_sha256": heads_digest(base)}
    trained = {name: value + 1 for name, value in base.items()}
    path = tmp_path / "adapter.safetensors"
    write_adapter(path, adapter_of(trained, about))
    check_adapter(read_adapter(path), TINY, base, source="x")
    metadata = {**about, "format": "vlgauge-clip-adapter-1"}
    state = {name: torch.from_numpy(np.asarray(value)) for name, value in heads_of(trained).items()}

    def load(tensors):
        save_file(tensors, path, metadata=metadata)
        check_adapter(read_adapter(path), TINY, base, source="x")

    assert accepted(refusals(state, load)) == []


# -- sentences --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def sentence_folder(tmp_path_factory):
    """Return a tiny BERT with mean pooling, a layer and a normalization."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = tmp_path_factory.mktemp("sentence")
    written(folder / "bert", bert().bert)
    modules = [Transformer(str(folder / "bert")), Pooling(32, "mean"), Dense(32, 8), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    logging.enable_progress_bar()
    return folder / "model"


@pytest.fixture
def with_tensors(sentence_folder, tmp_path):
    """`with_tensors(tensors, "2_Dense", pooling=...)` loads the model with other tensors in one of its files."""

    def load(tensors, part="", pooling="model"):
        folder = tmp_path / "model"
        shutil.copytree(sentence_folder, folder, dirs_exist_ok=True)
        save_file(tensors, folder / part / "model.safetensors", metadata={"format": "pt"})
        try:
            return sentence_encoder(str(folder), pooling=pooling, device="cpu").encode(["a dog", "the dog ran"])
        finally:
            pool.unload()

    return load


def test_sentence_encoder(sentence_folder, with_tensors):
    state = load_file(sentence_folder / "model.safetensors")
    found = refusals(state, with_tensors, OF_ONE_KIND)
    # transformers 5.0 writes the names of BERT's first files and reports the current names.
    renamed = unnamed(found, lambda name: name.replace("Norm.gamma", "Norm.weight").replace("Norm.beta", "Norm.bias"))
    # The mean is over token embeddings, before the pooling layer.
    assert (accepted(found), renamed) == (["pooler.dense.weight"], [])


def test_sentence_encoder_without_a_layer_names_it(sentence_folder, with_tensors):
    state = {k: v for k, v in load_file(sentence_folder / "model.safetensors").items() if ".layer.0." not in k}
    told = r"layer\.0.*8 more"
    with pytest.raises(ValueError, match=told):
        with_tensors(state)


def test_what_a_sentence_encoder_may_lack_or_add_changes_nothing(sentence_folder, with_tensors):
    state = load_file(sentence_folder / "model.safetensors")
    expected = with_tensors(state)
    without = {name: value for name, value in state.items() if not name.startswith("pooler.")}
    for tensors in (without, {**without, "embeddings.position_ids": torch.arange(64)}):
        np.testing.assert_allclose(with_tensors(tensors), expected, rtol=1e-6)
    # The names in a model of another task.
    np.testing.assert_allclose(with_tensors({f"bert.{k}": v for k, v in state.items()}), expected, rtol=1e-6)


def test_layers_behind_a_sentence_encoder(sentence_folder, with_tensors):
    state = load_file(sentence_folder / "2_Dense" / "model.safetensors")
    found = refusals(state, lambda tensors: with_tensors(tensors, "2_Dense"))
    assert (accepted(found), unnamed(found)) == ([], [])


def test_a_sentence_encoder_by_its_first_token_takes_no_random_layer(sentence_folder, with_tensors):
    state = load_file(sentence_folder / "model.safetensors")
    del state["encoder.layer.0.output.dense.weight"]
    with pytest.raises(ValueError, match=r"got encoder\.layer\.0\.output\.dense\.weight missing"):
        with_tensors(state, pooling="cls")


def word_list_model(folder):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    SentenceTransformer(modules=[BoW(["a", "dog"])], device="cpu").save(str(folder))
    save_file({"x": torch.zeros(1)}, folder / "other.safetensors")
    (folder / "vocab.txt").write_text("a")


def without_modules(count):
    """Return a change that keeps only the first modules of a folder."""

    def change(folder):
        entries = json.loads((folder / "modules.json").read_text())
        (folder / "modules.json").write_text(json.dumps(entries[:count]))

    return change


@pytest.mark.parametrize(
    ("pooling", "change", "told"),
    [
        ("model", without_modules(1), "modules Transformer"),
        ("model", without_modules(0), "`encoder` must"),
    ],
)
def test_folders_of_other_kinds_are_told(sentence_folder, tmp_path, pooling, change, told):
    folder = tmp_path / "model"
    shutil.copytree(sentence_folder, folder)
    change(folder)
    with pytest.raises(ValueError, match=told):
        sentence_encoder(str(folder), pooling=pooling, device="cpu")


def test_a_list_of_words_has_no_first_token(tmp_path):
    word_list_model(tmp_path / "model")
    told = "BoW, Pooling"
    with pytest.raises(ValueError, match=told):
        sentence_encoder(str(tmp_path / "model"), pooling="cls", device="cpu")


def test_an_adapter_of_a_sentence_encoder_is_refused(sentence_folder, tmp_path):
    shutil.copytree(sentence_folder, tmp_path / "model")
    (tmp_path / "model" / "adapter_config.json").write_text("{}")
    with pytest.raises(ValueError, match=" merge"):
        sentence_encoder(str(tmp_path / "model"), device="cpu")


# -- pairs of sentences -----------------------------------------------------------------------------------------------
def test_pair_classifier_of_a_folder(tmp_path):
    folder = written(tmp_path / "model", authors_model())
    state = load_file(folder / "model.safetensors")

    def load(tensors):
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        pair_scorer(str(folder), device="cpu")
        pool.unload()

    found = refusals(state, load, OF_ONE_KIND)
    assert (accepted(found), unnamed(found)) == ([], [])
    load({**state, "albert.embeddings.position_ids": torch.arange(512)})


def test_pair_classifier_of_the_authors(tmp_path):
    content = torch.load(CHECKPOINT, weights_only=False)
    path = tmp_path / "model.pth.tar"

    def load(tensors):
        torch.save({**content, "model": tensors}, path)
        pair_scorer(str(path), str(TINY_PAIR), device="cpu")
        pool.unload()

    found = refusals(dict(content["model"]), load, OF_ONE_KIND)
    assert accepted(found) == ["albert_model.embeddings.position_ids"]
    assert EXTRA in found[EXTRA]


# -- images -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("names", [dict, old_names])
def test_vision_transformer(names):
    found = refusals(names(tiny_vit().state_dict()), lambda tensors: build_vit(tensors, "vit"))
    assert accepted(found) == []
    assert EXTRA in found[EXTRA]


def test_grounding_heads(tmp_path):
    folder = write_ours(tmp_path / "model")
    state = load_file(folder / "model.safetensors")

    def load(tensors):
        save_file(tensors, folder / "model.safetensors")
        grounding_model(folder, device="cpu")
        pool.unload()

    found = refusals(state, load, OF_ONE_KIND)
    assert accepted(found) == []
    assert EXTRA in found[EXTRA]


def test_grounding_heads_of_the_authors(tmp_path):
    path = write_authors(tmp_path / "model.pth.tar")
    content = torch.load(path, weights_only=True)

    def load(tensors):
        torch.save({**content, "model": tensors}, path)
        grounding_model(path, device="cpu")
        pool.unload()

    found = refusals(content["model"], load, OF_ONE_KIND)
    assert accepted(found) == []
    assert EXTRA in found[EXTRA]


@pytest.mark.parametrize("name", ["ssdlite320_mobilenet_v3_large", "fasterrcnn_resnet50_fpn"])
def test_detectors(monkeypatch, name):
    import torchvision.models

    from vlgauge.models.detectors import torchvision_models

    model = torchvision.models.get_model(name, weights=None, weights_backbone=None)
    state = dict(model.state_dict())
    monkeypatch.setattr(torchvision.models, "get_model", lambda *_, **__: model)  # building takes a second
    monkeypatch.setattr(model, "load_state_dict", lambda *_, **__: None)
    given = {}
    monkeypatch.setattr(torchvision_models, "read_tensors", lambda _: given)

    def load(tensors):
        given.clear()
        given.update(tensors)
        torchvision_models._build_module(name, "file")

    few = dict(list(state.items())[:: max(1, len(state) // 60)])
    rest = {key: value for key, value in state.items() if key not in few}
    found = refusals(few, lambda tensors: load({**rest, **tensors}))
    assert (accepted(found), unnamed(found)) == ([], [])
    load({key: value for key, value in state.items() if not key.endswith("num_batches_tracked")})


# -- NaN and infinity -------------------------------------------------------------------------------------------------
def stained(state, name, value=torch.nan):
    """Return the tensors with another number at the end of one of them."""
    changed = state[name].clone()
    changed.view(-1)[-1] = value
    return {**state, name: changed}


def not_finite(setting, name):
    return pytest.raises(ValueError, match=rf"^`{setting}`.*got NaN.*{re.escape(name)}")


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16, torch.float8_e5m2])
def test_any_floats_are_looked_at_and_nothing_else(kind, value):
    known_tensors.check_finite_tensors({"empty": torch.ones(0), "counts": torch.ones(2, dtype=torch.int64)}, "x")
    state = {"a": torch.ones(3, 2).to(kind), "b": torch.tensor(1.0).to(kind)}
    known_tensors.check_finite_tensors(state, "x")
    for name in state:
        with not_finite("checkpoint", name):
            known_tensors.check_finite_tensors(stained(state, name, value), "x")


def test_nan_in_a_clip(tmp_path):
    name = "visual.transformer.resblocks.0.attn.in_proj_bias"
    save_file(stained(tiny_state(), name), tmp_path / "x.safetensors")
    with not_finite("weights", name):
        read_state(tmp_path / "x.safetensors", TINY)


def test_nan_in_a_sentence_encoder(sentence_folder, with_tensors):
    # Attention with weights that are all NaN returns numbers nevertheless.
    name = "encoder.layer.0.attention.self.query.weight"
    with not_finite("encoder", f"0.model.{name}"):
        with_tensors(stained(load_file(sentence_folder / "model.safetensors"), name))
    with not_finite("encoder", "2.linear.bias"):
        with_tensors(stained(load_file(sentence_folder / "2_Dense" / "model.safetensors"), "linear.bias"), "2_Dense")


def test_nan_in_a_pair_classifier(tmp_path):
    folder, name = written(tmp_path / "model", authors_model()), "albert.embeddings.word_embeddings.weight"
    save_file(stained(load_file(folder / "model.safetensors"), name), folder / "model.safetensors", {"format": "pt"})
    with not_finite("model", name):
        pair_scorer(str(folder), device="cpu")
    with not_finite("--base", name):
        base_model(str(folder))
    content = torch.load(CHECKPOINT, weights_only=False)
    name = name.replace("albert.", "albert_model.")
    state = stained(dict(content["model"]), name)
    torch.save({**content, "model": state}, tmp_path / "model.pth.tar")
    with not_finite("model", name):
        pair_scorer(str(tmp_path / "model.pth.tar"), str(TINY_PAIR), device="cpu")


def test_nan_in_a_vision_transformer(tmp_path):
    path = write_authors(tmp_path / "model.pth.tar")
    content = torch.load(path, weights_only=True)
    name = next(name for name in content["model"] if "layer.0" in name and "query" in name)
    torch.save({**content, "model": stained(content["model"], name)}, path)
    with not_finite("checkpoint", name):
        grounding_model(path, device="cpu")
    state = tiny_vit().state_dict()
    name = next(name for name in state if "bias" in name)
    save_file(stained(state, name), tmp_path / "vit.safetensors")
    with not_finite("checkpoint", name):
        load_pretrained_vit(str(tmp_path / "vit.safetensors"))


# -- the list of exceptions -------------------------------------------------------------------------------------------
def test_exceptions_are_patterns_with_reasons():
    for entry in (*known_tensors.SURPLUS, *known_tensors.MISSING):
        assert re.compile(entry.names)
        assert entry.reason
        assert re.fullmatch(entry.names, EXTRA) is None
