"""Errors that users can fix. Any other exception is a bug and keeps its traceback."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Self

from vlgauge.core.context_values import context_value

_LONGEST_REASON = 200  # characters


class UsageError(ValueError):
    """Raised if an input, a setting or the environment is unusable. The message says how to fix it.

    The command line and the workbench print only the message. Instances survive pickling.

    Attributes:
        argument: Name of the argument that the error is about. None if there is no single one. An item of a column has
            its position in the name, such as ``"images[3][2]"``.
        problem: Problem with the argument, such as ``"must be positive, got -1"``. None without an argument.
        remedy: Suggested fix. None if the problem includes it or the fix is unknown.
    """

    argument: str | None = None
    problem: str | None = None
    remedy: str | None = None

    @classmethod
    def about(cls, argument: str, problem: str, remedy: str | None = None) -> Self:
        """Create an error about one argument, with the message "`argument` problem; remedy".

        Args:
            argument: Name of the argument in the function signature, or of an item of it.
            problem: Problem with the argument, such as ``"must be positive, got -1"``.
            remedy: Suggested fix, used as the last part of the message.
        """
        error = cls(_sentence(f"`{argument}`", problem, remedy))
        error.argument, error.problem, error.remedy = argument, problem, remedy
        return error

    def in_words(self, name: str) -> str:
        """Return the message with `name` as the name of the argument.

        The message is unchanged if the error is not about an argument, or if its message was replaced.
        """
        return str(self) if self.problem is None else _sentence(name, self.problem, self.remedy)

    def with_message(self, message: str) -> Self:
        """Return an error with the same class, argument and remedy but another message."""
        error = type(self)(message)
        error.__dict__.update(self.__dict__, problem=None)
        return error


def _sentence(name: str, problem: str, remedy: str | None) -> str:
    return f"{name} {problem}" + (f"; {remedy}" if remedy else "")


class UsageTypeError(UsageError, TypeError):
    """Raised if an argument has the wrong type or is unknown."""

    @classmethod
    def unexpected(cls, function: str, argument: str, remedy: str | None = None) -> Self:
        """Create an error about an unknown keyword argument, in Python's words.

        Args:
            function: Name of the function in user code.
            argument: Name of the keyword argument.
            remedy: Suggested fix, used as the last part of the message.
        """
        error = cls(_sentence(f"{function}()", f"got an unexpected keyword argument '{argument}'", remedy))
        error.argument, error.remedy = argument, remedy
        return error


class UsageIndexError(UsageError, IndexError):
    """Raised if an index is out of range."""


class MissingFileError(UsageError, FileNotFoundError):
    """Raised if a file or folder named by the user does not exist."""


class MissingExtraError(UsageError, ImportError):
    """Raised if a package is not installed or its version does not fit."""


class WeightsNotFoundError(MissingFileError):
    """Raised if the files of a model are neither on this machine nor available for download."""


class NetworkError(UsageError, OSError):
    """Raised if a network request fails. The message gives the reason as a clause of a sentence.

    Attributes:
        status: HTTP status of the response. None if there was no response.
    """

    status: int | None = None

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def is_of_user(error: BaseException) -> bool:
    """Return whether the user can fix an error: a usage error, a file error, a full disk or insufficient memory."""
    if isinstance(error, OSError) and not isinstance(error, UsageError):
        return error.filename is not None or error.errno == errno.ENOSPC
    return isinstance(error, (UsageError, MemoryError))


def is_of_item(error: BaseException) -> bool:
    """Return whether a usage error concerns a single item, such as a row or a file.

    Missing packages, missing weights and network failures affect every item. Skipping the item, or making its score
    undefined, would hide them.
    """
    everywhere = (MissingExtraError, WeightsNotFoundError, NetworkError)
    return isinstance(error, UsageError) and not isinstance(error, everywhere)


def describe(error: BaseException) -> str:
    """Return the message to show to users for an error that satisfies `is_of_user`."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the disk is full, or the target of standard output"
    if isinstance(error, MemoryError):
        return str(error) or "there is not enough memory"
    return str(error)


@contextmanager
def convert_errors(
    expected: str, argument: str | None = None, kept: tuple[type[Exception], ...] = (MemoryError,)
) -> Iterator[None]:
    """Convert any error inside the context to UsageError, because libraries trust the content of the files they read.

    Args:
        expected: Requirement and value, such as ``"FILE must be a complete zip archive, got 'a.zip'"``.
        argument: Name of the argument that `expected` is about, if it does not begin with a name.
        kept: Errors that are raised unchanged.

    Raises:
        UsageError: If the code inside the context raises another error.
    """
    try:
        yield
    except kept:
        raise
    except Exception as error:
        problem = f"{expected}, which fails with: {short_reason(error)}"
        raise (UsageError(problem) if argument is None else UsageError.about(argument, problem)) from error


def short_reason(error: BaseException) -> str:
    """Return the message of an error in one short line, or the name of its type if it has none."""
    return " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__


def in_python(name: str, value: object, is_setting: bool) -> str:
    """Return the Python notation of an argument, the default of `naming_arguments`.

    Args:
        name: Name of the argument.
        value: Value of the argument. ``...`` for the name only.
        is_setting: Unused, because Python passes settings of metrics like other arguments.
    """
    if value is ...:
        return f"`{name}`"
    return f'{name}="{value}"' if isinstance(value, str) and '"' not in value else f"{name}={value!r}"


_NAMING: ContextVar[Callable[[str, object, bool], str]] = ContextVar("_NAMING", default=in_python)


def naming_arguments(naming: Callable[[str, object, bool], str]) -> AbstractContextManager[None]:
    """Use the argument notation of a user interface in messages created inside the context.

    Args:
        naming: Function of the name of an argument, its value (``...`` if the message leaves it open), and whether it
            is a setting of a metric.
    """
    return context_value(_NAMING, naming)


def as_option(name: str, value: object = ...) -> str:
    """Return an argument of a function such as `vlgauge.score` in the notation of the user interface, for a message.

    Returns:
        ``predictions='COLUMN'`` or `` `predictions` `` in Python, ``--predictions COLUMN`` on the command line.
    """
    return _NAMING.get()(name, value, False)


def as_setting(name: str, value: object = ...) -> str:
    """Return a setting of a metric in the notation of the user interface, for a message.

    Returns:
        ``profile='embedded'`` or `` `df` `` in Python, ``--profile embedded`` or ``--set df=...`` on the command line.
    """
    return _NAMING.get()(name, value, True)
