"""What a user can mend, told in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import gradio as gr

# Anything else is a fault of ours and keeps its traceback.
USER_ERRORS = (ValueError, TypeError, LookupError, ImportError, OSError, OverflowError, MemoryError, RecursionError)
LONGEST_SENTENCE = 1000

P = ParamSpec("P")
R = TypeVar("R")


def in_one_sentence(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors of input become a message of the page."""

    @wraps(function)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except USER_ERRORS as error:
            text = " ".join(str(error).split())[:LONGEST_SENTENCE] or type(error).__name__
            raise gr.Error(text, title="Not scored", print_exception=False, duration=None) from error

    return told
