"""Lookup and reading of the dataset files that the user supplies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from vlgauge.core import files
from vlgauge.core.errors import UsageError
from vlgauge.core.files import FilePath
from vlgauge.core.validation import check_int, short_repr
from vlgauge.inputs.tables.files import read_rows, rows_called
from vlgauge.inputs.tables.parquet import parquet_rows

_KINDS = {str: "a string", list: "a list", dict: "an object", bool: "true or false", int: "a number", float: "a number"}

VIDEO_ENDINGS = (".mp4", ".mkv", ".webm", ".avi")


def tidy(text: str) -> str:
    """Replace every run of whitespace with a single space."""
    return " ".join(text.split())


def one_file(files: Sequence[FilePath], name: str) -> Path:
    """Return the only file of a dataset: the passed file with any name, or the file `name` in the passed folder.

    Raises:
        ValueError: If it is missing, or several files were passed.
    """
    if len(files) == 1 and not Path(files[0]).is_dir():
        return Path(files[0])
    return find_named_files(files, [name])[name]


def find_named_files(files: Sequence[FilePath], names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Path]:
    """Find the files of a dataset by their published names, in a list of files and folders.

    Raises:
        ValueError: If `files` is not a list of paths, a file has an unknown name, or one of `names` is missing.
    """
    if not isinstance(files, (list, tuple)) or not all(isinstance(file, (str, Path)) for file in files):
        raise UsageError(f"DATA must be a list of files and folders, got {short_repr(files)}")
    found: dict[str, Path] = {}
    for path in map(Path, files):
        if path.is_dir():
            found |= {name: path / name for name in (*names, *optional) if (path / name).is_file()}
        elif path.name in (*names, *optional):
            found[path.name] = path
        else:
            known = ", ".join((*names, *optional))
            raise UsageError(f"DATA must be {known}, or folders that contain them, got {str(path)!r}")
    missing = [name for name in names if name not in found]
    if missing:
        given = ", ".join(map(str, files)) or "nothing"
        raise UsageError(f"DATA must have {', '.join(names)}, got {given} without {', '.join(missing)}")
    return found


def read_saved_rows(folder: Path) -> list[dict[str, Any]]:
    """Read the rows, by column name, from the Arrow files that `save_to_disk` of `datasets` writes.

    Raises:
        ValueError: If the folder is incomplete or a file is damaged.
        OSError: If a file cannot be read.
    """
    state = folder / "state.json"
    entries = entry(read_json(state), "_data_files", list, f"`{state}`")
    names = [entry(one, "filename", str, f"file {number} of `{state}`") for number, one in enumerate(entries)]
    if wrong := [name for name in names if PurePosixPath(name).name != name or not name.endswith(".arrow")]:
        raise UsageError.about(str(state), f"must name .arrow files in the same folder, got {wrong[0]!r}")
    parts = (
        parquet_rows(files.read_bytes(folder / name, "DATA"), "DATA", folder / name, form="Arrow") for name in names
    )
    return list(files.limit_rows(chain.from_iterable(parts), "DATA", folder))


def read_json(path: FilePath) -> dict[str, Any]:
    """Read the object in a JSON file as a dictionary. Numbers may be NaN.

    Raises:
        ValueError: If the content is not an object.
        OSError: If the file cannot be read.
    """
    content = files.read_json(path, f"`{path}`")
    if not isinstance(content, dict):
        raise UsageError.about(str(path), f"must contain a JSON object, got {type(content).__name__}")
    return content


def placed_rows(path: Path, file_format: str | None = None) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each row of a table, and its position for error messages. See `vlgauge.inputs.tables.files.read_rows`."""
    with rows_called("DATA"):
        rows = read_rows(str(path), file_format)
    return with_places(rows, path)


def with_places(rows: Iterable[dict[str, Any]], path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each row of a file, and its position for error messages."""
    return ((row, f"row {i} of `{path}`") for i, row in enumerate(rows))


def entry(record: Any, key: str, kind: type | tuple[type, ...], place: str) -> Any:
    """Return the value of a required key of a record.

    Args:
        record: Record of a file.
        key: Required key.
        kind: Required type or types. A bool is only valid if `kind` is bool.
        place: Position of the record, for error messages.

    Raises:
        ValueError: If the key is missing, or the value has another type.
    """
    if not isinstance(record, Mapping) or key not in record:
        there = ", ".join(map(str, record)) if isinstance(record, Mapping) else type(record).__name__
        raise UsageError(f"{place} must have {key!r}, got {there or 'nothing'}")
    if not isinstance(record[key], kind) or (isinstance(record[key], bool) and kind is not bool):
        wanted = dict.fromkeys(_KINDS[one] for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise UsageError(f"{place} must have {' or '.join(wanted)} as {key!r}, got {type(record[key]).__name__}")
    return record[key]


def texts(values: Any, place: str) -> list[str]:
    """Return a list of strings with every run of whitespace replaced with a single space.

    Raises:
        ValueError: If `values` is not a list of strings.
    """
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise UsageError(f"{place} must be a list of strings")
    return [tidy(value) for value in values]


def coco_captions(content: Any, path: Path) -> dict[Any, list[str]]:
    """Collect the captions of each image id from a COCO file, ``{"annotations": [{"image_id", "caption"}]}``.

    Raises:
        ValueError: If a key is missing, or a value has another type.
    """
    found: dict[Any, list[str]] = {}
    place = f"an annotation of `{path}`"
    for record in entry(content, "annotations", list, f"`{path}`"):
        image = entry(record, "image_id", (int, str), place)
        found.setdefault(image, []).append(tidy(entry(record, "caption", str, place)))
    return found


def columns_of(
    predictions: list[str], references: list[list[str]], count: int | None, **seen: list[Any]
) -> dict[str, list[Any]]:
    """Build the columns for a metric.

    Args:
        predictions: Captions, at least one.
        references: References of each row.
        count: Number of references per row, from the first one. None for all, 0 for no such column.
        **seen: Columns of images or videos.

    Returns:
        Cells by column name, one per row.

    Raises:
        ValueError: If there are no rows, or `count` is negative.
    """
    if not predictions:
        raise UsageError("DATA must have at least one row, got none")
    if count is not None:
        check_int("references", count, 0)
    columns: dict[str, list[Any]] = {"predictions": predictions, **seen}
    return columns if count == 0 else {**columns, "references": [row[:count] for row in references]}


class Folder:
    """Folder of images or videos in which the names of a dataset are looked up. None for the folder of the data."""

    def __init__(self, path: FilePath | None, data: Path) -> None:
        if path is not None and not Path(path).is_dir():
            raise UsageError(f"the folder of images or videos must exist, got {str(path)!r}")
        self.path = data.absolute().parent if path is None else Path(path).absolute()
        self._found: dict[str, str] = {}

    def image(self, name: str, endings: Sequence[str] = ("",)) -> str:
        """Return the path of an image, as the first existing path of the candidates.

        The name is looked up with and without its parent folders. If no file exists, a path directly in the folder is
        returned.

        Args:
            name: File name, path or URL.
            endings: Possible suffixes of the name.

        Raises:
            UsageError: If the name is empty.
        """
        if name not in self._found:
            parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
            if not parts:
                raise UsageError(f"an image or video of the dataset must have a name, got {name!r}")
            tries = [self.path / f"{stem}{ending}" for stem in ("/".join(parts), parts[-1]) for ending in endings]
            self._found[name] = str(next((path for path in tries if path.is_file()), tries[len(endings)]))
        return self._found[name]

    def video(self, name: str) -> str:
        """Return the path of a video with an id."""
        return self.image(name, VIDEO_ENDINGS)
