"""What a user can mend, told in one sentence."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import gradio as gr
from gradio.utils import get_upload_folder

# Anything else is a fault of ours and keeps its traceback.
USER_ERRORS = (ValueError, TypeError, LookupError, ImportError, OSError, OverflowError, MemoryError, RecursionError)
LONGEST_SENTENCE = 1000

P = ParamSpec("P")
R = TypeVar("R")

_ARGUMENT = re.compile(r"`(\w+)(?:\[0\](?:\[(\d+)\])?)?`")


@contextmanager
def in_words_of(labels: Mapping[str, str]) -> Iterator[None]:
    """Turn errors of input into a message of the page; also a decorator.

    Args:
        labels: What the page calls arguments, by their names; the first and only example has no number there.
    """
    try:
        yield
    except gr.Error:  # told already
        raise
    except USER_ERRORS as error:
        text = without_folders(" ".join(_labelled(str(error), labels).split()))
        told = text[:LONGEST_SENTENCE] or type(error).__name__
        raise gr.Error(told, title="Not scored", print_exception=False, duration=None) from error


def in_one_sentence(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors of input become a message of the page."""
    return in_words_of({})(function)


def without_folders(text: str) -> str:
    """A text in which files of visitors stand without the folders of this machine that hold them."""
    for folder in (get_upload_folder(), tempfile.gettempdir()):
        text = re.sub(rf"{re.escape(folder)}(?:/[\w.+-]+)*/", "", text)
    return text


def _labelled(text: str, labels: Mapping[str, str]) -> str:
    def label(found: re.Match[str]) -> str:
        name, number = found.groups()
        if name not in labels:
            return found[0]
        return f"`{labels[name]}`" + (f" {int(number) + 1}" if number else "")

    return _ARGUMENT.sub(label, text)
