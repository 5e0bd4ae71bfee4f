"""Other packages as they are installed here: a version that does not do is told from a package that is not there."""

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec

from packaging.version import Version

from vlgauge.errors import MissingExtraError

# Each request asks, and the metadata of a large package are long.
version = cache(importlib.metadata.version)


class WrongVersion(MissingExtraError):
    """A package in a version with which something cannot be done."""


def too_old(package: str, least: str, what: str) -> str | None:
    """Why something cannot be done with the version that is installed, as the clause of a sentence; None if it can.

    Args:
        package: Its name on the index.
        least: The first version that does.
        what: What needs it.
    """
    try:
        found = version(package)
    except PackageNotFoundError:
        return None  # the import says it
    if Version(found) >= Version(least):
        return None
    return f"{what} needs {package} {least} or newer, and {found} is installed"


def check_version(package: str, least: str, what: str) -> None:
    """Check, when it is called, what only some calls need.

    Raises:
        WrongVersion: If the version that is installed is older.
    """
    if told := too_old(package, least, what):
        raise WrongVersion(f'{told}; run: pip install "{package}>={least}"')


def not_importable(missing: str, error: ImportError) -> str:
    """What to say of an import that failed: that the package is missing, or that its version does not do.

    Args:
        missing: The sentence for the first, ``"... needs X; run: pip install ..."``.
        error: What was raised.
    """
    if isinstance(error.__cause__, ImportError):
        error = error.__cause__
    name = (error.name or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and not _is_here(name):
        return missing
    what, _, remedy = missing.partition("; run: pip install ")
    why = " ".join(str(error).split())[:300]
    newer = f"; run: pip install --upgrade {remedy}" if remedy else ""
    return f"{what}, and what is installed does not fit, in version or build ({why}){newer}"


@contextmanager
def importing(missing: str) -> Iterator[None]:
    """Context of imports that may fail; ImportError in the words of `not_importable`."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(not_importable(missing, error)) from error


def _is_here(name: str) -> bool:
    try:
        return bool(name) and find_spec(name) is not None
    except ValueError:  # it stands in `sys.modules` as something that is no module
        return False
