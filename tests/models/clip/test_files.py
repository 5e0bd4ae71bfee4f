"""Selection of the weight file of a CLIP on the Hub, and messages if it is not available."""

import dataclasses
import hashlib
import shutil
import time

import pytest
from tiny_clip import TINY, write_tiny

from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.errors import NetworkError, WeightsNotFoundError
from vlgauge.models.clip.architectures import CONVERTED_HUB_FILE, TABLE
from vlgauge.models.clip.backbones import architecture_of
from vlgauge.models.clip.files import find_weights, paper_adapter, paper_adapter_path
from vlgauge.models.clip.loading import clip_encoder, clip_with_checkpoint


def test_missing_weights_are_told_at_once_and_without_network(no_sockets, monkeypatch, tmp_path):
    from huggingface_hub import constants

    pauses = []
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(time, "sleep", pauses.append)
    with pytest.raises(WeightsNotFoundError) as caught:
        clip_encoder()
    assert pauses == []
    message = str(caught.value)
    for part in (
        "timm/vit_base_patch32_clip_224.openai",
        f"(revision {TABLE['ViT-B/32'].revision}, file open_clip_model.safetensors)",
        f"is not in {tmp_path}",
        "offline mode is enabled",
        "vlgauge prefetch clip:ViT-B/32",
        "pass a file as `weights`",
        'or profile="embedded"',
    ):
        assert part in message
    assert isinstance(caught.value, FileNotFoundError)


def test_a_file_in_the_cache_of_the_hub_is_found(no_sockets, monkeypatch, tmp_path):
    from huggingface_hub import constants

    folder = tmp_path / "models--timm--vit_base_patch32_clip_224.openai"
    snapshot = folder / "snapshots" / TABLE["ViT-B/32"].revision
    snapshot.mkdir(parents=True)
    (tmp_path / "tiny").mkdir()
    shutil.copy(write_tiny(tmp_path / "tiny"), snapshot / "open_clip_model.safetensors")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ValueError, match=r"sha256.*e6d1bd7789aa4519"):
        clip_encoder()
    row = dataclasses.replace(TABLE["ViT-B/32"], sha256=None)
    with pytest.raises(ValueError, match="ViT-B-32-quickgelu"):
        clip_encoder(row)


class Hub:
    """Hub with some files of a repository. Other files are missing, or cannot be requested."""

    def __init__(self, folder, *files, answers=True):
        self.folder, self.files, self.answers, self.asked, self.digests = folder, files, answers, [], []

    def __call__(self, repository, file, revision, *, sha256, announce):
        self.asked.append((repository, file, revision))
        self.digests.append(sha256)
        if not self.answers:
            raise NetworkError("the Hub fell silent")
        if file not in self.files:
            raise NetworkError("the Hub has no such file", 404)
        (self.folder / file).write_bytes(b"x")
        return self.folder / file


@pytest.fixture
def asked_hub(monkeypatch, tmp_path):
    """Function `asked_hub(*files)` that installs a hub with these files and returns it."""

    def make(*files, answers=True):
        hub = Hub(tmp_path, *files, answers=answers)
        monkeypatch.setattr("vlgauge.checkpoints.hub.hub_file", hub)
        monkeypatch.setattr("vlgauge.checkpoints.hub.hub_answers", lambda limit: True)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
        for switch in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"):
            monkeypatch.delenv(switch, raising=False)
        return hub

    return make


@pytest.mark.fetching
def test_the_file_of_the_table_is_fetched_at_its_revision(asked_hub, tmp_path):
    digest = hashlib.sha256(b"x").hexdigest()
    row = dataclasses.replace(TABLE["laion/ViT-L-14"], sha256=digest)
    hub = asked_hub(CONVERTED_HUB_FILE)
    assert find_weights(row, None) == tmp_path / CONVERTED_HUB_FILE
    assert hub.asked == [(row.repository, "open_clip_pytorch_model.safetensors", row.revision)]
    assert hub.digests == [digest]


@pytest.mark.fetching
def test_a_file_of_open_clip_may_have_its_older_name(asked_hub, tmp_path):
    row = architecture_of("ViT-B-16:laion2b_s34b_b88k")
    hub = asked_hub(CONVERTED_HUB_FILE)
    assert find_weights(row, None) == tmp_path / CONVERTED_HUB_FILE
    assert [file for _, file, _ in hub.asked] == ["open_clip_model.safetensors", CONVERTED_HUB_FILE]


