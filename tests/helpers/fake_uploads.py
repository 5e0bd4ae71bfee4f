"""Simulated local Hub that accepts commits and pull requests, and serves the uploaded Spaces."""

import base64
import hashlib
import json
from http.server import BaseHTTPRequestHandler

from local_hub import COMMIT, serve


class Uploads:
    """Simulated Hub that records requests and uploads.

    Attributes:
        log: Method and path of every request.
        sent: Files of every commit, keyed by repository and path.
        files: Content, keyed by request path, such as ``/org/m/resolve/main/README.md``.
        spaces: Files of the Spaces, keyed by id. A commit that is not a pull request changes them.
        tags: Names of the tags of the Spaces, keyed by id.
        told: Bodies of other requests, keyed by path.
        status: HTTP status of the response to a commit.
        deleted: Files that a commit deletes, by repository and path.
        refused: Ids of repositories that reject commits.
    """

    def __init__(self):
        self.log, self.sent, self.files, self.status = [], {}, {}, 200
        self.spaces, self.tags, self.told, self.refused, self.deleted = {}, {}, {}, set(), []
        self.server, self.url = serve(handler_of(self))

    def file(self, path):
        """Return the content at a path. A Space has the same files under every tag."""
        words = path.split("/")
        if words[1] == "spaces" and words[4:5] == ["resolve"]:
            space = "/".join(words[2:4])
            if words[5] in ("main", *self.tags.get(space, ())):
                return self.spaces.get(space, {}).get("/".join(words[6:]))
        return self.files.get(path)

    def about(self, path):
        """Return the metadata of a Space, or None for other paths."""
        words = path.partition("?")[0].split("/")
        space = "/".join(words[3:5])
        if words[1:3] != ["api", "spaces"] or space not in self.spaces:
            return None
        listed = [
            {"type": "file", "path": name, "size": len(content), "oid": blob_id(content)}
            for name, content in sorted(self.spaces[space].items())
        ]
        tags = [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": COMMIT} for tag in self.tags.get(space, ())]
        siblings = [{"rfilename": file["path"]} for file in listed]
        answers = {
            "tree": listed,
            "refs": {"branches": [], "converts": [], "tags": tags},
            "revision": {"id": space, "sha": COMMIT, "siblings": siblings},
        }
        return answers.get(words[5] if len(words) > 5 else "revision")


def blob_id(content):
    """Return the git blob id of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def handler_of(hub):
    """Return a request handler that records its requests in `hub`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            """Suppress log messages."""

        def answer(self, status, body=b"", **headers):
            """Send one response."""
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            told = {"Content-Type": "application/json", "Content-Length": str(len(content)), "X-Repo-Commit": COMMIT}
            for key, value in (told | {key.replace("_", "-"): value for key, value in headers.items()}).items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def do_GET(self):
            """Send files and metadata of Spaces."""
            hub.log.append((self.command, self.path))
            content = hub.file(self.path)
            if content is not None:
                self.answer(200, content, ETag=f'"{blob_id(content)}"')
            elif (told := hub.about(self.path)) is not None:
                self.answer(200, told)
            else:
                self.answer(404, X_Error_Code="EntryNotFound")

        do_HEAD = do_GET

        def do_POST(self):
            """Validate cards, and accept commits."""
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            hub.log.append((self.command, self.path))
            if self.path == "/api/validate-yaml":
                self.answer(200, {"errors": [], "warnings": []})
            elif self.path == "/api/repos/create":
                hub.told[self.path] = asked = json.loads(body)
                space = f"{asked['organization']}/{asked['name']}"
                hub.spaces.setdefault(space, {".gitattributes": b"* text=auto"})
                self.answer(200, {"url": f"{hub.url}/spaces/{space}"})
            elif self.path.startswith("/api/spaces/") and "/tag/" in self.path:
                hub.told[self.path] = asked = json.loads(body)
                hub.tags.setdefault("/".join(self.path.split("/")[3:5]), []).append(asked["tag"])
                self.answer(200, {})
            elif "/preupload/" in self.path:
                files = json.loads(body)["files"]
                there = hub.spaces.get("/".join(self.path.split("/")[3:5]), {})
                told = [
                    {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                    | ({"oid": blob_id(there[file["path"]])} if file["path"] in there else {})
                    for file in files
                ]
                self.answer(200, {"files": told})
            elif "/commit/" in self.path and hub.status == 200 and not hub.refused & set(self.path.split("/")):
                repository = "/".join(self.path.split("/")[2:5])
                space = {} if "create_pr" in self.path else hub.spaces.get(repository.partition("/")[2], {})
                for line in map(json.loads, body.splitlines()):
                    value = line["value"]
                    if line["key"] == "file":
                        hub.sent[repository, value["path"]] = base64.b64decode(value["content"])
                        space[value["path"]] = hub.sent[repository, value["path"]]
                    elif line["key"] == "deletedFile":
                        hub.deleted.append((repository, value["path"]))
                        space.pop(value["path"], None)
                    elif line["key"] == "header":
                        hub.told[self.path] = value
                address = f"{hub.url}/{repository}"
                self.answer(
                    200,
                    {
                        "success": True,
                        "commitUrl": f"{address}/commit/{COMMIT}",
                        "commitOid": COMMIT,
                        "pullRequestUrl": f"{address}/discussions/7",
                    },
                )
            else:
                refused = 403 if hub.refused & set(self.path.split("/")) else hub.status
                self.answer(refused if "/commit/" in self.path else 404, {"error": "no"})

    return Handler
