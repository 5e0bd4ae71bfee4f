"""Sources of the weights of a detector: files, the Hub at a commit, and torchvision's server on request."""

import hashlib
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler

import pytest
from local_hub import COMMIT, FakeHub, be_online, serve

from vlgauge import cli
from vlgauge.api.prefetch import assets
from vlgauge.checkpoints import detectors
from vlgauge.checkpoints.detectors import HubFile, PublishedFile, find_weights, hub_file
from vlgauge.core.errors import NetworkError, WeightsNotFoundError
from vlgauge.models import detectors as regions

pytest.importorskip("torchvision")
SMALL = "ssdlite320_mobilenet_v3_large"
PINNED = f"me/my.detector/weights/small.safetensors@{COMMIT}"


@pytest.fixture
def online(monkeypatch):
    """No offline switch is set, and requests for the network are recorded."""
    asked = []

    def refuse(*arguments, **named):
        asked.append((arguments, named))
        raise NetworkError("the Hub fell silent")

    for switch in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"):
        monkeypatch.delenv(switch, raising=False)
    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_file", refuse)
    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_answers", lambda limit: True)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *arguments, **named: None)
    monkeypatch.setattr("vlgauge.checkpoints.detectors.download", refuse)
    return asked


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (PINNED, HubFile("me/my.detector", "weights/small.safetensors", COMMIT)),
        (f"a/b/c.pth@{COMMIT}", HubFile("a/b", "c.pth", COMMIT)),
        (f"a/b@{COMMIT}", None),
        (f"a/b/@{COMMIT}", None),
        ("a/b/c.pth", None),
        ("a/b/c.pth@main", None),
        (f"a/b/c.pth@{COMMIT[1:]}", None),
        (f"a/b/c.pth@{COMMIT.upper()}", None),
        (f"https://a/b/c.pth@{COMMIT}", None),
        (f"a/b/*.pth@{COMMIT}", None),
    ],
)
def test_address_on_the_hub(setting, expected):
    assert hub_file(setting) == expected


def test_hub_weights_come_from_the_cache_before_the_hub_is_asked(online, monkeypatch, tmp_path):
    seen = []

    def cached(repository, filename, revision):
        seen.append((repository, filename, revision))
        return str(tmp_path / "cached.safetensors")

    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", cached)
    assert find_weights(SMALL, PINNED) == tmp_path / "cached.safetensors"
    assert seen == [("me/my.detector", "weights/small.safetensors", COMMIT)]
    assert online == []


@pytest.mark.fetching
def test_hub_weights_are_fetched_at_their_commit(online, monkeypatch, tmp_path):
    fetched, new = [], tmp_path / "new.pth"

    def fetch(*address, sha256, announce):
        fetched.append((address, sha256))
        return new

    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_file", fetch)
    assert find_weights(SMALL, PINNED) == new
    assert fetched == [(("me/my.detector", "weights/small.safetensors", COMMIT), None)]


@pytest.mark.fetching
@pytest.mark.parametrize(("switch", "why"), [("1", "offline mode is enabled"), ("", "the Hub fell silent")])
def test_hub_weights_that_cannot_be_had_name_file_and_command(online, monkeypatch, switch, why):
    monkeypatch.setenv("HF_HUB_OFFLINE", switch)
    with pytest.raises(WeightsNotFoundError) as caught:
        regions.region_source(SMALL, weights=PINNED)
    text = str(caught.value)
    for part in (f"me/my.detector (revision {COMMIT}, file weights/small.safetensors)", "`detector_weights`", why):
        assert part in text
    assert f"run on a machine with network: vlgauge prefetch detector:{PINNED}, pass a local file" in text
    assert len(online) == (switch == "")


def test_embedded_profile_fetches_nothing(online):
    with pytest.raises(WeightsNotFoundError, match="profile, which downloads"):
        regions.region_source(SMALL, weights=PINNED, profile="embedded")
    assert online == []


def test_an_unpinned_id_is_no_weight_file(online):
    with pytest.raises(WeightsNotFoundError, match=r"got 'me/rcnn/w\.pth@main'"):
        find_weights(SMALL, "me/rcnn/w.pth@main")
    assert online == []


def test_a_file_of_that_name_comes_first(online, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "me" / "my.detector" / "weights").mkdir(parents=True)
    (tmp_path / PINNED).write_bytes(b"x")
    assert find_weights(SMALL, PINNED).read_bytes() == b"x"


