"""Conversion of user errors to one-sentence messages, and of bugs to a number whose traceback is logged."""

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

from vlgauge.core.errors import UsageError, describe, is_of_user
from vlgauge.core.files import FileLimitError
from vlgauge.inputs.sandbox import use_sandbox

LONGEST_SENTENCE = 1000
# An error message disappears after the time to notice and read it, so that it does not remain next to a later result.
_SECONDS, _LETTERS_PER_SECOND = 8.0, 12.0

P = ParamSpec("P")
R = TypeVar("R")

_LOG = logging.getLogger("vlgauge_workbench")
# Tokens of the Hub, and tokens in a header or a URL.
_TOKEN = re.compile(r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}|(?<=Bearer )\S+|(?<=[?&]token=)[^&\s]+")


@contextmanager
def in_words_of(labels: Mapping[str, str]) -> Iterator[None]:
    """Decode user input in worker processes and show errors as messages of the page. Also usable as a decorator.

    The traceback of a bug is logged under a number that the page shows.

    Args:
        labels: Labels of the arguments on the page, by argument name. The page has a single example, so its index is
            left out.

    Raises:
        gradio.Error: Instead of any other exception.
    """
    try:
        with use_sandbox():
            yield
    except gr.Error:  # converted already
        raise
    except Exception as error:
        if is_of_user(error):
            text = without_tokens(without_folders(" ".join(_in_words_of(error, labels).split())))
            sentence = text[:LONGEST_SENTENCE]
        else:
            number = secrets.token_hex(4)
            lines = traceback.format_exception(error)
            _LOG.error("internal error %s\n%s", number, without_tokens("".join(lines)))
            sentence = f"Internal error {number}; its details are in the log of the server."
        seconds = _SECONDS + len(sentence) / _LETTERS_PER_SECOND
        raise gr.Error(sentence, title="Not scored", print_exception=False, duration=seconds) from error


def in_one_sentence(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that its input errors become messages of the page."""
    return in_words_of({})(function)


def without_tokens(text: str, *known: str | None) -> str:
    """Return the text with all tokens replaced."""
    for token in filter(None, known):
        text = text.replace(token, "(a token)")
    return _TOKEN.sub("(a token)", text)


@contextmanager
def hidden(token: object) -> Iterator[None]:
    """Remove a token from the messages of user errors.

    Raises:
        UsageError: If the token has characters that no token has.
    """
    if isinstance(token, str) and token and not re.fullmatch(r"[!-~]+", token):
        raise UsageError.about("token", "must be one word of letters, digits and symbols")
    try:
        yield
    except UsageError as error:
        if isinstance(token, str) and token and token in str(error):
            raise error.with_message(without_tokens(str(error), token)) from None
        raise


def without_folders(text: str) -> str:
    """Return the text without the folders of uploaded and temporary files on this machine."""
    for folder in (get_upload_folder(), tempfile.gettempdir()):
        text = re.sub(rf"{re.escape(folder)}(?:/[\w.+-]+)*/", "", text)
    return text


def _in_words_of(error: BaseException, labels: Mapping[str, str]) -> str:
    if isinstance(error, FileLimitError) and error.excess:
        return error.excess
    if not isinstance(error, UsageError) or error.argument is None:
        return describe(error)
    name, *positions = error.argument.replace("]", "").split("[")
    position = f" {int(positions[1]) + 1}" if len(positions) > 1 else ""
    return error.in_words(f"`{labels[name]}`{position}") if name in labels else describe(error)
