"""Calls whose file objects are not those of uploads are refused before Gradio reads them.

Gradio 6.31 fetches a file object whose ``path`` is an address, takes any path of the server for a picture of a gallery
that does not say that it is a file, and writes a traceback to the log for one that it cannot read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gradio as gr
from anyio.to_thread import run_sync
from gradio.data_classes import FileData, GradioModel, GradioRootModel
from gradio.utils import get_upload_folder
from pydantic import ValidationError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vlgauge.files import is_address

_MARK = "gradio.FileData"
_UPLOAD = "/upload"


class RefuseForgedFiles:
    """Middleware that answers 400 with one sentence, and logs nothing.

    Args:
        app: What is served.
        page: The workbench, whose components say which values are files.
    """

    def __init__(self, app: ASGIApp, page: gr.Blocks) -> None:
        self._app = app
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, unless it is a call with such a file."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"].endswith(_UPLOAD):
            await self._app(scope, receive, send)
            return
        messages: list[Message] = []
        while not messages or (messages[-1]["type"] == "http.request" and messages[-1].get("more_body")):
            messages.append(await receive())
        body = b"".join(message.get("body", b"") for message in messages)
        why = await run_sync(self._fault, body, scope["path"], _own_hosts(scope))
        if why:
            answer = JSONResponse({"detail": f"a file must be one that was uploaded here, got {why}"}, 400)
            await answer(scope, receive, send)
            return
        left = iter(messages)

        async def replayed() -> Message:
            return next(left, None) or await receive()

        await self._app(scope, replayed, send)

    def _fault(self, body: bytes, path: str, own_hosts: set[str]) -> str:
        """What is wrong with the files of a call; empty for nothing."""
        try:
            call = json.loads(body)
        except RecursionError:
            return "a value with too many levels"
        except ValueError:
            return ""  # no call; Gradio says so
        return _files_fault(call, own_hosts) or self._components_fault(call, path, own_hosts)

    def _components_fault(self, call: Any, path: str, own_hosts: set[str]) -> str:
        """The same of the values as their components read them, also where they do not say that they are files."""
        data = call.get("data") if isinstance(call, dict) else None
        called = path.rstrip("/").rpartition("/")[2]
        asked = call.get("fn_index") if isinstance(call, dict) else None
        for number, function in self._page.fns.items():
            if isinstance(data, list) and (asked == number or (asked is None and function.api_name == called)):
                for component, value in zip(function.inputs, data, strict=False):
                    model = getattr(component, "data_model", None)
                    if value is None or model is None or not issubclass(model, (GradioModel, GradioRootModel)):
                        continue
                    try:
                        read = model.model_validate(value, context={"validate_meta": True}).model_dump()
                    except (ValidationError, TypeError, AttributeError):
                        return f"something else for {getattr(component, 'label', None) or 'a field'}"
                    if why := _files_fault(read, own_hosts):
                        return why
        return ""


def _files_fault(value: Any, own_hosts: set[str]) -> str:
    """What is wrong with the first such file in a value; empty for nothing."""
    return next(filter(None, (_file_fault(one, own_hosts) for one in _objects(value) if _is_file(one))), "")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a value, at any depth."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            yield one
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()


def _is_file(one: dict[str, Any]) -> bool:
    meta = one.get("meta")
    return isinstance(meta, dict) and meta.get("_type") == _MARK


def _file_fault(one: dict[str, Any], own_hosts: set[str]) -> str:
    """What is wrong with a file object; empty for nothing."""
    try:
        file = FileData.model_validate(one)
    except ValidationError as error:
        return f"a file object whose {'.'.join(map(str, error.errors()[0]['loc'])) or 'form'} is wrong"
    if is_address(file.path):
        return "an address"
    try:
        host = urlsplit(file.url or "").hostname
        is_upload = Path(file.path).resolve().is_relative_to(Path(get_upload_folder()).resolve())
        is_there = is_upload and Path(file.path).is_file()
    except (ValueError, OSError):
        return "a path or an address that can be none"
    if host is not None and host not in own_hosts:
        return "the address of another server"
    return "" if is_there else "another path"


def _own_hosts(scope: MutableMapping[str, Any]) -> set[str]:
    """Names by which this server was asked, a proxy before it included."""
    named = [value.decode("latin-1") for name, value in scope["headers"] if name in (b"host", b"x-forwarded-host")]
    hosts = set()
    for one in ",".join(named).split(","):
        try:
            hosts.add(urlsplit(f"//{one.strip()}").hostname or "")
        except ValueError:
            continue
    return hosts
