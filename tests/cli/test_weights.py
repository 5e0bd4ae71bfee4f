"""`vlgauge convert` and `vlgauge prefetch`."""

import pytest
import torch
from safetensors.torch import save_file
from tiny_clip import TINY, rand_clip, tiny_state

from vlgauge.checkpoints.files import sha256_of
from vlgauge.cli import main
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.checkpoints import load_checkpoint, read_state
from vlgauge.models.clip.files import paper_adapter, paper_adapter_path
from vlgauge.models.clip.heads import heads_digest, safetensors_metadata


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


# -- convert ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Return files: the base, a PAC-S of it, one with a different backbone, and a PAC-S++."""
    folder, base = tmp_path_factory.mktemp("weights"), tiny_state()
    heads = rand_clip().to_torch(rand_clip().make_adapter("tiny", 0, 0.8))
    lora = rand_clip().to_torch(rand_clip().make_lora("tiny"))
    changed = {"ln_final.bias": base["ln_final.bias"] + 0.25, "logit_scale": torch.tensor(1.0)}
    slight = {**heads, "ln_final.bias": base["ln_final.bias"] + 2.0**-12}
    save_file(base, folder / "base.safetensors")
    for name, extra in (
        ("pac_s", heads),
        ("other", {**heads, **changed}),
        ("lora", lora),
        ("clip", {}),
        ("slight", slight),
    ):
        torch.save({"state_dict": {**base, **extra}}, folder / f"{name}.pth")
    return folder, base, heads


@pytest.fixture
def convert(capsys, monkeypatch, tmp_path, weights):
    """`convert(name, *options)` converts one of the files of the tiny backbone."""
    monkeypatch.setitem(TABLE, "tiny", TINY)
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    folder = weights[0]

    def call(name, *options):
        base = ("--base", folder / "base.safetensors")
        return run(capsys, "convert", folder / f"{name}.pth", "--backbone", "tiny", *base, *options)

    return call


def test_convert_writes_an_adapter_where_pac_s_finds_it(convert, tmp_path, weights):
    folder, base, heads = weights
    code, out, err = convert("pac_s")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["tensor", "largest", "difference"]
    assert [line.split()[0] for line in lines[2:4]] == ["text_projection", "visual.proj"]
    largest = float((heads["visual.proj"] - base["visual.proj"]).abs().max())
    assert float(lines[3].split()[1]) == pytest.approx(largest, rel=0.01)
    assert lines[4] == "59 other tensors equal those of tiny"
    path = paper_adapter("tiny")
    assert lines[5] == f"wrote {path} (0.0 MB): adapter"
    assert path == tmp_path / "home/adapters/pac_s-tiny-quickgelu.safetensors"
    assert load_checkpoint(path, TINY, base).adapter.digest == heads_digest(heads)
    assert safetensors_metadata(path) == {
        "format": "vlgauge-clip-adapter-1",
        "kind": "pac_s",
        "architecture": "tiny-quickgelu",
        "base_weights": sha256_of(folder / "base.safetensors"),
        "base_projections_sha256": heads_digest(base),
        "source_sha256": sha256_of(folder / "pac_s.pth"),
        "w": "2.0",
    }


def test_convert_writes_a_whole_clip_if_the_backbone_differs(convert, tmp_path, weights):
    path = tmp_path / "other.safetensors"
    code, out, _ = convert("other", "-o", path, "--kind", "custom")
    assert code == 0
    assert "ln_final.bias" in out
    assert "0.25" in out
    assert "logit_scale" not in out
    assert "58 other tensors equal those of tiny" in out
    assert "whole CLIP, because more than the projections differs" in out
    metadata = safetensors_metadata(path)
    assert metadata["changed"].split(",") == ["ln_final.bias", "text_projection", "visual.proj"]
    assert (metadata["kind"], metadata.get("w")) == ("custom", None)
    assert load_checkpoint(path, TINY, weights[1]).adapter is None
    state = read_state(path, TINY)
    assert heads_digest(state) == heads_digest(weights[2])
    assert state["ln_final.bias"].equal(weights[1]["ln_final.bias"] + 0.25)
    with pytest.raises(ValueError, match="ViT-B-32-quickgelu"):
        load_checkpoint(path, TABLE["ViT-B/32"], None)


def test_a_backbone_that_differs_slightly_is_another(convert, tmp_path):
    code, out, _ = convert("slight", "-o", tmp_path / "slight.safetensors")
    assert code == 0
    assert "ln_final.bias    0.000" in out
    assert "whole CLIP, because more than the projections differs" in out


def test_convert_takes_a_folder(convert, weights):
    folder = weights[0] / "folder.pth"
    folder.mkdir()
    assert "error: `CHECKPOINT` must be a file, or a folder with one of" in convert("folder")[2]
    (folder / "pytorch_model.bin").write_bytes((weights[0] / "pac_s.pth").read_bytes())
    assert convert("folder")[1] == convert("pac_s")[1]


def test_convert_keeps_pac_s_plus_plus_out_of_the_place_of_pac_s(convert, tmp_path):
    code, out, _ = convert("lora")
    assert code == 0
    assert f"wrote {paper_adapter_path('tiny', 'pac_s++')}" in out
    assert not paper_adapter_path("tiny").exists()
    code, out, _ = convert("lora", "--output", tmp_path / "lora.safetensors")
    assert code == 0
    assert "visual.conv1.weight" in out
    assert "mlp" not in out
    assert "text_projection" not in out


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("clip", (), "must differ from the CLIP weights of tiny, got"),
        ("none", (), "none.pth: No such file"),
        ("pac_s", ("--output", "nowhere/a.safetensors"), "--output must be a file in an existing folder"),
        ("pac_s", ("--kind", "custom"), "--output is required for --kind custom"),
        ("pac_s", ("--backbone", "ViT-B/33"), "`backbone` must be a name that"),
        ("pac_s", ("--base", __file__), "`--base` must be a safetensors file or a file written by torch.save, got "),
        ("pac_s", ("--base", "nowhere.pt"), "error: `--base` must be an existing file, got 'nowhere.pt'"),
    ],
)
def test_wrong_conversions_end_with_one_line(convert, tmp_path, monkeypatch, name, options, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = convert(name, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_adapter_is_not_converted_again(convert, tmp_path, capsys, weights):
    assert convert("pac_s")[0] == 0
    base = ("--base", weights[0] / "base.safetensors")
    code, _, err = run(capsys, "convert", paper_adapter("tiny"), "--backbone", "tiny", *base)
    assert code == 2
    assert "got an adapter, which does not require conversion" in err
