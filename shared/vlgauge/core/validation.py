"""Validation of keyword arguments and rows, with error messages that suggest valid values, and warnings."""

import difflib
import inspect
import math
import operator
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from vlgauge.core.errors import UsageError, UsageTypeError

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

PROFILES = ("paper", "embedded")
# Packages that contain no user code. `evaluate.load` imports copies of metric scripts as part of evaluate_modules.
_OWN_PACKAGES = ("vlgauge", "vlgauge_metrics", "vlgauge_workbench")
_BETWEEN = (*_OWN_PACKAGES, "evaluate", "evaluate_modules", "contextlib", "functools")

LONGEST_SHOWN = 120  # maximum number of characters of a value in a message
_LINE_BREAK = re.compile(r"\s*\n\s*")

# Keyword arguments of `evaluate.load` that `evaluate` 0.4.6 handles itself.
HOST_KEYWORDS = (
    *("config_name", "keep_in_memory", "cache_dir", "num_process", "process_id", "seed", "experiment_id", "hash"),
    *("max_concurrent_cache_files", "timeout"),
)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a clause that suggests the closest known word, "did you mean `n`?", or lists all known words."""
    known = sorted(known)
    return suggest_word(word, known) or f"known are {', '.join(known) or 'none'}"


def suggest_word(word: str, known: Iterable[str]) -> str:
    """Return a clause that suggests the closest known word, "did you mean `n`?". Empty if none is similar."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"did you mean `{close[0]}`?" if close else ""


def short_repr(value: Any) -> str:
    """Return the repr of a value in one line, truncated to `LONGEST_SHOWN` characters. If it fails, name the type."""
    try:
        text = _LINE_BREAK.sub(" ", repr(value))
    except Exception:
        # The repr fails for very long integers, deeply nested lists and some user-defined objects.
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Check that a value is one of the choices and return it.

    A number matches the choice with the same numeric value, such as 2007 from the command line for "2007".

    Raises:
        ValueError: If the value is not one of the choices. The message lists them.
    """
    if type(value) in (int, float):
        value = next((choice for choice in choices if _is_number(choice) and float(choice) == value), value)
    if not isinstance(value, str) or value not in choices:
        hint = suggest_word(value, choices) if isinstance(value, str) else ""
        raise UsageError.about(
            name, f"must be one of {', '.join(map(repr, choices))}, got {short_repr(value)}{hint and '; ' + hint}"
        )
    return value


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def plain_number(value: Any) -> Any:
    """Convert NumPy numbers and bools to Python ones, so that signatures are equal. Return other values unchanged."""
    # Do not import numpy here, because `vlgauge list` runs without it.
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.number, numpy.bool_)):
        return value
    # `item` returns extended precision unchanged.
    return float(value) if isinstance(value, numpy.longdouble) else value.item()


def check_float(name: str, value: Any, expected: str = "a finite number", minimum: float = -math.inf) -> float:
    """Check that a value is a finite number of at least `minimum` and return it as a float.

    Args:
        name: Name of the setting.
        value: Value passed by the user.
        expected: Description of valid values.
        minimum: Minimum value.

    Raises:
        ValueError: If the value is not valid.
    """
    number = plain_number(value)
    real = isinstance(number, (int, float)) and not isinstance(number, bool)
    # Compare before converting, because the largest integers cannot be converted to floats.
    if not real or not max(minimum, -sys.float_info.max) <= number <= sys.float_info.max:
        raise UsageError.about(name, f"must be {expected}, got {short_repr(value)}")
    return float(number)


def check_int(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Check that a value is an integer from `minimum` to `maximum` and return it as an int.

    Raises:
        ValueError: If the value is not valid.
    """
    number = plain_number(value)
    try:
        whole = minimum - 1 if isinstance(number, bool) else operator.index(number)
    except (TypeError, ValueError):  # arrays define the method, and masked numbers raise ValueError
        whole = minimum - 1
    if whole < minimum:
        raise UsageError.about(name, f"must be an integer of at least {minimum}, got {short_repr(value)}")
    if maximum is not None and whole > maximum:
        raise UsageError.about(name, f"must be an integer of at most {maximum:,}, got {short_repr(value)}")
    return whole


def check_bool(name: str, value: Any) -> bool:
    """Check that a value is a bool and return it. Strings such as ``"False"``, which would count as true, are rejected.

    Raises:
        ValueError: If the value is not a bool.
    """
    truth = plain_number(value)
    if not isinstance(truth, bool):
        raise UsageError.about(name, f"must be True or False, got {short_repr(value)}")
    return truth


def check_path(name: str, value: Any, expected: str = "the path of a file or folder, or None") -> Any:
    """Check that a setting is a path or None, without accessing the file, and return it.

    Raises:
        ValueError: If it is not.
    """
    if value is not None and (not isinstance(value, (str, os.PathLike)) or value == ""):
        raise UsageError.about(name, f"must be {expected}, got {short_repr(value)}")
    return value


