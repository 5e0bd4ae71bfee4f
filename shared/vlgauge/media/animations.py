"""One warning per call for all images that move, of which only the first frame is scored."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from vlgauge.settings import warn

# Threads that decode for a call run in copies of its context, which share this set.
_seen: ContextVar[set[str] | None] = ContextVar("vlgauge_animations", default=None)


def note_animation(place: str) -> None:
    """Say that an image has several frames: at the end of the call around this, or at once if there is none."""
    places = _seen.get()
    if places is None:
        _warn({place})
    else:
        places.add(place)


@contextmanager
def one_warning_for_animations() -> Iterator[None]:
    """Count the images with several frames that are decoded in here, and warn of them once, unless it fails."""
    if _seen.get() is not None:
        yield
        return
    places: set[str] = set()
    token = _seen.set(places)
    try:
        yield
    finally:
        _seen.reset(token)
    if places:
        _warn(places)


def _warn(places: set[str]) -> None:
    # In the order of the rows: "images[3]" before "images[10]".
    first = min(places, key=lambda place: (len(place), place))
    others = len(places) - 1
    if not others:
        message = f"`{first}` has more than one frame; only the first is scored"
    else:
        images = "image has" if others == 1 else "images have"
        message = f"`{first}` and {others} other {images} more than one frame; only the first of each is scored"
    warn(message)
