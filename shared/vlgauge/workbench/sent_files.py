"""What is wrong with the file objects of a call that are none of this server's uploads.

Gradio 6.31 fetches a file object whose ``path`` is an address, takes any path of the server for a picture of a gallery
that does not say that it is a file, and writes a traceback to the log for one that it cannot read.
"""

from collections.abc import Collection, Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gradio.data_classes import FileData, GradioModel, GradioRootModel
from gradio.utils import get_upload_folder
from pydantic import ValidationError

from vlgauge.files import is_address

_MARK = "gradio.FileData"


def fault_of_files(call: Any, function: Any, values: Sequence[Any], hosts: Collection[str]) -> str:
    """What is wrong with the files of a call; empty for nothing."""
    return _files_fault(call, hosts) or _components_fault(function, values, hosts)


def _components_fault(function: Any, values: Sequence[Any], hosts: Collection[str]) -> str:
    """The same of the values as their components read them, also where they do not say that they are files."""
    for component, value in zip(getattr(function, "inputs", ()), values, strict=False):
        model = getattr(component, "data_model", None)
        if value is None or model is None or not issubclass(model, (GradioModel, GradioRootModel)):
            continue
        try:
            read = model.model_validate(value, context={"validate_meta": True}).model_dump()
        except (ValidationError, TypeError, AttributeError):
            return f"something else for {getattr(component, 'label', None) or 'a field'}"
        if why := _files_fault(read, hosts):
            return why
    return ""


def _files_fault(value: Any, hosts: Collection[str]) -> str:
    """What is wrong with the first such file in a value; empty for nothing."""
    return next(filter(None, (_file_fault(one, hosts) for one in _objects(value) if _is_file(one))), "")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            yield one
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()


def _is_file(one: dict[str, Any]) -> bool:
    meta = one.get("meta")
    return isinstance(meta, dict) and meta.get("_type") == _MARK


def _file_fault(one: dict[str, Any], hosts: Collection[str]) -> str:
    """What is wrong with a file object; empty for nothing."""
    try:
        file = FileData.model_validate(one)
    except ValidationError as error:
        return f"a file object whose {'.'.join(map(str, error.errors()[0]['loc'])) or 'form'} is wrong"
    if is_address(file.path):
        return "an address"
    try:
        host = urlsplit(file.url or "").hostname
        is_there = _is_upload(file.path)
    except (ValueError, OSError):
        return "a path or an address that can be none"
    if host is not None and host not in hosts:
        return "the address of another server"
    return "" if is_there else "another path"


def _is_upload(path: str) -> bool:
    """Whether a path is that of a file that was uploaded to this server."""
    return Path(path).resolve().is_relative_to(Path(get_upload_folder()).resolve()) and Path(path).is_file()


def is_upload(value: Any) -> bool:
    """Whether a value of a call is an uploaded file, as ``gradio_client.handle_file`` sends it."""
    try:
        return isinstance(value, dict) and _is_file(value) and _is_upload(value["path"])
    except (KeyError, TypeError, ValueError, OSError):
        return False


def own_hosts(scope: MutableMapping[str, Any]) -> set[str]:
    """Names by which this server was asked, a proxy before it included."""
    named = [value.decode("latin-1") for name, value in scope["headers"] if name in (b"host", b"x-forwarded-host")]
    hosts = set()
    for one in ",".join(named).split(","):
        try:
            hosts.add(urlsplit(f"//{one.strip()}").hostname or "")
        except ValueError:
            continue
    return hosts
