"""`vlgauge backbones`: the facts of each backbone, and whether it is cached."""

import dataclasses
import json

from script_modules import script_module

from vlgauge.cli import main
from vlgauge.models.clip.architectures import TABLE, read_backbones


def listed(capsys):
    assert main(["backbones", "--json"]) == 0
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)["backbones"]}


def test_list(capsys, monkeypatch):
    found = listed(capsys)
    assert list(found) == list(TABLE)
    assert found["longclip-b"] == {
        "name": "longclip-b",
        "aliases": ["longclip", "BeichenZhang/LongCLIP-B"],
        "width": 512,
        "context": 248,
        "pixels": 224,
        "licence": "Apache-2.0",
        "revision": TABLE["longclip-b"].revision or "newest",
        "here": False,
    }
    monkeypatch.setattr("vlgauge.cli.backbones.is_there", lambda files: files.repository.startswith("google/"))
    there = listed(capsys)
    assert there["siglip2-base-patch16-224"]["here"]
    assert not there["ViT-B/32"]["here"]
    assert main(["backbones"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ViT-B/32 ")]
    assert line.split()[-5:] == ["77", "224", "MIT", "a6f597a3", "no"]


def test_all_files_of_a_backbone_are_looked_for(capsys):
    assert main(["prefetch", "--list", "clip:siglip2"]) == 0
    line = capsys.readouterr().out
    assert line.startswith("google/siglip2-base-patch16-224, ")
    assert line.endswith(": model.safetensors, tokenizer.json, preprocessor_config.json\n")


def test_pinning(monkeypatch, tmp_path, capsys):
    from vlgauge.checkpoints.hub import ListedFile
    from vlgauge.core.errors import NetworkError

    pin = script_module("pin_backbones.py")

    def listing(repository, revision, patterns):
        if repository == "Xiaohud/SPECS":
            raise NetworkError("not there")
        return "0" * 40, {patterns[-1]: ListedFile(7, "f" * 64)}

    monkeypatch.setattr(pin, "hub_listing", listing)
    assert pin.main(["longclip-b", "specs", "--output", str(tmp_path / "pins.json")]) == 1
    pinned = read_backbones(tmp_path / "pins.json")
    pin_of_row = {"revision": "0" * 40, "files": ("longclip-B.pt",), "sha256": "f" * 64}
    assert pinned == TABLE | {"longclip-b": dataclasses.replace(TABLE["longclip-b"], **pin_of_row)}
    assert "specs: not there" in capsys.readouterr().err