def test_published_weights_are_never_fetched_by_a_metric(online, monkeypatch, tmp_path):
    monkeypatch.setattr("torch.hub.get_dir", lambda: str(tmp_path))
    with pytest.raises(WeightsNotFoundError, match=rf"prefetch.*{SMALL}"):
        find_weights(SMALL, None)
    assert online == []


# -- prefetch, from servers on this machine ---------------------------------------------------------------------------
@pytest.fixture
def torchvision_server(monkeypatch, tmp_path):
    """`served(content, prefix)`: torchvision's file of `SMALL` on a server on this machine."""
    (tmp_path / "server").mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server, address = serve(partial(Quiet, directory=str(tmp_path / "server")))

    def served(content, prefix):
        (tmp_path / "server" / f"small-{prefix}.pth").write_bytes(content)
        path = tmp_path / "checkpoints" / f"small-{prefix}.pth"
        file = PublishedFile(SMALL, f"{address}/{path.name}", path, prefix)
        for place in (assets, detectors):
            monkeypatch.setattr(place, "find_published_file", lambda name: file)
        return path

    be_online(monkeypatch, "http://hub.invalid", tmp_path / "hub")
    yield served
    server.shutdown()
    server.server_close()


def prefetch(capsys, *names):
    code = cli.main(["prefetch", *names])
    return code, *capsys.readouterr()


@pytest.mark.fetching
def test_prefetch_fetches_and_checks_torchvisions_weights(torchvision_server, capsys):
    digest = hashlib.sha256(b"weights").hexdigest()
    path = torchvision_server(b"weights", digest[:8])
    assert prefetch(capsys, "--check", f"detector:{SMALL}")[0] == 1
    code, out, _ = prefetch(capsys, f"detector:{SMALL}")
    assert (code, path.read_bytes()) == (0, b"weights")
    assert f"detector {SMALL} of torchvision" in out
    assert digest[:16] in out
    assert "as in its name" in out
    assert prefetch(capsys, "--check", f"detector:{SMALL}")[0] == 0
    assert find_weights(SMALL, None) == path


@pytest.mark.fetching
def test_prefetch_refuses_weights_that_are_not_what_their_name_tells(torchvision_server, capsys):
    path = torchvision_server(b"others", "00000000")
    code, _, err = prefetch(capsys, f"detector:{SMALL}")
    assert (code, path.exists()) == (2, False)
    assert f"instead of {'0' * 8}, so it was discarded; download it" in err.splitlines()[-1]
    path.write_bytes(b"changed")
    code, _, err = prefetch(capsys, f"detector:{SMALL}")
    assert code == 2
    assert f"must have a SHA-256 that starts with 00000000, got {hashlib.sha256(b'changed').hexdigest()[:8]}" in err


def test_prefetch_of_torchvisions_weights_heeds_the_offline_switch(torchvision_server, capsys, monkeypatch):
    path = torchvision_server(b"weights", hashlib.sha256(b"weights").hexdigest()[:8])
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")
    code, _, err = prefetch(capsys, f"detector:{SMALL}")
    assert (code, path.exists(), err.count("\n")) == (2, False, 1)
    assert "because offline mode is enabled (HF_HUB_OFFLINE or HF_EVALUATE_OFFLINE); download it on a machine" in err


def test_prefetch_of_an_unknown_detector_lists_those_there_are(capsys):
    code, _, err = prefetch(capsys, "detector:yolo")
    assert code == 2
    assert "must be one of fasterrcnn_mobilenet_v3_large_320_fpn, " in err
    assert "or a file of the Hub (owner/name/FILE@<40 hexadecimal digits>), got 'yolo'" in err


@pytest.mark.fetching
def test_weights_that_prefetch_fetched_are_found_without_network(tmp_path, monkeypatch, capsys):
    FakeHub.content = b"some weights"
    server, address = serve(FakeHub)
    be_online(monkeypatch, address, tmp_path / "home")
    try:
        code, out, _ = prefetch(capsys, f"detector:{PINNED}")
        assert (code, prefetch(capsys, "--check", f"detector:{PINNED}")[0]) == (0, 0)
        assert f"me/my.detector@{COMMIT} is complete" in out
    finally:
        server.shutdown()
        server.server_close()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert find_weights(SMALL, PINNED).read_text() == "some weights"


def test_torchvision_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(ImportError, match=f"detector '{SMALL}' requires torchvision, .* pip install \"vlgauge.clip.\""):
        regions.region_source(SMALL)
    code, _, err = prefetch(capsys, f"detector:{SMALL}")
    assert code == 2
    assert 'run: pip install "vlgauge[clip]" (torch and torchvision of one build)' in err
    assert prefetch(capsys, "--list", f"detector:{SMALL}")[0] == 0
