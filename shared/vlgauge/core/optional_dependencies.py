"""Checks of installed packages, which distinguish missing packages from unsuitable versions."""

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec

from packaging.version import Version

from vlgauge.core.errors import MissingExtraError

# Cached, because every request checks a version and the metadata of large packages are long.
version = cache(importlib.metadata.version)


def check_version(package: str, least: str, what: str) -> None:
    """Check the version of a package that only some calls need. A missing package passes, because its import fails.

    Args:
        package: Name of the package on PyPI.
        least: Minimum version.
        what: Feature that needs the package.

    Raises:
        MissingExtraError: If the installed version is too old.
    """
    with suppress(PackageNotFoundError):
        if Version(found := version(package)) < Version(least):
            raise MissingExtraError(
                f'{what} requires {package} {least} or newer, got {found}; run: pip install "{package}>={least}"'
            )


def not_importable(missing: str, error: ImportError) -> str:
    """Return the error message for a failed import, which distinguishes missing packages from unsuitable versions.

    Args:
        missing: Message for a missing package, ``"... needs X; run: pip install ..."``.
        error: Error raised by the import.
    """
    if isinstance(error.__cause__, ImportError):
        error = error.__cause__
    name = (error.name or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and not _is_here(name):
        return missing
    what, _, remedy = missing.partition("; run: pip install ")
    why = " ".join(str(error).split())[:300]
    newer = f"; run: pip install --upgrade {remedy}" if remedy else ""
    return f"{what} (the installed version or build is not compatible: {why}){newer}"


@contextmanager
def importing(missing: str) -> Iterator[None]:
    """Convert import errors inside the context to MissingExtraError, with the message of `not_importable`.

    Raises:
        MissingExtraError: If the code inside the context raises ImportError.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(not_importable(missing, error)) from error


def _is_here(name: str) -> bool:
    try:
        return bool(name) and find_spec(name) is not None
    except ValueError:  # `sys.modules` contains an object without a module spec
        return False
