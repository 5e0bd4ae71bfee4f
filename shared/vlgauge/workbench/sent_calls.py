"""Calls that name no function of the page, too many values, or files that were not uploaded are refused."""

import json
import re
from collections.abc import Collection
from typing import Any

import gradio as gr

from vlgauge.workbench.sent_files import fault_of_files

# Each value takes many times its bytes once it is read.
MOST_VALUES = 100_000
_EVENT = re.compile(r".*/(?:queue/join|run/predict)/?")
_NAMED = re.compile(r".*/call/(?P<named>v2/)?(?P<name>[^/]+)/?")


class Refused(Exception):
    """What a visitor sent is not taken."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


def check_call(page: gr.Blocks, path: str, content: bytes, hosts: Collection[str]) -> None:
    """Refuse a call that the page never makes.

    Raises:
        Refused: If the body is no call of a function that may be called so, or names a file that is none of this
            server's uploads.
    """
    if sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise Refused(f"a call must have at most {MOST_VALUES:,} values, got more", 413)
    try:
        call = json.loads(content)
    except RecursionError:
        raise Refused("a call must be JSON of few levels, got a value with too many levels") from None
    except ValueError:
        raise Refused("a call must be JSON, got something else") from None
    if not isinstance(call, dict):
        raise Refused("a call must be an object of JSON, got another value")
    function, values = _called(page, path, call)
    if why := fault_of_files(call, function, values, hosts):
        raise Refused(f"a file must be one that was uploaded here, got {why}")


def _called(page: gr.Blocks, path: str, call: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Which function is called with which values; none where the address calls none."""
    if _EVENT.fullmatch(path):
        number, values = call.get("fn_index"), call.get("data")
        function = page.fns.get(number) if isinstance(number, int) and not isinstance(number, bool) else None
        if function is None:
            raise Refused("`fn_index` must be the number of an event of the page, got another value")
        if path.rstrip("/").endswith("/run/predict") and function.queue:
            raise Refused("this event must be called through the queue, got a direct call", 404)
        if not isinstance(values, list) or len(values) != len(function.inputs):
            raise Refused(f"`data` must be a list of {len(function.inputs)} values for this event, got something else")
        session = call.get("session_hash")
        if not isinstance(session, str) or not re.fullmatch(r"[\w-]{1,64}", session):
            raise Refused("`session_hash` must be a short word, got something else")
        return function, values
    if found := _NAMED.fullmatch(path):
        public = (one for one in page.fns.values() if one.api_visibility == "public" and one.queue)
        function = next((one for one in public if one.api_name == found["name"]), None)
        if function is None:
            raise Refused("there is no call of this name", 404)
        values = call.get("data")
        if found["named"]:
            return function, []
        if not isinstance(values, list) or len(values) != len(function.inputs):
            raise Refused(f"`data` must be a list of {len(function.inputs)} values for this call, got something else")
        return function, values
    return None, []
