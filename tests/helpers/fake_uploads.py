"""A Hub on this machine that takes pull requests."""

import base64
import json
from http.server import BaseHTTPRequestHandler

from local_hub import COMMIT, serve


class Uploads:
    """What was asked and sent, and files that are there already.

    Attributes:
        log: Method and path of every request.
        sent: Files of every commit, by repository and path.
        files: Content by path as it is asked for, such as ``/org/m/resolve/main/README.md``.
        status: What a commit is answered with.
    """

    def __init__(self):
        self.log, self.sent, self.files, self.status = [], {}, {}, 200
        self.server, self.url = serve(handler_of(self))


def handler_of(hub):
    """A handler that tells the hub what it is asked."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            """Say nothing."""

        def answer(self, status, body=b"", **headers):
            """One answer."""
            content = json.dumps(body).encode() if isinstance(body, dict) else body
            self.send_response(status)
            told = {"Content-Type": "application/json", "Content-Length": str(len(content)), "X-Repo-Commit": COMMIT}
            for key, value in (told | {key.replace("_", "-"): value for key, value in headers.items()}).items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def do_GET(self):
            """Files, and nothing else."""
            hub.log.append((self.command, self.path))
            content = hub.files.get(self.path)
            if content is None:
                self.answer(404, X_Error_Code="EntryNotFound")
            else:
                self.answer(200, content, ETag='"0123456789abcdef"')

        do_HEAD = do_GET

        def do_POST(self):
            """Checks of cards, and commits."""
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            hub.log.append((self.command, self.path))
            if self.path == "/api/validate-yaml":
                self.answer(200, {"errors": [], "warnings": []})
            elif "/preupload/" in self.path:
                files = json.loads(body)["files"]
                told = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
                self.answer(200, {"files": told})
            elif "/commit/" in self.path and hub.status == 200:
                repository = "/".join(self.path.split("/")[2:5])
                for line in map(json.loads, body.splitlines()):
                    if line["key"] == "file":
                        hub.sent[repository, line["value"]["path"]] = base64.b64decode(line["value"]["content"])
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
                self.answer(hub.status if "/commit/" in self.path else 404, {"error": "no"})

    return Handler
