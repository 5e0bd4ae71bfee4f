"""Scoring of files with more rows than one machine can process, with Ray Data (extra `ray`).

`RowScorer` scores the batches. This module reads the rows, distributes them, and stores the scored batches.
"""

from __future__ import annotations

import builtins
import json
import logging
import os
import re
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vlgauge.checkpoints.hub.listening import check_listening
from vlgauge.core import errors
from vlgauge.core.errors import NetworkError, UsageError
from vlgauge.core.files import limit_unpacked_size, read_bytes
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.run_locks import exclusive_run
from vlgauge.core.validation import check_float, check_int, short_repr
from vlgauge.inputs.datasets.kinds import MEDIA_COLUMNS
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.tables.files import READERS, make_paths_absolute, read_rows, take_column
from vlgauge.inputs.tables.parquet import parquet_table
from vlgauge.integrations.batches import COUNTS, RowScorer, check_id, sort_ids
from vlgauge.integrations.run_identity import contents_of
from vlgauge.integrations.scored_batches import ScoredBatches
from vlgauge.stats.drawing import is_unlabeled
from vlgauge.version import __version__

BATCH_ROWS = 256
_ROW = "vlgauge_row"  # column with a row of a text file, as JSON
_RESTARTS = 3  # maximum restarts of a worker, and retries of its batch
_SPARE_CPUS = 2  # CPUs for reading, in addition to the workers
_QUIET: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": "ERROR"}
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}
_LOOPBACK = "127.0.0.1"
# Ray replaces 127.0.0.1 with the network address unless this is set in its processes and at its import.
_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_OWN_ENVIRONMENT = {
    **_ON_LOOPBACK,
    "RAY_AUTH_MODE": "disabled",
    # Ray Data starts 32 processes to read the footers of Parquet files. One process with 128 threads is faster.
    "RAY_DATA_PARQUET_FOOTER_NUM_ACTORS": "1",
}


class DeadWorkerError(UsageError, ChildProcessError):
    """Raised if a worker of Ray died repeatedly or could not be started."""


