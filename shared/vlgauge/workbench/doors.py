"""The wall before the server: what comes in, from where, how much of it, and which files it names."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
from anyio.to_thread import run_sync
from starlette.datastructures import Headers, QueryParams
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from vlgauge.workbench.errors import log_refusal
from vlgauge.workbench.hosting import Hosting
from vlgauge.workbench.sent_calls import Refused, check_call
from vlgauge.workbench.sent_files import own_hosts
from vlgauge.workbench.sent_uploads import bounded_upload
from vlgauge.workbench.stopping import stop
from vlgauge.workbench.visitors import MOST_WAITING, SIZE, VISITOR, visitor_of, waiting

# What the page, what it shows, and callers of the API ask for.
_OPEN = {
    "GET": re.compile(
        r"/|/config/?|/(?:assets|static|svelte)/.+|/(?:favicon\.ico|manifest\.json|robots\.txt)|(?:/gradio_api)?/theme\.css"
        r"|/gradio_api/(?:info/?|app_id/?|startup-events|upload_progress|queue/data|heartbeat/[^/]+"
        r"|call/(?:v2/)?[^/]+/[^/]+|file=(?!\w+:).+)"
    ),
    "HEAD": re.compile(r"/|/gradio_api/file=(?!\w+:).+"),
    "POST": re.compile(r"/gradio_api/(?:upload|queue/join|run/predict|call/(?:v2/)?[^/]+|cancel|reset)/?"),
}
_SIGN_IN = re.compile(r"/login/huggingface|/login/callback|/logout")
_UPLOAD = re.compile(r"/gradio_api/upload/?")
_CANCEL = re.compile(r"/gradio_api/cancel/?")
_NO_WORK = re.compile(r"/gradio_api/(?:cancel|reset)/?")
_EVENTS = re.compile(r"/gradio_api/(?:queue/data|call/(?:v2/)?[^/]+/(?P<event>[^/]+))")
_SAME_SITE = ("same-origin", "none")

MOST_REQUESTS = 256  # open ones of a visitor: a page has two that stay open, and a school may share an address
MOST_SECONDS = 60.0  # for the body of a call to arrive
_NO_SESSION = {"msg": "unexpected_error", "message": "404: Not Found", "success": False, "session_not_found": True}


class Doors:
    """Middleware that lets through what the workbench needs, and answers the rest with one sentence."""

    def __init__(self, app: ASGIApp, page: gr.Blocks, hosting: Hosting) -> None:
        self._app = app
        self._page = page
        self._hosting = hosting
        self._open: Counter[str] = Counter()  # requests by visitor
        self._arriving: Counter[str] = Counter()  # bytes of calls that are not in the queue yet, by visitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await WebSocketClose()(scope, receive, send)
        else:
            visitor = scope[VISITOR] = visitor_of(scope, is_behind_proxy=self._hosting.is_behind_proxy)
            try:
                with self._counted(visitor):
                    await self._let_in(scope, receive, send)
            except Refused as why:
                if why.status != 404:
                    log_refusal(str(why))
                # What is still on its way is not waited for.
                await JSONResponse({"detail": str(why)}, why.status, {"Connection": "close"})(scope, receive, send)

    @contextmanager
    def _counted(self, visitor: str) -> Iterator[None]:
        if self._open[visitor] >= MOST_REQUESTS:
            raise Refused(f"a visitor must have at most {MOST_REQUESTS} requests at once; wait for one of them", 429)
        self._open[visitor] += 1
        try:
            yield
        finally:
            self._open[visitor] -= 1
            if not self._open[visitor]:
                del self._open[visitor]

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        is_sign_in = method == "GET" and self._page.expects_oauth and _SIGN_IN.fullmatch(path)
        if not (method in _OPEN and _OPEN[method].fullmatch(path)) and not is_sign_in:
            raise Refused("there is nothing here", 404)
        if method != "POST":
            await (self._told if _EVENTS.fullmatch(path) else self._app)(scope, receive, send)
            return
        if _is_from_elsewhere(scope):
            raise Refused(
                "a call must come from the page of the workbench or from a program, got one of another page", 403
            )
        if _UPLOAD.fullmatch(path):
            await self._app(scope, bounded_upload(scope, receive, self._hosting.upload_bytes), send)
            return
        await self._called(scope, receive, send)

    async def _told(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell what becomes of calls; who goes away before they have ended stops them."""
        queue = self._page._queue
        event = _EVENTS.fullmatch(scope["path"])["event"]  # type: ignore[index]  # the address is one
        session = QueryParams(scope["query_string"]).get("session_hash", "") if event is None else None
        if event is not None and not _is_known(event, queue):
            raise Refused("there is no such call", 404)
        if session is not None and session not in queue.pending_messages_per_session:
            # Gradio 6.31 says the same, and writes a traceback.
            told = PlainTextResponse(f"data: {json.dumps(_NO_SESSION)}\n\n", media_type="text/event-stream")
            await told(scope, receive, send)
            return
        watch = asyncio.create_task(_when_gone(receive, lambda: stop(session=session, event=event)))
        try:
            await self._app(scope, receive, send)
        finally:
            watch.cancel()

    async def _called(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a call through whose whole body is here and was looked at."""
        visitor, most = scope[VISITOR], self._hosting.call_bytes
        n_waiting, n_bytes = waiting(self._page, visitor)
        if n_waiting >= MOST_WAITING and not _NO_WORK.fullmatch(scope["path"]):
            raise Refused(f"a visitor must have at most {MOST_WAITING} calls at once; wait for one of them", 429)
        body, size = [], 0
        try:
            async with asyncio.timeout(MOST_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    body.append(message.get("body", b""))
                    size += len(body[-1])
                    self._arriving[visitor] += len(body[-1])
                    if size > most:
                        raise Refused(f"a call must have at most {most / 1e6:g} MB, got more", 413)
                    if self._arriving[visitor] + n_bytes > 2 * most or self._arriving.total() > 8 * most:
                        raise Refused("the calls that wait hold too many bytes; wait for one of them", 429)
                    if not message.get("more_body"):
                        break
            content = b"".join(body)
            body.clear()
            await run_sync(check_call, self._page, scope["path"], content, own_hosts(scope))
            scope[SIZE] = size
            await self._app(scope, _replayed(content, receive), send)
            if _CANCEL.fullmatch(scope["path"]):
                call = json.loads(content)
                stop(event=str(call.get("event_id")))
        except TimeoutError:
            raise Refused(f"a call must arrive within {MOST_SECONDS:g} s", 408) from None
        finally:
            self._arriving[visitor] -= size
            self._arriving += Counter()  # without those that have none


def _is_from_elsewhere(scope: Scope) -> bool:
    """Whether a browser sends this for the page of another server.

    Browsers say so in Sec-Fetch-Site, or else name the server in Origin; programs send neither.
    """
    headers = Headers(scope=scope)
    if (site := headers.get("sec-fetch-site")) is not None:
        return site not in _SAME_SITE
    origin = headers.get("origin")
    if origin is None:
        return False
    named = [headers.get("host"), *headers.get("x-forwarded-host", "").split(",")]
    return origin.partition("://")[2] not in [one.strip() for one in named if one]


def _is_known(event: str, queue: Any) -> bool:
    """Whether an event waits, is at work, or has an answer that nobody took."""
    return event in queue.event_ids_to_events or any(event in ids for ids in queue.pending_event_ids_session.values())


async def _when_gone(receive: Receive, told: Callable[[], None]) -> None:
    """Tell when the visitor has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    told()


def _replayed(content: bytes, receive: Receive) -> Receive:
    """A body that was read, and then what comes after it."""
    left: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def received() -> Message:
        return left.pop() if left else await receive()

    return received
