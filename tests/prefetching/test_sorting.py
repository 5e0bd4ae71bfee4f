"""Files that a user brought, sorted by what they are, and the whole call that takes them."""

import json
import pickle
import re
import shutil
import sys
import zipfile

import numpy as np
import pytest
from tiny_rovist_c import CHECKPOINT, TINY

import vlgauge
from vlgauge.cli import main
from vlgauge.encoders.clip.architectures import TABLE
from vlgauge.encoders.pairs.models import PINNED_BASE
from vlgauge.files import DATA
from vlgauge.prefetching.sorting import sorted_files

pytest.importorskip("torch")

from safetensors.numpy import save_file
from tiny_vit import TEXT_WIDTH, write_authors


class Bomb:
    def __reduce__(self):
        return (print, ("executed",))


def vectors(path, width=TEXT_WIDTH):
    rows = {word: np.arange(width) / 7 + i for i, word in enumerate(("unk", "dog", "house"))}
    path.write_text("".join(f"{word} {' '.join(f'{x:.4f}' for x in row)}\n" for word, row in rows.items()))


@pytest.fixture
def brought(tmp_path):
    """The files of RoViST under names that say nothing, with what else lies in a folder of downloads."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    write_authors(folder / "download (1)")
    shutil.copy(CHECKPOINT, folder / "download (2).tar")
    vectors(folder / "glove.txt", 300)
    (folder / "values").write_bytes(pickle.dumps({"dog": 1.5, "house": 2.0}))
    (folder / "r2p_model_epoch2.pth.tar").write_text("<!DOCTYPE html><title>Google Drive - Virus scan warning</title>")
    with zipfile.ZipFile(folder / "glove.6B.zip", "w") as archive:
        archive.writestr("glove.6B.300d.txt", "unk 0.1\n")
    (folder / "notes.txt").write_text("mind the gap\n")
    shutil.copytree(TINY, folder / "albert", ignore=lambda _, names: [one for one in names if ".pth" in one])
    return folder


def kinds(folder):
    return {one.path.name: one.kind for one in sorted_files(folder)}


def run(capsys, *arguments):
    return main(["prefetch", *map(str, arguments)]), capsys.readouterr()


def called(out):
    """The call in what was printed, evaluated."""
    return eval(re.search(r"^vlgauge\.load\(.*?^\)", out, re.MULTILINE | re.DOTALL)[0], {"vlgauge": vlgauge})


def test_files_are_known_by_what_is_in_them(brought):
    assert kinds(brought) == {
        "albert": "base",
        "download (1)": "grounding",
        "download (2).tar": "order",
        "glove.6B.zip": "",
        "glove.txt": "vectors",
        "notes.txt": "",
        "r2p_model_epoch2.pth.tar": "",
        "values": "pickle",
    }
    told = {one.path.name: one.what for one in sorted_files(brought)}
    assert told["download (1)"] == f"checkpoint of RoViST-VG, for word vectors of {TEXT_WIDTH} values"
    assert told["glove.txt"] == "word vectors of 300 values"
    assert told["r2p_model_epoch2.pth.tar"].startswith("a web page in place of a file")
    assert told["glove.6B.zip"] == f"packed; run: unzip {brought / 'glove.6B.zip'}"


def test_the_whole_call_is_printed_and_loads_the_metric(capsys, brought, no_sockets):
    code, printed = run(capsys, "rovist_vg", "--from", brought)
    assert (code, printed.err) == (0, "")
    table = brought / "values.json"
    command = f"vlgauge idf {table} --pickle {brought / 'values'}"
    assert f"run first: {command}\n" in printed.out
    metric = called(printed.out)
    assert metric.name == "rovist_vg"
    assert (metric.checkpoint, metric.glove_path) == (str(brought / "download (1)"), str(brought / "glove.txt"))
    assert (metric.idf, metric.nouns) == (str(table), "embedded")
    assert main(command.split(" ", 1)[1].split()) == 0
    assert '"idf": "' not in run(capsys, "rovist_vg", "--from", brought)[1].out


def test_the_call_scores(capsys, brought, no_sockets):
    code, printed = run(capsys, "rovist_c", "--from", brought)
    assert code == 0
    metric = called(printed.out)
    result = metric.compute(predictions=[["A dog ran.", "It stopped."]])
    assert 0 < result["rovist_c"] < 1
    assert re.search(r"enc:local@sha256-\w+", result["rovist_c_signature"])


def test_rovist_hands_the_files_to_its_parts(capsys, brought):
    code, printed = run(capsys, "rovist", "--from", brought)
    assert code == 0
    metric = called(printed.out)
    assert metric.parts["vg"].checkpoint == str(brought / "download (1)")
    assert metric.parts["c"].model == str(brought / "download (2).tar")


def test_what_is_missing_is_told(capsys, tmp_path, monkeypatch):
    code, printed = run(capsys, "rovist_vg", "--from", tmp_path)
    assert code == 1
    told = [line for line in printed.out.splitlines() if line.startswith("missing: ")]
    assert told == [
        "missing: checkpoint of RoViST-VG",
        "missing: word vectors of RoViST-VG",
        "missing: table of idf",
    ]
    assert f"{tmp_path}: empty" in printed.out
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    shutil.copy(CHECKPOINT, tmp_path / "x")
    code, printed = run(capsys, "rovist_c", "--from", tmp_path)
    assert code == 1
    assert "missing: configuration and tokenizer of albert/albert-large-v1: vlgauge prefetch rovist_c" in printed.out


def test_albert_is_pinned_in_the_call(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "huggingface_hub.try_to_load_from_cache", lambda repository, name, revision: f"/hub/{revision}/{name}"
    )
    shutil.copy(CHECKPOINT, tmp_path / "x")
    code, printed = run(capsys, "rovist_c", "--from", tmp_path)
    assert code == 0
    assert f'base="{PINNED_BASE}"' in printed.out


def test_nothing_in_a_file_is_executed(tmp_path, capsys):
    import torch

    torch.save({"model": Bomb()}, tmp_path / "saved.pth")
    (tmp_path / "plain.pkl").write_bytes(pickle.dumps(Bomb()))
    assert set(kinds(tmp_path).values()) == {""}
    assert "executed" not in capsys.readouterr().out
    assert all(one.what.startswith("not taken: ") for one in sorted_files(tmp_path))


def test_without_torch_it_is_asked_for(tmp_path, monkeypatch):
    shutil.copy(CHECKPOINT, tmp_path / "x")
    monkeypatch.setitem(sys.modules, "torch", None)
    (found,) = sorted_files(tmp_path)
    assert found.what.startswith("saved by torch, which is not installed here; run: pip install")


def test_weights_of_clip_and_of_pac_s(tmp_path, monkeypatch):
    import dataclasses

    import torch

    from vlgauge.weights.files import sha256_of

    patches = {"visual.conv1.weight": np.zeros((8, 3, 32, 32), np.float32)}
    save_file(patches, tmp_path / "a")
    torch.save({"state_dict": {name: torch.from_numpy(array) for name, array in patches.items()}}, tmp_path / "b")
    save_file(
        {"visual.proj": np.zeros((2, 2), np.float32)}, tmp_path / "c", metadata={"format": "vlgauge-clip-adapter-1"}
    )
    detector = {"backbone.body.conv1.weight": np.zeros(1), "roi_heads.box_head.0.weight": np.zeros(1)}
    save_file(detector, tmp_path / "d")
    found = kinds(tmp_path)
    assert found == {"a": "clip", "b": "pac_s", "c": "pac_s", "d": "detector"}
    known = dataclasses.replace(TABLE["ViT-B/32"], sha256=sha256_of(tmp_path / "b"))
    monkeypatch.setitem(TABLE, "ViT-B/32", known)
    by_name = {one.path.name: one for one in sorted_files(tmp_path)}
    assert by_name["b"].kind == "clip"
    assert by_name["b"].what == "weights of CLIP ViT-B/32, as published"


def test_files_of_polos(capsys, tmp_path):
    import tiny_polos
    import torch

    from vlgauge.encoders.rated.files import head_of, write_head

    head = tiny_polos.tensors(20)
    (tmp_path / "reprod").mkdir()
    (tmp_path / "reprod" / "hparams.yaml").write_text("layer: mix\n")
    state = {name: torch.from_numpy(array) for name, array in head.items()}
    torch.save({"state_dict": {**state, "clip.visual.conv1.weight": torch.zeros(1)}}, tmp_path / "reprod" / "a.ckpt")
    text = tiny_polos.text_encoder(tmp_path / "text")
    assert kinds(tmp_path) == {"a.ckpt": "rated", "text": "layers"}
    capsys.readouterr()  # the bar of the library that wrote the encoder
    code, printed = run(capsys, "polos", "--from", tmp_path)
    assert (code, printed.err) == (0, "")
    made = tmp_path / "reprod" / "a.safetensors"
    command = f"vlgauge convert {tmp_path / 'reprod' / 'a.ckpt'} --kind polos --text-encoder {text} --output {made}"
    assert f"run first: {command}\n" in printed.out
    assert (called(printed.out).checkpoint, called(printed.out).text_encoder) == (str(made), str(text))
    write_head(tmp_path / "head", head_of(head, {}, "the test"))
    code, printed = run(capsys, "polos", "--from", tmp_path)
    assert code == 0
    assert "run first" not in printed.out
    assert called(printed.out).checkpoint == str(tmp_path / "head")


def test_a_missing_head_of_polos_is_told(capsys, tmp_path):
    code, printed = run(capsys, "polos", "--from", tmp_path)
    assert code == 1
    assert "missing: checkpoint of Polos\n" in printed.out


@pytest.mark.parametrize("name", ["clair", "fleur", "vqascore"])
def test_a_judge_is_a_folder(capsys, tmp_path, name):
    code, printed = run(capsys, name, "--from", tmp_path)
    assert (code, "missing: folder of a model that writes\n" in printed.out) == (
        (1, True) if name == "clair" else (0, False)
    )
    folder = tmp_path / "judge"
    folder.mkdir()
    for file, content in (
        ("config.json", {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"]}),
        ("tokenizer.json", {}),
    ):
        (folder / file).write_text(json.dumps(content))
    assert kinds(tmp_path) == {"judge": ""}  # without weights
    save_file({"a": np.zeros(1)}, folder / "model.safetensors")
    assert [one.what for one in sorted_files(tmp_path)] == ["a model that writes, LlavaForConditionalGeneration"]
    code, printed = run(capsys, name, "--from", tmp_path)
    assert code == 0
    assert called(printed.out).model == str(folder)


def test_the_file_of_specs(capsys, tmp_path):
    import torch

    patches = torch.zeros(4, 3, 32, 32)
    torch.save({"visual.conv1.weight": patches, "positional_embedding_res": torch.zeros(248, 4)}, tmp_path / "s.pt")
    assert kinds(tmp_path) == {"s.pt": "long"}
    code, printed = run(capsys, "specs", "--from", tmp_path)
    assert code == 0
    assert called(printed.out).weights == str(tmp_path / "s.pt")


def test_folders_and_tables(tmp_path):
    (tmp_path / "words.csv").write_text("Word\tBigram\tConc.M\ndog\t0\t4.9\n")
    (tmp_path / "idf.json").write_text(json.dumps({"N": 3, "df": {"dog": 1}, "lowercase": False}))
    (tmp_path / "other.json").write_text("[1, 2]")
    for name, files in (("sentences", ["modules.json"]), ("spacy", ["config.cfg", "meta.json"]), ("nothing", ["x"])):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_text("{}")
    shutil.copytree(DATA / "grounding", tmp_path / "heads")
    shutil.copytree(DATA / "sentence_order", tmp_path / "classifier")
    assert kinds(tmp_path) == {
        "classifier": "classifier",
        "heads": "grounding",
        "idf.json": "idf",
        "nothing": "",
        "other.json": "",
        "sentences": "sentences",
        "spacy": "pipeline",
        "words.csv": "ratings",
    }


def test_a_folder_may_be_a_model_itself(tmp_path):
    for path in TINY.iterdir():
        shutil.copy(path, tmp_path)
    found = {one.path: one.kind for one in sorted_files(tmp_path)}
    assert found[tmp_path] == "base"
    assert found[tmp_path / CHECKPOINT.name] == "order"


@pytest.mark.parametrize(("names", "got"), [(["cider"], "cider"), (["rovist_c", "rovist_vg"], "rovist_c rovist_vg")])
def test_one_metric_that_takes_files_is_asked_for(capsys, tmp_path, names, got):
    code, printed = run(capsys, *names, "--from", tmp_path)
    assert code == 2
    assert re.search(rf"--from must come with one of aloha, .*, vqascore, got {got}\n", printed.err)


def test_a_folder_is_asked_for(capsys, tmp_path):
    code, printed = run(capsys, "rovist_c", "--from", tmp_path / "nowhere")
    assert code == 2
    assert "--from must name a folder, got '" in printed.err
