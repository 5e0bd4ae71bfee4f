"""Scene graphs by the Java program of SPICE's authors (Anderson et al., 2016), if it is installed.

The program is ``spice-1.0.jar`` of pycocoevalcap. It parses with CoreNLP 3.6.0, which must be downloaded separately.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from vlgauge.checkpoints.files import FileState, sha256_of
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import MissingFileError, UsageError, UsageTypeError
from vlgauge.core.lru_cache import LRUCache
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.validation import short_repr
from vlgauge.families.scene_graphs.graph import Graph

SPICE = "spice-1.0"
"""Value of the setting `parser` that selects the program."""

_PACKAGE = "pycocoevalcap"
_JAR = "spice-1.0.jar"
# Files in the package, and files that its users download.
_SHIPPED = (_JAR, "lib/SceneGraphParser-1.0.jar", "lib/Meteor-1.5.jar")
_CORENLP = ("lib/stanford-corenlp-3.6.0.jar", "lib/stanford-corenlp-3.6.0-models.jar")
# The program writes its output with Nashorn, which Java 15 removed.
_OLDEST_JAVA, _NEWEST_JAVA = 8, 14
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
# Maximum number of cached tuples per process, which is about 100,000 captions.
_MOST_TUPLES = 2**20

_GRAPHS: LRUCache[tuple[str, str], Graph] = LRUCache(_MOST_TUPLES, lambda graph: 1 + len(graph.tuples))


class SpiceProgram:
    """Parser that runs the authors' program once per call, on all captions that are not in the cache of the process.

    The program does not merge synonyms (``-noSynsets``), because the metric merges words with the same meaning when it
    scores. The tuples are in alphabetical order, as the program writes them.

    Args:
        java: Java 8 to 14: the path of an executable, or its name on the PATH.
        jars: Folder of ``spice-1.0.jar`` and ``lib``. None for the folder in an installed pycocoevalcap.

    Attributes:
        identity: Name and SHA-256 of the program and of the models of CoreNLP.

    Raises:
        MissingFileError: If Java or a jar is missing, or Java has another version.
    """

    def __init__(self, java: str | PathLike[str] = "java", jars: str | PathLike[str] | None = None) -> None:
        self._java, self._jar = find_java(java), find_jar(jars)
        self.identity = f"{SPICE}@{sha256_of(self._jar)[:8]}+corenlp-3.6.0@{sha256_of(find_models(jars))[:8]}"

    def graphs(self, captions: Sequence[str], *, progress: Progress = None) -> list[Graph]:
        """Parse captions into graphs. A caption without a noun has an empty graph.

        Raises:
            UsageError: If the program fails, or its output contains anything other than graphs.
        """
        found = {
            caption: _GRAPHS.get((self.identity, caption)) if caption.strip() else Graph(()) for caption in captions
        }
        if asked := [caption for caption, graph in found.items() if graph is None]:
            with progress_bar(len(asked), "Parsing captions with Java", progress) as advance:
                parsed = dict(zip(asked, _run(self._java, self._jar, asked), strict=True))
                advance(len(asked))
            for caption, graph in parsed.items():
                _GRAPHS.put((self.identity, caption), graph)
            found |= parsed
        return [found[caption] or Graph(()) for caption in captions]


def check_path(setting: str, value: Any, *, optional: bool = False) -> Any:
    """Check the type of a setting that names a program or a folder, and return it.

    Raises:
        UsageTypeError: If it is neither a path nor, if `optional` is true, None.
    """
    if isinstance(value, (str, PathLike)) or (optional and value is None):
        return value
    none = ", or None for the one in pycocoevalcap" if optional else ""
    raise UsageTypeError.about(setting, f"must be a path{none}, got {short_repr(value)}")


def look_for_program(found: Preflight, java: str | PathLike[str], jars: str | PathLike[str] | None) -> None:
    """Check that Java and all jars exist, without parsing anything.

    Args:
        found: Preflight check that collects missing files.
        java: Path or name of Java, see `SpiceProgram`.
        jars: Folder of the jars, see `SpiceProgram`.
    """
    found.look(lambda: find_java(java))
    found.look(lambda: find_jar(jars))
    found.look(lambda: find_models(jars))


def find_java(java: str | PathLike[str]) -> str:
    """Return the path of a Java version that can run the program.

    Raises:
        MissingFileError: If there is no such program, or its version is not 8 to 14.
    """
    path = shutil.which(os.path.expanduser(java))
    wanted = f'`java` must be a Java {_OLDEST_JAVA} to {_NEWEST_JAVA} for `parser="{SPICE}"`'
    if path is None:
        raise MissingFileError(
            f"{wanted}, got {short_repr(fspath(java))}, which is not an executable; install one, or pass its path"
        )
    version = _java_version(FileState.of(Path(path)), path)
    if version is None or not _OLDEST_JAVA <= version <= _NEWEST_JAVA:
        got = "another program" if version is None else f"Java {version}"
        raise MissingFileError(f"{wanted}, got {got} at {path!r}; Java 15 removed the JavaScript that {_JAR} runs")
    return path


@lru_cache(maxsize=8)
def _java_version(_: FileState, path: str) -> int | None:
    """Return the major version of Java. None for another program."""
    try:
        completed = subprocess.run(
            [path, "-version"], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace"
        )
    except OSError:
        return None
    version = _VERSION.search(completed.stderr)
    return int(version[1]) if version else None


def find_jar(jars: str | PathLike[str] | None) -> Path:
    """Return the jar of the program.

    Raises:
        MissingFileError: If the jar or one of the libraries of the package is missing.
    """
    folder = _folder(jars)
    if folder is None:
        raise MissingFileError(
            f'`parser="{SPICE}"` requires {_JAR} of {_PACKAGE} 1.2, which is not installed; run: pip install '
            f"{_PACKAGE}==1.2, or pass its folder as `jars`"
        )
    if lacking := [name for name in _SHIPPED if not os.path.isfile(folder / name)]:
        raise MissingFileError.about(
            "jars",
            f"must be the folder with {_JAR} and its lib, got {short_repr(str(folder))} without {', '.join(lacking)}",
        )
    return folder / _JAR


def find_models(jars: str | PathLike[str] | None) -> Path:
    """Return the jar with the models of CoreNLP.

    Raises:
        MissingFileError: If this jar or the jar with the code is missing.
    """
    folder = _folder(jars)
    lacking = [name for name in _CORENLP if folder is None or not os.path.isfile(folder / name)]
    if lacking or folder is None:
        raise MissingFileError(
            f'`parser="{SPICE}"` requires {" and ".join(lacking)} next to {_JAR}; run: python -m '
            f"{_PACKAGE}.spice.get_stanford_models, which downloads CoreNLP 3.6.0 (about 390 MB)"
        )
    return folder / _CORENLP[1]


def _folder(jars: str | PathLike[str] | None) -> Path | None:
    """Return the specified folder, or the folder in the package without importing it. None if it is not installed."""
    if jars is not None:
        return Path(os.path.expanduser(jars)).absolute()
    package = find_spec(_PACKAGE)
    if package is None or not package.submodule_search_locations:
        return None
    return Path(next(iter(package.submodule_search_locations)), "spice")


def _run(java: str, jar: Path, captions: Sequence[str]) -> list[Graph]:
    """Run the program once and return its graphs."""
    rows = [{"image_id": i, "test": caption, "refs": []} for i, caption in enumerate(captions)]
    with tempfile.TemporaryDirectory(prefix="vlgauge-spice-") as folder:
        given, written = Path(folder, "captions.json"), Path(folder, "graphs.json")
        given.write_text(json.dumps(rows), "ascii")
        # Set the encoding, because these versions of Java use the encoding of the locale by default.
        command = [java, "-Dfile.encoding=UTF-8", "-Xmx8G", "-jar", str(jar), str(given)]
        ended = subprocess.run(
            [*command, "-out", str(written), "-detailed", "-noSynsets", "-silent"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
        if ended.returncode or not written.is_file():
            raise UsageError(f"{_JAR} must return a graph for each caption, but it failed: {_reason(ended.stderr)}")
        return _read_graphs(written, len(captions))


def _read_graphs(path: Path, n: int) -> list[Graph]:
    try:
        parsed = json.loads(path.read_text("utf-8"))
        found = {one["image_id"]: Graph.of(tuple(part["tuple"]) for part in one["test_tuples"]) for one in parsed}
        return [found[i] for i in range(n)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{_JAR} must return a graph for each of {n} captions, got unexpected output ({error!r:.200})"
        ) from error


def _reason(errors: str) -> str:
    """Return the line of the error output that contains the reason of the failure."""
    lines = [line.strip() for line in errors.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    named = [line for line in lines if "Exception" in line or "Error:" in line]
    return next(iter([*named[:1], *lines[-1:]]), "without a message")[:300]
