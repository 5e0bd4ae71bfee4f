"""Before a download, the availability of the Hub is checked once and quietly."""

import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler

import pytest
from local_hub import COMMIT, FakeHub, be_online, own_environment, serve

from vlgauge.checkpoints.hub import unreachable
from vlgauge.cli import main

pytestmark = pytest.mark.fetching

WAYS = (
    "clip_encoder()",
    f"hub_folder('a/b', '{COMMIT}', ['*'], '')",
    "hub_folder('a/b', None, ['*'], '')",
    "download_file('a/b', 'c.parquet', None)",
)


# Print the message of each way in a copy of a process that has sent no request yet.
TOLD = f"""
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks next to threads
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.families.style.table_sources import download_file
from vlgauge.checkpoints.files import hub_folder
for way in {WAYS!r}:
    if not os.fork():
        try:
            eval(way)
        except FileNotFoundError as error:
            print(error, flush=True)
        finally:
            os._exit(0)
    os.wait()
"""


class Down(BaseHTTPRequestHandler):
    """Server at the URL of the Hub that cannot reach the Hub."""

    asked: list

    def do_HEAD(self):
        """Send an error."""
        self.asked.append((self.command, self.path))
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, *arguments):
        """Do not log."""


@pytest.fixture
def hub():
    """`hub(handler)`: the URL of a server on this machine, which is stopped at the end."""
    servers = []

    def start(handler):
        server, address = serve(handler)
        servers.append(server)
        return address

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def output_of(code, address, home, **more):
    """Return the output of a process whose Hub is at a URL, and which must exit with no other message."""
    own = own_environment(address, home, **more)
    done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_one_request_and_one_error_where_the_hub_is_down(hub, tmp_path):
    Down.asked = []
    lines = output_of(TOLD, hub(Down), tmp_path).splitlines()
    assert len(lines) == len(WAYS)
    assert all("and the Hub does not respond (one attempt of at most 10 s); " in line for line in lines)
    assert Down.asked == [("HEAD", "/")] * len(WAYS)


def test_prefetch_says_it_once(hub, monkeypatch, tmp_path, capsys):
    Down.asked = []
    be_online(monkeypatch, hub(Down), tmp_path)
    assert main(["prefetch", "clip_s"]) == 2
    assert "".join(capsys.readouterr()).count("the Hub does not respond") == 1
    assert set(Down.asked) == {("HEAD", "/")}


def test_nobody_listens(monkeypatch, tmp_path):
    with socket.socket() as bound:  # does not listen
        bound.bind(("127.0.0.1", 0))
        be_online(monkeypatch, f"http://127.0.0.1:{bound.getsockname()[1]}", tmp_path)
        assert unreachable() == "the Hub does not respond (one attempt of at most 10 s)"


def test_a_hub_that_is_silent_is_waited_for_as_long_as_the_variable_of_its_client_says(monkeypatch, tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        be_online(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path)
        monkeypatch.setenv("HF_HUB_ETAG_TIMEOUT", "1")
        assert unreachable() == "the Hub does not respond (one attempt of at most 1 s)"


def test_a_folder_that_is_complete_asks_nothing(hub, tmp_path):
    FakeHub.content = b"some weights"
    address = hub(FakeHub)
    code = f"""
from vlgauge.checkpoints.files import hub_folder
print(*(path.name for path in hub_folder("me/my.detector", "{COMMIT}", ["weights/*"], "", asked=True).rglob("*")))
"""
    for expected in (True, False):
        FakeHub.asked.clear()
        assert output_of(code, address, tmp_path, HF_HUB_DISABLE_PROGRESS_BARS="1") == "weights small.safetensors\n"
        assert bool(FakeHub.asked) is expected
