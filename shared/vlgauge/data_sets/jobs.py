"""What a child does with a data set of the Hub: card, files and rows are read by `datasets`, which asks by `ask`.

Nothing of a data set is decoded or run.
"""

import json
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Else `datasets` imports them for rows that have nothing of theirs, which takes what a child has for its job.
os.environ.update(USE_TORCH="0", USE_TF="0", USE_JAX="0")

import datasets
import yaml
from huggingface_hub import HfFileSystem, constants, set_client_factory
from huggingface_hub.utils import httpx

from vlgauge.box import Ask, Part
from vlgauge.data_sets.cells import packed
from vlgauge.data_sets.kinds import Kind, kind_of_cell
from vlgauge.data_sets.words import in_words
from vlgauge.errors import UsageError
from vlgauge.settings import shown

# Forms whose readers run nothing and ask for nothing outside of the repository.
_FORMS = ("arrow", "csv", "imagefolder", "json", "parquet", "text", "videofolder", "webdataset")
_METADATA = ("README.md", ".huggingface.yaml")
_MOST_METADATA = 5_000_000
# Else `datasets` asks a server that is not the Hub at every opening.
datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
_MOST_ROWS, _ENOUGH_BYTES = 16, 8 * 2**20
_MOST_STREAMS = 4
_SHORT, _MOST_SHORT = 2**16, 256


# -- The way to the Hub -----------------------------------------------------------------------------------------------
class _Transport(httpx.BaseTransport):
    """Sends requests of the Hub's client to the other side, and short ones once: a commit stays as it is.

    `datasets` asks for the same lists and cards up to six times until it has opened a split.
    """

    ask: Ask

    def __init__(self) -> None:
        self._short: dict[tuple[str, ...], tuple[dict[str, Any], bytes]] = {}

    def forget(self) -> None:
        """Ask anew."""
        self._short.clear()

    def handle_request(self, request: Any) -> Any:
        """The answer of the Hub; 404 for what is none of its paths."""
        if str(request.url).startswith(constants.ENDPOINT):
            head, content = self._asked(request)
        else:
            head, content = {"status": 404, "headers": {}, "number": None}, b""
        stream = _Stream(self, content, head["number"])
        return httpx.Response(head["status"], headers=head["headers"], stream=stream, request=request)

    def _asked(self, request: Any) -> tuple[dict[str, Any], bytes]:
        told = {name: request.headers.get(name) for name in ("range", "content-type")}
        path, body = request.url.raw_path.decode(), request.read().decode("utf-8", "replace")
        key = (request.method, path, body, str(told))
        if key in self._short:
            return self._short[key]
        answer = self.ask("request", method=request.method, path=path, body=body, **told)
        head, content = answer.head, bytes(answer.body)
        if head["number"] is None and len(content) <= _SHORT and len(self._short) < _MOST_SHORT:
            self._short[key] = head, content
        return head, content


class _Stream(httpx.SyncByteStream):
    """The content of an answer, as it is asked for."""

    def __init__(self, transport: _Transport, content: bytes, number: int | None) -> None:
        self._transport, self._content, self._number = transport, content, number

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        while self._number is not None:
            answer = self._transport.ask("more", number=self._number)
            self._number = answer.head["number"]
            yield bytes(answer.body)


_TRANSPORT = _Transport()
set_client_factory(lambda: httpx.Client(transport=_TRANSPORT, follow_redirects=True, timeout=None))


# -- Jobs -------------------------------------------------------------------------------------------------------------
def configurations(settings: dict[str, Any], content: bytes | bytearray, ask: Ask) -> Iterator[Part]:
    """Names of the configurations."""
    _begin(settings, ask)
    yield _told(_configurations(settings))


def splits(settings: dict[str, Any], content: bytes | bytearray, ask: Ask) -> Iterator[Part]:
    """Names of the splits of a configuration."""
    _begin(settings, ask)
    _refuse_data_elsewhere(settings)
    yield _told(_splits(settings, settings["config"]))


def opened(settings: dict[str, Any], content: bytes | bytearray, ask: Ask) -> Iterator[Part]:
    """Open a split: which it is, and what its columns hold."""
    _begin(settings, ask)
    config, split = settings["config"], settings["split"]
    known = _configurations(settings)
    is_plain = len(known) == 1 or "default" in known
    chosen = config or (("default" if "default" in known else known[0]) if is_plain else None)
    if chosen not in known:
        known = sorted(known, key=lambda name: name != "default")
        raise UsageError(f"`config` must be one of {', '.join(known)}, got {shown(chosen) if chosen else 'none'}")
    there = sorted(_splits(settings, chosen), key=lambda name: name != "test")
    if split is None and len(there) == 1:
        split = there[0]
    if split not in there:
        raise UsageError.about("split", f"must be one of {', '.join(there)}, got {shown(split) if split else 'none'}")
    told = {"config": chosen, "split": split}
    rows = _opened(settings | told)
    if rows.features is not None:
        kinds = {title: kind_of_feature(feature) for title, feature in rows.features.items()}
    else:
        with in_words(settings["id"]):
            first: dict[str, Any] = next(iter(rows.take(1)), {})
        kinds = {title: kind_of_cell(cell) for title, cell in first.items()}
    stated = (rows.info.splits or {}).get(split)
    yield _told(told | {"kinds": kinds, "n_rows": stated.num_examples if stated is not None else None})


