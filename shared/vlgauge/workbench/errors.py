"""Show errors of users as one sentence, and bugs as a number whose traceback is logged."""

import logging
import re
import secrets
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import gradio as gr
from gradio.utils import get_upload_folder

from vlgauge.errors import UsageError, describe, is_of_user
from vlgauge.sandbox import reading

LONGEST_SENTENCE = 1000
# A notice goes again, or it stands beside the answer to what was mended: after the time to notice it and to read it.
_SECONDS, _LETTERS_PER_SECOND = 8.0, 12.0

P = ParamSpec("P")
R = TypeVar("R")

_LOG = logging.getLogger("vlgauge.workbench")
# What the Hub gives out, and what stands in a header or an address.
_TOKEN = re.compile(r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}|(?<=Bearer )\S+|(?<=[?&]token=)[^&\s]+")


@contextmanager
def in_words_of(labels: Mapping[str, str]) -> Iterator[None]:
    """Decode what a visitor gave in worker processes, and show errors as messages of the page; also a decorator.

    The traceback of a bug is logged under a number, and the page shows the number.

    Args:
        labels: Labels of arguments on the page, by their names; the first and only example has no number there.

    Raises:
        gradio.Error: Instead of every other exception.
    """
    try:
        with reading("boxed"):
            yield
    except gr.Error:  # told already
        raise
    except Exception as error:
        if is_of_user(error):
            text = without_tokens(without_folders(" ".join(_in_words_of(error, labels).split())))
            told = text[:LONGEST_SENTENCE]
        else:
            number = secrets.token_hex(4)
            lines = traceback.format_exception(error)
            _LOG.error("internal error %s\n%s", number, without_tokens("".join(lines)))
            told = f"Internal error {number}; its details are in the log of the server."
        seconds = _SECONDS + len(told) / _LETTERS_PER_SECOND
        raise gr.Error(told, title="Not scored", print_exception=False, duration=seconds) from error


def in_one_sentence(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors of input become a message of the page."""
    return in_words_of({})(function)


def without_tokens(text: str, *known: str | None) -> str:
    """A text in which no token stands."""
    for token in filter(None, known):
        text = text.replace(token, "(a token)")
    return _TOKEN.sub("(a token)", text)


@contextmanager
def hidden(token: object) -> Iterator[None]:
    """Let no error repeat a token, of whatever form."""
    if isinstance(token, str) and token and not re.fullmatch(r"[!-~]+", token):
        raise UsageError.about("token", "must be one word of letters, digits and signs, got something else")
    try:
        yield
    except UsageError as error:
        if isinstance(token, str) and token and token in str(error):
            raise error.with_message(without_tokens(str(error), token)) from None
        raise


def without_folders(text: str) -> str:
    """A text in which files of visitors stand without the folders of this machine that hold them."""
    for folder in (get_upload_folder(), tempfile.gettempdir()):
        text = re.sub(rf"{re.escape(folder)}(?:/[\w.+-]+)*/", "", text)
    return text


def _in_words_of(error: BaseException, labels: Mapping[str, str]) -> str:
    if not isinstance(error, UsageError) or error.argument is None:
        return describe(error)
    name, *positions = error.argument.replace("]", "").split("[")
    position = f" {int(positions[1]) + 1}" if len(positions) > 1 else ""
    return error.in_words(f"`{labels[name]}`{position}") if name in labels else describe(error)
