"""Simulated local Hub of datasets: search, revisions, trees, ranged reads, gated, private and hostile datasets."""

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha1
from http.server import BaseHTTPRequestHandler
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from local_hub import be_online, serve

TOKEN = "hf_visitor"


def commit_of(files):
    """Return an id for a commit of these files alone, because workers keep the files of a commit."""
    return sha1(repr(sorted(files.items())).encode()).hexdigest()


@dataclass
class Repository:
    """Files keyed by path for each commit. The last commit is "main".

    The files of a commit must not change during a test run, because workers keep them.
    """

    commits: dict[str, dict[str, bytes]]
    gated: bool = False
    private: bool = False

    def at(self, revision):
        commit = list(self.commits)[-1] if revision == "main" else revision
        return commit, self.commits.get(commit)


@dataclass
class DataSetHub:
    """Repositories of a simulated Hub, the URL of its server, and commits that had other files before."""

    repositories: dict[str, Repository]
    address: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    is_down: bool = False
    changed: list[tuple[str, str]] = field(default_factory=list)


def _entries(files, folder, recursive):
    """Return the files and folders in a folder, in the format of the Hub."""
    start = f"{folder}/" if folder else ""
    found = {}
    for path, content in files.items():
        if not path.startswith(start):
            continue
        parts = path.removeprefix(start).split("/")
        for depth in range(1, len(parts) if recursive else min(2, len(parts))):
            name = start + "/".join(parts[:depth])
            found[name] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": name}
        if recursive or len(parts) == 1:
            found[path] = _entry(path, content)
    return list(found.values())


def _entry(path, content):
    return {"type": "file", "oid": sha1(content).hexdigest(), "size": len(content), "path": path}


class _Answers(BaseHTTPRequestHandler):
    hub: ClassVar[DataSetHub] = DataSetHub({}, is_down=True)
    served: ClassVar[dict[tuple[str, str], dict[str, bytes]]] = {}  # files by dataset and commit
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        """Suppress log messages."""

    def _send(self, status, body=b"", **headers):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        for name, value in ({"Content-Type": kind, "Content-Length": str(len(content))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _refuse(self, status, code):
        self._send(status, {"error": code}, X_Error_Code=code, X_Error_Message=code)

    def do_GET(self):
        hub, body = self.hub, self.rfile.read(int(self.headers.get("Content-Length") or 0))
        hub.asked.append((self.command, self.path))
        if hub.is_down:
            return self._refuse(521, "Down")  # the client waits 23 s in total for a 503, and not for this status
        address = urlsplit(self.path)
        path, query = unquote(address.path), parse_qs(address.query)
        if path == "/api/datasets":
            return self._search(query)
        parts = path.removeprefix("/api").split("/")
        identity, rest = "/".join(parts[2:4]), parts[4:]
        repository = hub.repositories.get(identity) if parts[1] == "datasets" else None
        is_known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if len(parts) < 4:
            return self._refuse(404, "EntryNotFound")
        if repository is None or (repository.private and not is_known):
            return self._refuse(401, "RepoNotFound")
        if path.startswith("/api/") and (not rest or rest[0] == "revision"):
            return self._about(identity, repository, "/".join(rest[1:]) or "main")
        if rest[0] == "resolve" and repository.gated and not is_known:
            return self._refuse(401, "GatedRepo")
        commit, files = repository.at(rest[1])
        if files is None:
            return self._refuse(404, "RevisionNotFound")
        if rest[0] == "tree":
            found = _entries(files, "/".join(rest[2:]), query.get("recursive") in (["true"], ["True"]))
            return self._send(200, found) if found else self._refuse(404, "EntryNotFound")
        if rest[0] == "paths-info":
            asked = json.loads(body)["paths"] if body.startswith(b"{") else parse_qs(body.decode())["paths"]
            return self._send(200, [_entry(one, files[one]) for one in asked if one in files])
        return self._file(commit, files.get("/".join(rest[2:])))

    do_HEAD = do_POST = do_GET

    def _search(self, query):
        repositories, wanted = self.hub.repositories, query.get("search", [""])[0]
        found = [one for one, about in repositories.items() if wanted in one and not about.private]
        kept = found if "gated" not in query else [one for one in found if not repositories[one].gated]
        self._send(200, [{"_id": one, "id": one, "downloads": 5, "likes": 0, "tags": []} for one in kept])

    def _about(self, identity, repository, revision):
        commit, files = repository.at(revision)
        if files is None:
            return self._refuse(404, "RevisionNotFound")
        if self.served.setdefault((identity, commit), files) != files:
            self.hub.changed.append((identity, commit))
        about = {"_id": "1", "id": identity, "sha": commit, "private": repository.private, "tags": []}
        about |= {"gated": "auto" if repository.gated else False, "downloads": 1, "likes": 0}
        return self._send(200, about | {"siblings": [{"rfilename": path} for path in files]})

    def _file(self, commit, content):
        if content is None:
            return self._send(404, X_Error_Code="EntryNotFound", X_Repo_Commit=commit)
        headers = {"ETag": f'"{sha1(content).hexdigest()}"', "X_Repo_Commit": commit, "Accept_Ranges": "bytes"}
        part = (self.headers.get("Range") or "").removeprefix("bytes=")
        if not part:
            return self._send(200, content, **headers)
        first, last = part.split("-")
        end = min(int(last) if last else len(content) - 1, len(content) - 1)
        told = f"bytes {first}-{end}/{len(content)}"
        return self._send(206, content[int(first) : end + 1], Content_Range=told, **headers)


@cache
def _address():
    """Start the server of all simulated Hubs of this process, and return its URL.

    Workers have the URL of their Hub, so the free ones of a file of tests can be used by the next file.
    """
    return serve(_Answers, seconds=3600)[1]


@contextmanager
def hub_of_data_sets(home, **repositories):
    """Make a simulated Hub the Hub of this process inside the block."""
    import datasets
    import pytest
    from huggingface_hub import HfFileSystem

    hub, before = DataSetHub(repositories, _address()), _Answers.hub
    _Answers.hub = hub
    try:
        with pytest.MonkeyPatch.context() as patched:
            be_online(patched, hub.address, home / "hub")
            template = "/{repo_id}/resolve/{revision}/{filename}"
            patched.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", hub.address + template)
            patched.setattr(datasets.config, "HF_ENDPOINT", hub.address)
            patched.setattr(datasets.config, "HF_HUB_OFFLINE", False)
            patched.setattr(datasets.config, "HF_DATASETS_CACHE", home / "datasets")
            patched.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", home / "datasets" / "downloads")
            HfFileSystem.clear_instance_cache()
            yield hub
    finally:
        HfFileSystem.clear_instance_cache()
        _Answers.hub = before
    assert hub.changed == []
