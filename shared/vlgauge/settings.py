"""What a user is told: checks of keywords and rows, with messages that name what would be right, and warnings."""

import difflib
import inspect
import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from vlgauge.errors import UsageError, UsageTypeError

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

PROFILES = ("paper", "embedded")
# Where no line of the user's is; `evaluate.load` imports copies of metric scripts as parts of evaluate_modules.
_BETWEEN = ("vlgauge", "vlgauge_metrics", "evaluate", "evaluate_modules", "contextlib", "functools")

LONGEST_SHOWN = 120  # characters of a value in a message

# Keywords of evaluate.load that the host library understands by itself (evaluate 0.4.6).
HOST_KEYWORDS = (
    "config_name",
    "keep_in_memory",
    "cache_dir",
    "num_process",
    "process_id",
    "seed",
    "experiment_id",
    "hash",
    "max_concurrent_cache_files",
    "timeout",
)


def nearest(word: str, known: Iterable[str]) -> str:
    """Clause that names the nearest known word, or all of them: "did you mean `n`?"."""
    known = sorted(known)
    return meant(word, known) or f"known are {', '.join(known) or 'none'}"


def meant(word: str, known: Iterable[str]) -> str:
    """Clause that names the nearest known word, "did you mean `n`?"; empty if none is near."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"did you mean `{close[0]}`?" if close else ""


def shown(value: Any) -> str:
    """A value as messages show it: the beginning of what represents it, its type if that cannot be had."""
    try:
        text = repr(value)
    except Exception:
        # Thousands of digits, thousands of lists within each other, or what an object of the user's does.
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def one_of(name: str, value: Any, choices: Sequence[str]) -> str:
    """The value, if it is one of the choices.

    A number is taken as its text, such as 2007 of a command line for "2007".

    Raises:
        ValueError: If it is not; the message lists the choices.
    """
    if type(value) in (int, float):
        value = next((choice for choice in choices if _is_number(choice) and float(choice) == value), value)
    if not isinstance(value, str) or value not in choices:
        hint = meant(value, choices) if isinstance(value, str) else ""
        raise UsageError.about(
            name, f"must be one of {', '.join(map(repr, choices))}, got {shown(value)}{hint and '; ' + hint}"
        )
    return value


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def plain_number(value: Any) -> Any:
    """A number or truth value of numpy as that of Python, so that signatures do not tell them apart; others as is."""
    # Without numpy in the process there is none of its numbers, and `vlgauge list` does without.
    numpy = sys.modules.get("numpy")
    return value.item() if numpy is not None and isinstance(value, (numpy.number, numpy.bool_)) else value


def finite_number(name: str, value: Any, expected: str = "a finite number", minimum: float = -math.inf) -> float:
    """The value as `float`, if it is a finite number of at least ``minimum``.

    Args:
        name: Name of the setting.
        value: What was given.
        expected: What would be right, in words.
        minimum: The least that is right.

    Raises:
        ValueError: If it is not.
    """
    number = plain_number(value)
    real = isinstance(number, (int, float)) and not isinstance(number, bool)
    # Comparisons, because the largest whole numbers are no floats.
    if not real or not max(minimum, -sys.float_info.max) <= number <= sys.float_info.max:
        raise UsageError.about(name, f"must be {expected}, got {shown(value)}")
    return float(number)


def whole_number(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return the value as `int`, if it is a whole number of at least ``minimum`` and at most ``maximum``.

    Raises:
        ValueError: If it is not.
    """
    number = plain_number(value)
    try:
        whole = minimum - 1 if isinstance(number, bool) else operator.index(number)
    except (TypeError, ValueError):  # an array has the method too, and that of a masked number fails otherwise
        whole = minimum - 1
    if whole < minimum:
        raise UsageError.about(name, f"must be a whole number of at least {minimum}, got {shown(value)}")
    if maximum is not None and whole > maximum:
        raise UsageError.about(name, f"must be a whole number of at most {maximum:,}, got {shown(value)}")
    return whole


def true_or_false(name: str, value: Any) -> bool:
    """The value as `bool`, if it is a truth value; a text such as ``"False"`` would silently count as true.

    Raises:
        ValueError: If it is not.
    """
    truth = plain_number(value)
    if not isinstance(truth, bool):
        raise UsageError.about(name, f"must be True or False, got {shown(value)}")
    return truth


