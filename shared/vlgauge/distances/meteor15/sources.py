"""Where the files of METEOR 1.5 are: in an installed pycocoevalcap, checked by SHA-256, or where the user says."""

from functools import lru_cache
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from vlgauge.distances.meteor15.lists import WordLists, read_lists
from vlgauge.distances.meteor15.paraphrases import ParaphraseTable
from vlgauge.errors import MissingExtraError, MissingFileError, UsageError
from vlgauge.settings import shown
from vlgauge.signatures import local_name
from vlgauge.weights.files import FileState, sha256_of
from vlgauge.weights.preflight import Preflight

Source: TypeAlias = str | PathLike[str]

INSTALLED = "pycocoevalcap"
"""The setting that stands for a file of the installed package."""
VERSION = "1.2"


class _Known(NamedTuple):
    """A file of the package.

    Attributes:
        setting: The setting that may name another one.
        path: Where it is in the package.
        sha256: Its digest.
        what: What it holds, for messages.
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
    """The files of one way to compute METEOR 1.5.

    Attributes:
        lists: The word lists.
        table: The paraphrases; None without.
        lists_name: What identifies the lists in signatures.
        table_name: What identifies the table; "none" without.
    """

    lists: WordLists
    table: ParaphraseTable | None
    lists_name: str
    table_name: str


def checked_source(setting: str, source: Any) -> Source:
    """Return the setting that names a file, checked.

    Raises:
        UsageError: If it is no path.
    """
    if isinstance(source, (str, PathLike)):
        return source
    none = ", or None to do without" if setting == TABLE.setting else ""
    raise UsageError.about(setting, f"must be {INSTALLED!r} or the path of a file{none}, got {shown(source)}")


def look_for_sources(found: Preflight, lists: Source = INSTALLED, paraphrases: Source | None = INSTALLED) -> None:
    """Check that the files are there and, in the installed package, whole; nothing is read but their bytes.

    Args:
        found: Takes what is missing.
        lists: `INSTALLED` or the path of a meteor-1.5.jar.
        paraphrases: `INSTALLED`, the path of a table, or None.
    """
    found.look(lambda: file_of(LISTS, lists, metric=found.metric))
    if paraphrases is not None:
        found.look(lambda: file_of(TABLE, paraphrases, metric=found.metric))


def open_sources(lists: Source = INSTALLED, paraphrases: Source | None = INSTALLED, *, metric: str) -> Sources:
    """Open the files; the word lists are read once per process, the table when texts are known.

    Args:
        lists: As for `look_for_sources`.
        paraphrases: As for `look_for_sources`.
        metric: Name of the metric, for messages.

    Raises:
        MissingExtraError: If the package is not installed.
        UsageError: If a file is damaged.
        MissingFileError: If a file that the user names is not there.
    """
    file = file_of(LISTS, lists, metric=metric)
    opened = _read_lists(FileState.of(file))
    lists_name = _name(LISTS, file)
    if paraphrases is None:
        return Sources(opened, None, lists_name, "none")
    file = file_of(TABLE, paraphrases, metric=metric)
    table_name = _name(TABLE, file)
    table = _opened_table(FileState.of(file), is_known=table_name.startswith(INSTALLED))
    return Sources(opened, table, lists_name, table_name)


@lru_cache(maxsize=1)
def _read_lists(file: FileState) -> WordLists:
    return read_lists(Path(file.path))


# What was read of a table serves all metrics of a process.
@lru_cache(maxsize=1)
def _opened_table(file: FileState, *, is_known: bool) -> ParaphraseTable:
    return ParaphraseTable(Path(file.path), is_known=is_known)


def _name(known: _Known, file: Path) -> str:
    digest = sha256_of(file)
    return f"{INSTALLED}-{VERSION}" if digest == known.sha256 else local_name(digest)


def file_of(known: _Known, source: Source = INSTALLED, *, metric: str) -> Path:
    """Find the file that a setting stands for.

    Raises:
        MissingExtraError: If the package is not installed.
        UsageError: If the file of the package is damaged or missing.
        MissingFileError: If a file that the user names is not there.
    """
    if source != INSTALLED:
        file = Path(source).expanduser()
        if not file.is_file():
            raise MissingFileError(
                f"`{known.setting}` must be {INSTALLED!r} or an existing file, got {fspath(source)!r}"
            )
        return file
    package = find_spec(INSTALLED)  # which does not import it
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError(
            f"{metric} needs the files of {INSTALLED} {VERSION}, which is not installed here; "
            'run: pip install "vlgauge[meteor]"'
        )
    file = Path(next(iter(package.submodule_search_locations)), known.path)
    if not file.is_file() or (digest := sha256_of(file)) != known.sha256:
        got = f"{digest[:8]} in" if file.is_file() else "no file"
        raise UsageError(
            f"the {known.what} of {INSTALLED} {VERSION} must have the sha256 {known.sha256[:8]}, got {got} "
            f"{str(file)!r}; run: pip install --force-reinstall {INSTALLED}=={VERSION}"
        )
    return file