def as_list(value: Any) -> list[Any] | None:
    """Return the items of a list, tuple, one-dimensional array or Series. None for other types, such as str or dict."""
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
    """Return the rows of a column passed as a list, tuple, array, Series, `datasets` column or generator.

    Raises:
        ValueError: If the value is a single string, a mapping, a set, a table, or not iterable.
    """
    single = isinstance(value, (str, bytes, Mapping, set, frozenset)) or hasattr(value, "columns")
    if single or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise UsageError.about(name, f"must be a list of rows, got {type(value).__name__}; wrap a single row: [row]")
    return list(value)


def check_one_each(name: str, values: Any, n_rows: int, entry: str = "list per row") -> None:
    """Check that a list of a call has one entry per row.

    Args:
        name: Name of the argument.
        values: Value passed by the user.
        n_rows: Number of rows.
        entry: Description of the entry of a row.

    Raises:
        UsageTypeError: If it is not a list or array.
        UsageError: If it has another length.
    """
    single = isinstance(values, (str, bytes, bytearray, Mapping, type)) or hasattr(values, "columns")
    is_list = hasattr(values, "__getitem__") and hasattr(values, "__len__") and getattr(values, "ndim", 1) > 0
    if single or not is_list:
        raise UsageTypeError.about(name, f"must have one {entry}, {n_rows} in all, got {type(values).__name__}")
    if len(values) != n_rows:
        raise UsageError.about(name, f"must have one {entry}, {n_rows} in all, got {len(values)}")


def plain_text(value: Any, place: str, expected: str) -> str:
    """Check that a value is a string and return it as a plain `str`.

    Raises:
        ValueError: If the value is not a string.
    """
    if not isinstance(value, str):
        raise UsageError.about(place, f"must be {expected}, got {type(value).__name__}{what_to_do(value)}")
    return str(value)


def what_to_do(value: Any) -> str:
    """Return a clause with a remedy if a value is a gap, such as None or NaN in a table. Empty for other values."""
    return "; omit missing values" if is_missing(value) else ""


def is_missing(value: Any) -> bool:
    """Return whether a value is None, or the NaN with which tables represent an empty cell."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def valid_unicode(text: str, place: str) -> str:
    """Check that a text can be encoded as UTF-8 and return it.

    Raises:
        ValueError: If the text contains a lone surrogate, half of a broken character pair.
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
    """Issue a warning at the line of user code that led here, skipping the frames of vlgauge and `evaluate`."""
    frame = sys._getframe(1)
    # Skip this package, metric scripts, `evaluate`, and context managers and caches.
    while str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN and frame.f_back is not None:
        frame = frame.f_back
    # Use `warn_explicit`, because `stacklevel` counts frames and Python 3.11 cannot skip files.
    known, module = frame.f_globals, frame.f_globals.get("__name__", "sys")
    where = (frame.f_code.co_filename, frame.f_lineno)
    warnings.warn_explicit(message, UserWarning, *where, module, known.setdefault("__warningregistry__", {}))


def setting_names(cls: type) -> list[str]:
    """Return the names of the settings of a metric class. See `setting_parameters`."""
    return list(setting_parameters(cls))


@cache
def setting_parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Return the keyword-only parameters of the constructors of a metric class and its bases, without `evaluate`.

    The fields of the setting groups of a class follow its parameters.
    """
    found: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        own = () if base.__module__.partition(".")[0] == "evaluate" else filter(None, [vars(base).get("__init__")])
        for made in (*own, *vars(base).get("setting_groups", ())):
            for parameter in inspect.signature(made).parameters.values():
                if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                    found.setdefault(parameter.name, parameter)
    return found


def with_argument_hints(
    called: str, remedies: Mapping[str, str]
) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """Decorate a public function so that unknown and missing arguments raise errors that suggest a remedy.

    Args:
        called: Name of the function in user code.
        remedies: Remedy by name of a required argument, or of an argument that belongs to another function.

    Returns:
        The decorator. The decorated function raises UsageTypeError for an unknown or missing argument.
    """

    def teller(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        parameters = inspect.signature(function).parameters
        needed = [name for name, one in parameters.items() if one.default is one.empty]

        @wraps(function)
        def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
            for name in kwargs:
                if name not in parameters:
                    hint = remedies.get(name) or nearest(name, set(parameters) - {"self"})
                    raise UsageTypeError.unexpected(called, name, hint)
            there = {*[*parameters][: len(args)], *kwargs}
            if missing := [name for name in needed if name not in there]:
                names = " and ".join(f"`{name}`" for name in missing)
                hints = "; ".join(remedies[name] for name in missing)
                raise UsageTypeError(f"{called}() requires {names}; {hints}")
            return function(*args, **kwargs)

        return checked

    return teller


def check_setting_names(cls: type, metric: str, given: Iterable[str]) -> None:
    """Check the keyword arguments of `load`, because `evaluate` would silently ignore unknown ones.

    Raises:
        TypeError: If a keyword argument is unknown. The message suggests the closest known one.
    """
    known = {*setting_names(cls), *HOST_KEYWORDS}
    for name in given:
        if name not in known:
            raise UsageTypeError.about(name, f"is not a setting of {metric}", nearest(name, known - {"hash"}))