def listed(value: Any) -> list[Any] | None:
    """Items of a list, tuple, one-dimensional array or Series; None for anything else (a string, a mapping, ...)."""
    if isinstance(value, list):
        return value
    if isinstance(value, tuple):
        return list(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return list(value) if value.ndim == 1 else None
    if hasattr(value, "to_list") and hasattr(value, "iloc") and not hasattr(value, "columns"):
        return list(value.to_list())
    return None


def rows_of(name: str, value: Any) -> list[Any]:
    """Rows of a whole column given as list, tuple, array, Series, `datasets` column or generator.

    Raises:
        ValueError: If it is a single text, a mapping, a table, without order, or not iterable.
    """
    single = isinstance(value, (str, bytes, Mapping, set, frozenset)) or hasattr(value, "columns")
    if single or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise UsageError.about(name, f"must be a list of rows, got {type(value).__name__}; wrap a single row: [row]")
    return list(value)


def plain_text(value: Any, place: str, expected: str) -> str:
    """The value as plain `str`.

    Raises:
        ValueError: If it is no string.
    """
    if not isinstance(value, str):
        raise UsageError.about(place, f"must be {expected}, got {type(value).__name__}{what_to_do(value)}")
    return str(value)


def what_to_do(value: Any) -> str:
    """Clause that says what to do about a value that stands for nothing, as of a table with gaps; empty for others."""
    is_gap = value is None or (isinstance(value, float) and math.isnan(value))
    return "; leave out what is missing" if is_gap else ""


def valid_unicode(text: str, place: str) -> str:
    """The text, if UTF-8 can hold it.

    Raises:
        ValueError: If it has a lone surrogate, half of a broken character pair.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError.about(
            place,
            f"must be valid Unicode, got the lone surrogate U+{ord(text[error.start]):04X} at position "
            f"{error.start}; replace it: text.encode('utf-8', 'replace').decode()",
        ) from None
    return text


def warn(message: str) -> None:
    """Warn, at the line of the user's that led here, however many calls of ours and of the host lie between."""
    frame = sys._getframe(1)
    while _is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    # Named outright, since `stacklevel` counts frames, and Python 3.11 cannot leave any out.
    known, module = frame.f_globals, frame.f_globals.get("__name__", "sys")
    where = (frame.f_code.co_filename, frame.f_lineno)
    warnings.warn_explicit(message, UserWarning, *where, module, known.setdefault("__warningregistry__", {}))


def _is_ours(frame: FrameType) -> bool:
    """Whether a frame is of this package, a metric script or the host, or of a context manager or cache of theirs."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN


def setting_names(cls: type) -> list[str]:
    """Keywords that the constructors of a metric class name, those of its bases included, `self` and host left out."""
    return list(_setting_names(cls))


@cache
def _setting_names(cls: type) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for base in cls.__mro__:
        init = base.__dict__.get("__init__")
        if init is None or base.__module__.partition(".")[0] == "evaluate":
            continue
        for parameter in inspect.signature(init).parameters.values():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                names[parameter.name] = None
    return tuple(names)


def told_of_arguments(
    called: str, remedies: Mapping[str, str]
) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """A function of the public face that says in a sentence which of its arguments are unknown, or were not given.

    Args:
        called: The function as users write it.
        remedies: What to do, by the name of an argument that has to be given, or that another function has.
    """

    def teller(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        parameters = inspect.signature(function).parameters
        needed = [name for name, one in parameters.items() if one.default is one.empty]

        @wraps(function)
        def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
            for name, value in kwargs.items():
                if name not in parameters:
                    hint = remedies.get(name) or nearest(name, set(parameters) - {"self"})
                    raise UsageTypeError.about(
                        name, f"must be left out, {called} has no such argument, got {shown(value)}; {hint}"
                    )
            there = {*[*parameters][: len(args)], *kwargs}
            if missing := [name for name in needed if name not in there]:
                names = ", ".join(f"`{name}`" for name in missing)
                hints = "; ".join(remedies[name] for name in missing)
                raise UsageTypeError(f"{names} must be given to {called}, got nothing; {hints}")
            return function(*args, **kwargs)

        return checked

    return teller


def refuse_unknown_settings(cls: type, metric: str, given: Iterable[str]) -> None:
    """Refuse keywords of `load` that nobody reads; the host library would swallow them.

    Raises:
        TypeError: At the first unknown keyword, with the nearest known one.
    """
    known = {*setting_names(cls), *HOST_KEYWORDS}
    for name in given:
        if name not in known:
            raise UsageTypeError(f"`{name}` is no setting of {metric}; {nearest(name, known - {'hash'})}")