@pytest.mark.fetching
def test_a_hub_without_the_file_or_without_an_answer_is_told(asked_hub):
    row = architecture_of("ViT-B-16:laion2b_s34b_b88k")
    hub = asked_hub()
    with pytest.raises(WeightsNotFoundError, match="no such file"):
        find_weights(row, None)
    assert len(hub.asked) == 2
    hub = asked_hub(answers=False)
    with pytest.raises(WeightsNotFoundError, match="fell silent"):
        find_weights(row, None)
    assert len(hub.asked) == 1


# -- folders ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "names", [("open_clip_model.safetensors", "model.safetensors"), ("model.safetensors", "pytorch_model.bin")]
)
def test_a_folder_of_the_hub_stands_for_the_first_file_with_weights(tmp_path, names):
    for name in (*names, "config.json", "optimizer.safetensors"):
        (tmp_path / name).touch()
    assert find_weights(TABLE["ViT-B/32"], str(tmp_path)) == tmp_path / names[0]


@pytest.mark.parametrize("setting", ["weights", "checkpoint"])
def test_a_folder_without_weights_is_told(tmp_path, setting):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "weights.safetensors").touch()
    given = {"weights": write_tiny(tmp_path), setting: tmp_path / "folder"}
    message = rf"^`{setting}`.*folder.*open_clip_model\.safetensors"
    with pytest.raises(WeightsNotFoundError, match=message):
        clip_with_checkpoint(TINY, kind="clip_s", device="cpu", **given)


def test_folders_give_what_their_files_give(tmp_path):
    base = write_tiny(tmp_path)
    for name, seed, suffix in (("base", 0, ".safetensors"), ("other", 3, ".pth")):
        (tmp_path / name).mkdir()
        target = "model.safetensors" if suffix == ".safetensors" else "pytorch_model.bin"
        write_tiny(tmp_path / name, seed, suffix=suffix).rename(tmp_path / name / target)
    given = {"kind": "pac_s", "device": "cpu"}
    whole, head = clip_with_checkpoint(TINY, tmp_path / "other", weights=tmp_path / "base", **given)
    file = tmp_path / "other" / "pytorch_model.bin"
    assert (whole.digest, head) == (sha256_of(file), None)
    assert clip_encoder(TINY, weights=tmp_path / "base", device="cpu").digest == sha256_of(base)


# -- the weights of the paper -----------------------------------------------------------------------------------------
def test_the_papers_weights_are_looked_for_in_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path))
    path = tmp_path / "adapters" / "pac_s-ViT-B-32-quickgelu.safetensors"
    assert paper_adapter_path("ViT-B/32") == path
    path.parent.mkdir()
    path.write_bytes(b"")
    assert paper_adapter("ViT-B/32") == path
    monkeypatch.delenv("VLGAUGE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert paper_adapter_path(TINY) == tmp_path / "home/.cache/vlgauge/adapters/pac_s-tiny-quickgelu.safetensors"


@pytest.mark.parametrize(
    ("backbone", "parts"),
    [
        (
            "ViT-B/32",
            ["1F-0Pma-vfJPAiDzeyl-iEdSXZIO1cDae", "605 MB", "vlgauge convert clip_ViT-B-32.pth --backbone ViT-B/32"],
        ),
        (
            "laion/ViT-L-14",
            ["1G1DAGQf5fW2U3u7K3Dn-eCC6koMDyvsU", "1.6 GB", "openClip_ViT-L-14.pth --backbone laion/ViT-L-14"],
        ),
        (
            "RN50",
            ["were released for ViT-B/32 and laion/ViT-L-14 only; train others with vlgauge train pac_s"],
        ),
    ],
)
def test_missing_weights_of_the_paper_say_what_to_do(tmp_path, monkeypatch, backbone, parts):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path))
    with pytest.raises(WeightsNotFoundError) as raised:
        paper_adapter(backbone)
    for part in (*parts, str(tmp_path), "`checkpoint`", 'profile="embedded"'):
        assert part in str(raised.value)


def test_unknown_backbones_are_refused():
    with pytest.raises(ValueError, match=r"^`backbone`"):
        paper_adapter("ViT-B/33")
