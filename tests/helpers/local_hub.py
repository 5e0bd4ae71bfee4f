"""A Hub on this machine, for processes that are to find one there."""

import hashlib
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import vlgauge

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def serve(handler, *, seconds=0.01):
    """Start a server on this machine, and return it with its URL. It checks for shutdown every 10 ms by default."""
    # Otherwise the body of a response waits 40 ms for the acknowledgment of its header, if a connection stays open.
    handler.disable_nagle_algorithm = True
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(seconds,), daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def own_environment(address, home, **more):
    """Return the environment variables of a process with the Hub at an address and an initially empty cache."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGINGFACE_"))}
    own |= {"HF_ENDPOINT": address, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
    return own | {"PYTHONPATH": str(Path(vlgauge.__file__).parents[1])} | more


def be_online(monkeypatch, address, home):
    """Connect this process to a local Hub, with an initially empty cache."""
    for switch in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE", "HF_TOKEN", "HF_HUB_ETAG_TIMEOUT"):
        monkeypatch.delenv(switch, raising=False)
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    # The client makes it of the endpoint when it is imported.
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(home))


class FakeHub(BaseHTTPRequestHandler):
    """Hub with one repository and one file, for the Hub's client."""

    content = b""
    asked: ClassVar[list[str]] = []

    def log_message(self, *arguments):
        """Suppress log messages."""

    def do_HEAD(self):
        """Send the header of a response."""
        self.do_GET()

    def do_GET(self):
        """Send the metadata of the repository, or its file."""
        self.asked.append(self.path)
        name = "weights/small.safetensors"
        listed = [{"type": "file", "path": name, "size": len(self.content), "oid": "0" * 40}]
        about = {"id": "me/my.detector", "sha": COMMIT, "siblings": [{"rfilename": name}]}
        told = json.dumps(listed if "/tree/" in self.path else about).encode()
        is_file = self.path.endswith(f"/resolve/{COMMIT}/{name}")
        is_known = is_file or self.path.startswith("/api/models/me/my.detector")
        body = (self.content if is_file else told) if is_known else b""
        self.send_response(200 if is_known else 404)
        headers = {"X-Repo-Commit": COMMIT, "Content-Length": str(len(body)), "Content-Type": "application/json"}
        for key, value in (headers | {"ETag": f'"{hashlib.sha256(body).hexdigest()}"'}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


class FolderHub(BaseHTTPRequestHandler):
    """Hub with folders as repositories. Each has any requested commit, and `COMMIT` as its latest one."""

    repositories: ClassVar[dict[str, Path]] = {}
    asked: ClassVar[list[str]] = []

    def log_message(self, *arguments):
        """Suppress log messages."""

    def do_HEAD(self):
        """Send the header of a response."""
        self.do_GET()

    def do_GET(self):
        """Send the metadata of a repository, or one of its files."""
        path = self.path.partition("?")[0].strip("/")
        self.asked.append(path)
        owner_and_name = "/".join(path.removeprefix("api/models/").split("/")[:2])
        folder = self.repositories.get(owner_and_name)
        rest = path.partition(f"{owner_and_name}/")[2].split("/", 2)
        if folder is None:
            self._answer(404, b"", COMMIT)
        elif rest[0] == "resolve":
            commit = COMMIT if rest[1] == "main" else rest[1]
            file = folder / rest[2]
            self._answer(*((200, file.read_bytes()) if file.is_file() else (404, b"")), commit)
        elif rest[0] == "tree":
            files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
            listed = [
                {"type": "file", "path": str(file.relative_to(folder)), "size": file.stat().st_size, "oid": "0" * 40}
                for file in files
            ]
            self._answer(200, json.dumps(listed).encode(), rest[1])
        else:
            self._answer(200, json.dumps({"id": owner_and_name, "sha": COMMIT}).encode(), COMMIT)

    def _answer(self, status, body, commit):
        self.send_response(status)
        headers = {"X-Repo-Commit": commit, "Content-Length": str(len(body)), "Content-Type": "application/json"}
        for key, value in (headers | {"ETag": f'"{hashlib.sha256(body).hexdigest()}"'}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
