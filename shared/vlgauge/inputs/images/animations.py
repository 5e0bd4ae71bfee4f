"""Collected warnings about animated images, of which only the first frame is scored."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from vlgauge.core.context_values import context_value
from vlgauge.core.validation import warn

# Threads that decode for a call run in copies of its context and share this set.
_seen: ContextVar[set[str] | None] = ContextVar("vlgauge_animations", default=None)


def note_animation(place: str) -> None:
    """Record that an image is animated, for the warning at the end of the call, or warn at once outside of a call."""
    places = _seen.get()
    if places is None:
        _warn({place})
    else:
        places.add(place)


@contextmanager
def one_warning_for_animations() -> Iterator[None]:
    """Collect the animated images that are decoded inside the context, and issue one warning at the end.

    There is no warning if the context raises an exception.
    """
    if _seen.get() is not None:
        yield
        return
    places: set[str] = set()
    with context_value(_seen, places):
        yield
    if places:
        _warn(places)


def _warn(places: set[str]) -> None:
    # Sort by length first, so that "images[3]" comes before "images[10]".
    first = min(places, key=lambda place: (len(place), place))
    others = len(places) - 1
    if not others:
        message = f"`{first}` has more than one frame; only the first is scored"
    else:
        images = "image has" if others == 1 else "images have"
        message = f"`{first}` and {others} other {images} more than one frame; only the first of each is scored"
    warn(message)