def rows(settings: dict[str, Any], content: bytes | bytearray, ask: Ask) -> Iterator[Part]:
    """Some rows from a number on, those of a stream that was begun before if there is one."""
    _begin(settings, ask)
    stream = _stream(settings)
    n_bytes = 0
    for _ in range(_MOST_ROWS):
        with in_words(settings["id"]):
            row = next(stream.rows, None)
        if row is None:
            break
        part = packed(row)
        n_bytes += len(part[1])
        stream.number += 1
        yield part
        if n_bytes > _ENOUGH_BYTES:
            break
    _STREAMS[settings["name"], *settings["titles"]] = stream
    while len(_STREAMS) > _MOST_STREAMS:
        _STREAMS.popitem(last=False)


def _begin(settings: dict[str, Any], ask: Ask) -> None:
    """Take the way to the Hub, and forget what was fetched for another reader, whose token may open more."""
    _TRANSPORT.ask = ask
    if [settings["name"]] != _LAST:
        _LAST[:] = [settings["name"]]
        _TRANSPORT.forget()
        HfFileSystem.clear_instance_cache()
        shutil.rmtree(constants.HF_HOME, ignore_errors=True)


_LAST: list[str] = []


def _told(value: Any) -> Part:
    return {}, json.dumps(value).encode()


@dataclass
class _Rows:
    """A stream of rows, and the number of the next one."""

    rows: Iterator[dict[str, Any]]
    number: int


_STREAMS: OrderedDict[tuple[str, ...], _Rows] = OrderedDict()


def _stream(settings: dict[str, Any]) -> _Rows:
    """The stream that stands at a row; taken out of those that are kept until that has gone well."""
    start, titles = settings["start"], settings["titles"]
    kept = _STREAMS.pop((settings["name"], *titles), None)
    if kept is not None and kept.number == start:
        return kept
    split = _opened(settings)
    with in_words(settings["id"]):
        chosen = split.select_columns(list(titles))
        return _Rows(iter(chosen.skip(start) if start else chosen), start)


def _own(settings: dict[str, Any]) -> dict[str, Any]:
    return {"revision": settings["revision"], "token": False}


def _path(settings: dict[str, Any]) -> str:
    """What `datasets` opens: never a folder of this machine that is called the same."""
    return f"hf://datasets/{settings['id']}"


def _configurations(settings: dict[str, Any]) -> list[str]:
    _refuse_data_elsewhere(settings)
    with in_words(settings["id"]):
        return list(datasets.get_dataset_config_names(_path(settings), **_own(settings)))


def _splits(settings: dict[str, Any], config: str) -> list[str]:
    with in_words(settings["id"]):
        return list(datasets.get_dataset_split_names(_path(settings), config, **_own(settings)))


def _opened(settings: dict[str, Any]) -> Any:
    with in_words(settings["id"]):
        builder = datasets.load_dataset_builder(_path(settings), settings["config"], **_own(settings))
        form = type(builder).__module__.rpartition(".")[2]
        if form not in _FORMS:
            raise UsageError.about("dataset", f"must be of one of the forms {', '.join(_FORMS)}, got {form}")
        found = builder.as_streaming_dataset(split=settings["split"])
        return found if found.features is None else found.decode(False)


def kind_of_feature(feature: Any) -> Kind:
    """What a column holds, by its feature."""
    if isinstance(feature, datasets.Value):
        return "text" if feature.dtype in ("string", "large_string") else "other"
    if isinstance(feature, datasets.Image):
        return "image"
    if isinstance(feature, datasets.Video):
        return "video"
    if isinstance(feature, dict):
        return "scores"
    inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
    if inner is None:
        return "other"
    return {"text": "texts", "image": "images"}.get(kind_of_feature(inner), "other")  # type: ignore[return-value]


# -- Data files that a README names elsewhere -------------------------------------------------------------------------
def _refuse_data_elsewhere(settings: dict[str, Any]) -> None:
    """Refuse metadata that names data files outside of the repository.

    `datasets` refuses them too, but asks their addresses first, which may lie within the network of this machine.
    """
    identity, revision = settings["id"], settings["revision"]
    for name in _METADATA:
        with in_words(identity):
            # Nothing is kept: the cache of the client has names that an answer chooses.
            files = HfFileSystem(token=False, skip_instance_cache=True)
            try:
                with files.open(f"datasets/{identity}@{revision}/{name}") as stream:
                    text = stream.read(_MOST_METADATA).decode("utf-8", "replace")
            except FileNotFoundError:
                continue
        if any(map(_leads_out, _data_files(text, is_card=name.endswith(".md")))):
            raise UsageError(
                f"`dataset` must have its data files in its own repository, got {identity!r}, which names others"
            )


def _data_files(text: str, *, is_card: bool) -> Iterator[str]:
    """Every text in the configurations that names data files."""
    if is_card:
        found = re.match(r"\s*---[ \t]*\r?\n(.*?)\r?\n---", text, re.DOTALL)
        text = found[1] if found else ""
    try:
        told = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"`dataset` must have a readable card, got {type(error).__name__} in its metadata") from error
    configs = told.get("configs") if isinstance(told, dict) else None
    for config in configs if isinstance(configs, list) else ():
        if isinstance(config, dict):
            yield from _texts([config.get("data_files"), config.get("data_dir")])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _leads_out(path: str) -> bool:
    return path.startswith(("/", "\\", "~")) or "://" in path or "::" in path or ".." in re.split(r"[/\\]", path)