def score_files(
    scorer: RowScorer,
    files: Sequence[str | Path],
    folder: str | Path,
    *,
    workers: int = 1,
    cpus: float = 1.0,
    gpus: float = 0.0,
    batch_rows: int = BATCH_ROWS,
    address: str | None = None,
    input_format: str | None = None,
    groups: str | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Compute the result of all rows of some files, in the form that `RowScorer.combine` returns.

    Each batch is written to the folder when it is scored. A second call with the same folder scores only the missing
    rows if the content of the files, the settings and the version are the same. Only one call at a time can use a
    folder. The function uses the Ray instance of this process if there is one, and otherwise connects to the cluster at
    `address` or starts Ray on this machine.

    Args:
        scorer: Scorer of the metric.
        files: Parquet files, or text files of one format supported by `vlgauge score`. They must be in one folder if
            their images have relative paths. All machines must have access to them and to the folder.
        folder: Folder for the scored batches. See `ScoredBatches`.
        workers: Number of worker processes for scoring, and also for the counting pass of metrics that need one.
        cpus: CPUs per worker. Use less than 1 if the cluster has fewer CPUs than workers.
        gpus: GPUs per worker, such as 0.25 for four workers on one GPU.
        batch_rows: Number of rows per batch and per stored file.
        address: Address of a cluster, such as ``"auto"``. None for this machine.
        input_format: Format of the files, if their names do not determine it.
        groups: Column with the group label of each row. The result contains the labels as ``groups`` and the column
            name as ``grouped_by``, like files of scores.
        progress: See `vlgauge.core.progress`.

    Returns:
        The result of the metric with the ``ids``, and ``groups`` and ``grouped_by`` if there are groups.

    Raises:
        ImportError: If Ray is not installed.
        ValueError: If a file, an id, a row or a number is invalid, the files change during scoring, or the cluster has
            too few CPUs or GPUs.
        DeadWorkerError: If workers died repeatedly. Scored batches are kept.
        NetworkError: If Ray does not start or does not respond.
    """
    workers, batch_rows = check_int("workers", workers, 1), check_int("batch_rows", batch_rows, 1)
    check_float("cpus", cpus, "a positive number", 1e-6)
    check_float("gpus", gpus, "a number of at least 0", 0.0)
    paths = [str(Path(file).absolute()) for file in files]
    kind = _format_of(paths, input_format)
    ray = import_ray()
    rows = _Rows(scorer, paths, kind, batch_rows)
    with exclusive_run(Path(folder).absolute(), "--parts"):
        before = _states(paths)
        run = {"vlgauge": __version__, "files": contents_of(paths)}
        names, labels = rows.ids_and_labels(groups)
        sort_ids(names)  # check the ids before Ray is started
        with session(address, workers * cpus, workers * gpus):
            try:
                record = _score(rows, _pool_options(workers, cpus, gpus), folder, run, names, progress)
            except ray.exceptions.RayError as error:
                why = " ".join(str(error).split())[:300]
                raise DeadWorkerError(
                    f"a worker died ({_RESTARTS + 1} tries) or could not be started; error from Ray: {why}; scored "
                    f"rows are kept in {str(folder)!r}, and the same command continues from there"
                ) from None
    if changed := [path for path, state in _states(paths).items() if state != before[path]]:
        raise UsageError(
            f"FILE must not change while it is scored, but {changed[0]!r} did; remove the folder {str(folder)!r}, "
            "and score again"
        )
    if groups is None:
        return record
    label_of = dict(zip(names, labels, strict=True))
    return record | {"groups": [label_of[name] for name in record["ids"]], "grouped_by": groups}


def _score(
    rows: _Rows,
    pool: Mapping[str, Any],
    folder: str | Path,
    run: Mapping[str, Any],
    names: Sequence[Any],
    progress: Progress,
) -> dict[str, Any]:
    """Compute the result of all rows, without scoring rows again whose batches are in the folder."""
    scorer = rows.scorer
    if scorer.needs_counts:
        scorer = scorer.with_counts({COUNTS: [answer]} for answer in rows.map_file(pool, scorer))
    kept = ScoredBatches(folder, {**scorer.describe(), **run})
    n_done = len(kept.ids(scorer.id))
    with progress_bar(len(names), "Scoring rows", progress) as advance:
        advance(n_done)
        if n_done < len(names):
            for n_rows in rows.map_file(pool, scorer, kept):
                advance(int(n_rows))
    record = scorer.combine(kept.batches())
    if lost := set(names) ^ set(record["ids"]):
        raise UsageError(
            f"the folder {str(folder)!r} must contain the rows of the files, got {len(lost)} ids in only one of the "
            f"two, such as {short_repr(min(lost, key=repr))}; remove the folder, and score again"
        )
    return record


def import_ray() -> Any:
    """Import Ray, with the environment variables that it reads at import, and return the module.

    Raises:
        ImportError: If Ray is not installed.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with importing('--engine ray needs Ray; run: pip install "vlgauge[ray]"'), _environment(_ON_LOOPBACK):
        import ray
        import ray.data
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return ray


@contextmanager
def session(address: str | None, cpus: float, gpus: float) -> Iterator[None]:
    """Connect to Ray inside the context: the instance of this process, or one that ends with the context.

    Args:
        address: Address of a cluster. None for this machine.
        cpus: Number of CPUs that the workers need. One more must be available for reading.
        gpus: Number of GPUs that the workers need.

    Raises:
        NetworkError: If Ray does not start or does not respond.
        ValueError: If the cluster has too few CPUs or GPUs.
    """
    ray = import_ray()
    with ExitStack() as stack:
        if not ray.is_initialized():
            try:
                how = _own_session(stack, -(-cpus // 1)) if address is None else _cluster(address)
                stack.callback(ray.shutdown)
                ray.init(**how, **_QUIET)
            except UsageError:
                raise
            except Exception as error:  # Ray has no specific exception for this
                why = " ".join(str(error).split())[:300]
                where = "on this machine" if address is None else f"with the cluster at {address!r}"
                raise NetworkError(
                    f"Ray could not be started {where}: {why}; check that it is running, or omit --engine ray"
                ) from error
        there = ray.cluster_resources()
        for name, wanted, spare in (("CPU", cpus, 1), ("GPU", gpus, 0)):
            if wanted and there.get(name, 0) < wanted + spare:
                raise UsageError.about(
                    "workers",
                    f"must leave {spare} {name} for reading, got {wanted:g} of the {there.get(name, 0):g} that Ray has",
                    f"use fewer workers, or fewer {name}s per worker",
                )
        yield


def _own_session(stack: ExitStack, cpus: float) -> dict[str, Any]:
    """Return the arguments that start a Ray instance which other machines cannot reach.

    Its folder and its environment variables are removed when the stack is closed.
    """
    if (address := import_ray().util.get_node_ip_address()) != _LOOPBACK:
        (variable,) = _ON_LOOPBACK
        raise UsageError(
            f"Ray must listen on {_LOOPBACK} only, got {address}, because it was imported before vlgauge set "
            f"{variable}=0; set it before you import Ray, or start Ray yourself with ray.init()"
        )
    # Use a short path, because socket names begin with it and are limited to about a hundred characters.
    short = "/tmp" if os.path.isdir("/tmp") else None
    folder = stack.enter_context(TemporaryDirectory(prefix="vg", dir=short, ignore_cleanup_errors=True))
    stack.enter_context(_environment(_OWN_ENVIRONMENT))
    here = {"_temp_dir": folder, "_node_ip_address": _LOOPBACK, "include_dashboard": False}
    # CPUs are logical resources, and some must be left for reading.
    return {"num_cpus": int(cpus) + _SPARE_CPUS, **here}


def _cluster(address: str) -> dict[str, Any]:
    """Return the arguments that connect to a cluster.

    The address is checked first, because Ray retries for more than six minutes if no server is listening.
    """
    if door := re.fullmatch(r"(?:ray://)?\[?(.+?)\]?:(\d{1,5})", address):
        check_listening(door[1], int(door[2]))
    return {"address": address}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables inside the context, which started processes inherit."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _pool_options(workers: int, cpus: float, gpus: float) -> dict[str, Any]:
    """Return the options of `map_batches` for a pool of workers."""
    from ray.data import ActorPoolStrategy

    # Limit the retries, because a row that kills its worker would be retried indefinitely.
    tries = {"max_restarts": _RESTARTS, "max_task_retries": _RESTARTS}
    return {"compute": ActorPoolStrategy(size=workers), "num_cpus": cpus, "num_gpus": gpus or None, **tries}


class _Rows:
    """Rows of the files, distributed in batches by Ray."""

    def __init__(self, scorer: RowScorer, paths: list[str], kind: str, batch_rows: int) -> None:
        self.scorer, self._paths, self._kind, self._batch_rows = scorer, paths, kind, batch_rows
        self._sandbox = scorer.metric.sandbox

    def ids_and_labels(self, groups: str | None) -> tuple[list[Any], list[str]]:
        """Read and check all ids, and the labels of a column if one is requested.

        Raises:
            ValueError: If a file, or a row of a text file, lacks a column, a row has no label, or there are no rows.
        """
        wanted = [self.scorer.id] if groups is None else [self.scorer.id, groups]
        required = list(dict.fromkeys([*self.scorer.required, *wanted]))
        cells: dict[str, list[Any]] = {title: [] for title in wanted}
        for path in self._paths:
            if self._kind == "parquet":
                found = _columns_of_parquet(path, wanted, required, self._sandbox)
            else:
                with use_sandbox(self._sandbox):
                    rows = read_rows(path, self._kind)
                found = {title: take_column(rows, title) for title in required}
            for title in wanted:
                cells[title] += found[title]
        names = list(map(check_id, cells[self.scorer.id]))
        if not names:
            raise UsageError(f"FILE must have at least one row, got none in {', '.join(self._paths[:3])}")
        if groups is None:
            return names, []
        if lacking := [name for name, label in zip(names, cells[groups], strict=True) if is_unlabeled(label)]:
            raise UsageError.about(
                "groups",
                f"must be a column with a value in every row, got {groups!r}, which is missing in row {lacking[0]!r}",
            )
        return names, list(map(str, cells[groups]))

    def map_file(self, pool: Mapping[str, Any], scorer: RowScorer, kept: ScoredBatches | None = None) -> Iterator[str]:
        """Yield the answers of the workers to each batch, in any order. Errors of workers are raised here."""
        for answer in self._answers(pool, {"scorer": scorer, "folder": os.getcwd(), "kept": kept}):
            for row in answer.to_pylist():
                if row["error"] is not None:
                    kind = getattr(errors, row["error"], None) or getattr(builtins, row["error"])
                    error = kind(row["answer"])
                    error.add_note(row["where"])
                    raise error
                yield row["answer"]

    def _answers(self, pool: Mapping[str, Any], given: dict[str, Any]) -> Iterator[pa.Table]:
        data = self._data().repartition(target_num_rows_per_block=self._batch_rows)
        with warnings.catch_warnings():
            # Ray plans to remove these arguments in version 2.64, which setup.cfg excludes, and has no replacement yet.
            warnings.filterwarnings("ignore", message="`ray_remote_args` is deprecated")
            made = data.map_batches(
                _Worker, fn_constructor_kwargs=given, batch_size=None, batch_format="pyarrow", **pool
            )
        yield from made.iter_batches(batch_format="pyarrow", batch_size=None)

    def _data(self) -> Any:
        import ray.data

        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.max_consecutive_actor_init_deaths = _RESTARTS
        if self._kind == "parquet" and not self._sandbox:
            there = pq.ParquetFile(self._paths[0]).schema_arrow.names
            titles = [title for title in self.scorer.titles if title in there]
            return ray.data.read_parquet(self._paths).select_columns(titles)
        files = ray.data.from_items([{"file": path} for path in self._paths], override_num_blocks=len(self._paths))
        read = {"scorer": self.scorer, "kind": self._kind, "sandbox": self._sandbox}
        reader: Any = _read_file
        return files.map_batches(reader, batch_size=1, batch_format="pyarrow", fn_kwargs=read)


def _open_sandboxed_parquet(path: str) -> pa.Table:
    data = read_bytes(path, "FILE")
    return parquet_table(data, "FILE", path, limit_unpacked_size(len(data)))


def _columns_of_parquet(
    path: str, titles: Sequence[str], required: Sequence[str], sandbox: bool
) -> dict[str, list[Any]]:
    """Return the cells of some columns of a Parquet file. Raise UsageError if a required column is missing."""
    file: Any = _open_sandboxed_parquet(path) if sandbox else pq.ParquetFile(path)
    there = (file.schema if sandbox else file.schema_arrow).names
    if absent := [name for name in required if name not in there]:
        raise UsageError(f"FILE must have the columns {', '.join(absent)}, {path!r} has {', '.join(there)}")
    parts = list(file.to_batches() if sandbox else file.iter_batches(columns=list(titles)))
    return {title: [cell for part in parts for cell in part.column(title).to_pylist()] for title in titles}


def _read_file(batch: pa.Table, scorer: RowScorer, kind: str, sandbox: bool) -> pa.Table:
    """Read the used columns of an untrusted Parquet file, or a text file as JSON rows with absolute paths of images."""
    (path,) = batch.column("file").to_pylist()
    if kind == "parquet":
        table = _open_sandboxed_parquet(path)
        return table.select([title for title in scorer.titles if title in table.schema.names])
    with use_sandbox(sandbox):
        rows = read_rows(path, kind)
    media_titles = {name: title for name, title in scorer.columns.items() if name in MEDIA_COLUMNS}
    texts = []
    for row in rows:
        own = {title: row[title] for title in scorer.titles if title in row}
        cells = make_paths_absolute({name: [own[title]] for name, title in media_titles.items() if title in own}, path)
        own |= {media_titles[name]: found[0] for name, found in cells.items() if found}
        texts.append(json.dumps(own))
    return pa.table({_ROW: pa.array(texts, pa.large_string())})


def _columns(batch: pa.Table, titles: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns of a batch: Parquet columns unchanged, or the JSON rows of text files as columns.

    Args:
        batch: Rows as read by Ray.
        titles: Names of the requested columns.
    """
    if _ROW not in batch.schema.names:
        return {title: batch.column(title).to_pylist() for title in batch.schema.names}
    rows = [json.loads(text) for text in batch.column(_ROW).to_pylist()]
    # A missing cell becomes None. Whether a row has a value does not depend on the other rows of its batch.
    return {title: [row.get(title) for row in rows] for title in titles if any(title in row for row in rows)}


class _Worker:
    """Worker that counts the rows of batches, or scores and writes the rows that are not scored yet.

    It answers each batch with a string: the counts as JSON, or the number of scored rows. Errors are returned as
    answers, because Ray would wrap them, retry the batch, or lose their cause.

    Args:
        scorer: Scorer of the metric.
        folder: Folder at which relative paths in settings start.
        kept: Folder of scored batches. None to count.
    """

    def __init__(self, scorer: RowScorer, folder: str, kept: ScoredBatches | None) -> None:
        self._scorer, self._kept = scorer, kept
        # Look this up here, because a worker that replaces a dead one must know which batches that one has written.
        self._done = set() if kept is None else kept.ids(scorer.id)
        # Settings with absolute paths do not need the folder, which another machine may lack.
        with suppress(OSError):
            os.chdir(folder)

    def __call__(self, batch: pa.Table) -> pa.Table:
        error, where = None, None
        try:
            answer = self._answer(batch)
        except Exception as raised:
            # Use the closest exception class of vlgauge or Python, which exists on every machine.
            known = (errors.__name__, "builtins")
            error = next(cls.__name__ for cls in type(raised).__mro__ if cls.__module__ in known)
            answer, where = str(raised), "".join(traceback.format_exception(raised))
        cells = {"answer": answer, "error": error, "where": where}
        return pa.table({title: pa.array([cell], pa.large_string()) for title, cell in cells.items()})

    def _answer(self, batch: pa.Table) -> str:
        columns = _columns(batch, self._scorer.titles)
        if self._kept is None:
            return str(self._scorer.count_rows(columns)[COUNTS][0])
        names = list(map(check_id, columns[self._scorer.id]))
        left = [i for i, name in enumerate(names) if name not in self._done]
        if left:
            rows = {title: [cells[i] for i in left] for title, cells in columns.items()}
            self._kept.add([names[i] for i in left], pa.table(self._scorer.score_rows(rows)))
        return str(len(left))


def _format_of(paths: Sequence[str], input_format: str | None) -> str:
    """Return the common format of some files.

    Raises:
        ValueError: If there are no files, or their formats differ or are not supported.
        OSError: If a file does not exist.
    """
    if not paths:
        raise UsageError("FILE must be at least one file, got none")
    for path in paths:
        Path(path).stat()
    kinds = {input_format or Path(path).suffix.lower().lstrip(".") for path in paths}
    if len(kinds) > 1 or not kinds <= set(READERS):
        raise UsageError(f"FILE must be files of one format of {', '.join(READERS)}, got {', '.join(sorted(kinds))}")
    return kinds.pop()


def common_folder(files: Sequence[str], has_media: bool) -> str | None:
    """Return the folder at which relative paths of images in Parquet files start. None for other files and metrics.

    Args:
        files: Paths of the files.
        has_media: Whether the metric uses images or videos.

    Raises:
        ValueError: If the metric uses images or videos and the files are in several folders.
    """
    if not has_media or _format_of(files, None) != "parquet":
        return None
    folders = {str(Path(file).absolute().parent) for file in files}
    if len(folders) > 1:
        raise UsageError(
            f"FILE must be files of one folder, because image paths are relative to it, got {len(folders)} folders; "
            "score each folder separately, or move the files to one folder"
        )
    return folders.pop()


def _states(paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return size and modification time of each file, to detect changes during scoring."""
    stats = {path: os.stat(path) for path in paths}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}
