"""Who asks, and whose turn it is: the queue serves first who had the least of the models' time."""

import ipaddress
import math
import random
import time
from collections.abc import Mapping
from functools import partial
from threading import Lock
from typing import Any

import gradio as gr

VISITOR, SIZE = "vlgauge.visitor", "vlgauge.bytes"  # in the scope of a request
MODEL_QUEUE = "model"
MOST_WAITING, MOST_WAITING_OF_ALL = 20, 200  # calls
_HALF_LIFE = 30.0  # seconds after which half of what was used is forgotten
_A_CALL = 1.0  # seconds that one is counted as until it is known how long it took
# After which Gradio looks again whether somebody waits, and whether there is progress: by default 0.001 and 0.01, which
# keep 7 % of a processor busy for ever.
_LOOK_SECONDS, _PROGRESS_SECONDS = 0.02, 0.1


def visitor_of(scope: Mapping[str, Any], *, is_behind_proxy: bool) -> str:
    """The address of who asks.

    Args:
        scope: Of the request.
        is_behind_proxy: Whether a proxy of a private address is believed when it says for whom it asks; of the
            addresses that it names, the last public one is what a visitor cannot make up.
    """
    asked = str((scope.get("client") or ("unknown", 0))[0])
    if not is_behind_proxy or _is_public(asked):
        return asked
    told = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    named = [one.strip() for one in ",".join(told).split(",")]
    return next((one for one in reversed(named) if _is_public(one)), asked)


def _is_public(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_global
    except ValueError:
        return False


def waiting(page: gr.Blocks, visitor: str | None = None) -> tuple[int, int]:
    """How many calls are in the queue or at work, those of one visitor or all, and the bytes that they hold."""
    events = list(page._queue.event_ids_to_events.values())
    scopes = [event.request.scope for event in events if visitor in (None, visitor_of_event(event))]
    return len(scopes), sum(scope.get(SIZE, 0) for scope in scopes)


def visitor_of_event(event: Any) -> str:
    """Whose event of the queue it is."""
    return str(event.request.scope.get(VISITOR, ""))


class TimeUsed:
    """Seconds of the models that visitors had, half of them forgotten every half minute."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._used: dict[str, tuple[float, float]] = {}  # by visitor: seconds, and when that was

    def add(self, visitor: str, seconds: float) -> None:
        """Count seconds more, and forget who had next to none."""
        with self._lock:
            now = time.monotonic()
            self._used[visitor] = (self._left(visitor, now) + seconds, now)
            for one in [one for one in self._used if self._left(one, now) < 0.01]:
                del self._used[one]

    def of(self, visitor: str) -> float:
        """What a visitor had."""
        with self._lock:
            return self._left(visitor, time.monotonic())

    def _left(self, visitor: str, now: float) -> float:
        seconds, then = self._used.get(visitor, (0.0, now))
        return seconds * math.exp2((then - now) / _HALF_LIFE)


class FairQueue(list[Any]):
    """Events that wait, in turns: who had less comes first, and nobody's second call before another's first.

    Args:
        used: What visitors had.
    """

    def __init__(self, used: TimeUsed) -> None:
        super().__init__()
        self._used = used
        self._due: dict[int, float] = {}

    def append(self, event: Any) -> None:
        """Let an event wait where its turn is."""
        self._due = {id(one): self._due[id(one)] for one in self}
        visitor = visitor_of_event(event)
        before = sum(visitor_of_event(one) == visitor for one in self)
        due = self._due[id(event)] = self._used.of(visitor) + _A_CALL * before
        place = next((place for place, one in enumerate(self) if self._due[id(one)] > due), len(self))
        self.insert(place, event)


def take_turns(page: gr.Blocks, used: TimeUsed) -> None:
    """Let the visitors of a page take turns at its models, each with one call at work.

    Gradio 6.31 serves events in the order in which they come, so that one visitor can fill the queue, and what works.
    """
    queue: Any = page._queue
    for function in page.fns.values():
        queue.create_event_queue_for_fn(function)
    for events in queue.event_queue_per_concurrency_id.values():
        events.queue = FairQueue(used)
    queue.get_events = partial(_next_events, queue)
    queue.sleep_when_free, queue.progress_update_sleep_when_free = _LOOK_SECONDS, _PROGRESS_SECONDS


def _next_events(queue: Any) -> tuple[list[Any], bool, str] | None:
    """The event that begins now, as `gradio.queueing.Queue.get_events` gives it."""
    names = list(queue.event_queue_per_concurrency_id)
    random.shuffle(names)
    at_work = [event for job in queue.active_jobs if job is not None for event in job]
    for name in names:
        events = queue.event_queue_per_concurrency_id[name]
        if events.concurrency_limit is not None and events.current_concurrency >= events.concurrency_limit:
            continue
        # One visitor may have several pages and downloads, and one model.
        busy = {visitor_of_event(one) for one in at_work if name == MODEL_QUEUE and one.concurrency_id == name}
        event = next((one for one in events.queue if visitor_of_event(one) not in busy), None)
        if event is not None:
            events.queue.remove(event)
            return [event], False, name
    return None
