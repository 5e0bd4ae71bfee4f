"""Errors that a user can fix; any other exception is a bug and keeps its traceback."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self


class UsageError(ValueError):
    """Input, a setting or an environment that cannot be used; the message says how to fix it.

    The command line and the workbench print the message alone. Instances survive pickling.

    Attributes:
        argument: Name of the argument that the error is about, None if there is no single one. An item of a column has
            its position in the name, such as ``"images[3][2]"``.
        problem: What is wrong with the argument, such as ``"must be positive, got -1"``. None without an argument.
        remedy: What to do instead, None if the problem includes it or nobody knows.
    """

    argument: str | None = None
    problem: str | None = None
    remedy: str | None = None

    @classmethod
    def about(cls, argument: str, problem: str, remedy: str | None = None) -> Self:
        """Make the error about one argument.

        Args:
            argument: Name of the argument, as it is in the signature of the function, or of an item of it.
            problem: What is wrong with it, such as ``"must be positive, got -1"``.
            remedy: What to do instead; the last part of the message.

        Returns:
            The error, whose message is "`argument` problem; remedy".
        """
        error = cls(_sentence(f"`{argument}`", problem, remedy))
        error.argument, error.problem, error.remedy = argument, problem, remedy
        return error

    def in_words(self, name: str) -> str:
        """Return the message with the argument called `name`, if the error is about one and nothing was added to it."""
        return str(self) if self.problem is None else _sentence(name, self.problem, self.remedy)

    def with_message(self, message: str) -> Self:
        """Return an error of the same class, argument and remedy with another message."""
        error = type(self)(message)
        error.__dict__.update(self.__dict__, problem=None)
        return error


def _sentence(name: str, problem: str, remedy: str | None) -> str:
    return f"{name} {problem}" + (f"; {remedy}" if remedy else "")


class UsageTypeError(UsageError, TypeError):
    """An argument has the wrong type, or is unknown."""


class UsageIndexError(UsageError, IndexError):
    """An index is out of range."""


class MissingFileError(UsageError, FileNotFoundError):
    """A file or folder that the user named does not exist."""


class MissingExtraError(UsageError, ImportError):
    """A package is not installed, or its version does not fit."""


class WeightsNotFoundError(MissingFileError):
    """The files of a model are neither on this machine nor to be downloaded."""


class NetworkError(UsageError, OSError):
    """Something cannot be had from the network; the message says why, as the clause of a sentence.

    Attributes:
        status: HTTP status of the answer, None if there was no answer.
    """

    status: int | None = None

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def is_of_user(error: BaseException) -> bool:
    """Check whether the user can fix an error: a usage error, a file, a full disk or too little memory."""
    if isinstance(error, OSError) and not isinstance(error, UsageError):
        return error.filename is not None or error.errno == errno.ENOSPC
    return isinstance(error, (UsageError, MemoryError))


def is_of_item(error: BaseException) -> bool:
    """Check whether a usage error is of one item, such as a row or a file.

    A package, weights or an answer of the network that is missing is missing for every item: to leave out the item, or
    to make its score undefined, would hide that.
    """
    everywhere = (MissingExtraError, WeightsNotFoundError, NetworkError)
    return isinstance(error, UsageError) and not isinstance(error, everywhere)


def describe(error: BaseException) -> str:
    """Return the text to show to a user for an error of which `is_of_user` holds."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the disk is full, or whatever else standard output leads to"
    if isinstance(error, MemoryError):
        return str(error) or "there is not enough memory"
    return str(error)


def in_python(name: str, value: object, is_setting: bool) -> str:
    """Return how Python passes an argument; see `naming_arguments`."""
    if value is ...:
        return f"`{name}`"
    return f'{name}="{value}"' if isinstance(value, str) and '"' not in value else f"{name}={value!r}"


_NAMING: ContextVar[Callable[[str, object, bool], str]] = ContextVar("_NAMING", default=in_python)


@contextmanager
def naming_arguments(naming: Callable[[str, object, bool], str]) -> Iterator[None]:
    """Make messages name arguments in the words of a front end inside the block.

    Args:
        naming: Function of the name of an argument, of a value (``...`` if the message leaves it open), and of whether
            the argument is a setting of a metric.
    """
    token = _NAMING.set(naming)
    try:
        yield
    finally:
        _NAMING.reset(token)


def as_option(name: str, value: object = ...) -> str:
    """Return how to pass an argument of a function such as `vlgauge.score`, for a message.

    Returns:
        ``predictions='COLUMN'`` or `` `predictions` `` in Python, ``--predictions COLUMN`` on the command line.
    """
    return _NAMING.get()(name, value, False)


def as_setting(name: str, value: object = ...) -> str:
    """Return how to pass a setting of a metric, for a message.

    Returns:
        ``profile='embedded'`` or `` `df` `` in Python, ``--profile embedded`` or ``--set df=...`` on the command line.
    """
    return _NAMING.get()(name, value, True)
