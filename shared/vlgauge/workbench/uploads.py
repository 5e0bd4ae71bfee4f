"""Which files a visitor may name: those that were uploaded to this server, and the bundled ones."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

from vlgauge.errors import UsageError
from vlgauge.explain.examples import PICTURES


def _is_in(folder: Path | str, path: str) -> bool:
    try:
        file = Path(path).resolve()
        return file.is_relative_to(Path(folder).resolve()) and file.is_file()
    except (ValueError, OSError, RuntimeError):
        return False


def is_upload(value: Any) -> bool:
    """Whether a value of a call is an uploaded file, as ``gradio_client.handle_file`` sends it."""
    return isinstance(value, dict) and isinstance(value.get("path"), str) and _is_in(get_upload_folder(), value["path"])


def refuse_others(paths: Iterable[str]) -> None:
    """Refuse files that were not uploaded.

    Gradio 6.31 checks this for every component but `gradio.Gallery`, which takes any path of the server from a call
    that leaves out the mark of a file.

    Raises:
        UsageError: If one was not.
    """
    if not all(_is_in(get_upload_folder(), path) or _is_in(PICTURES, path) for path in paths):
        raise UsageError("a file must be one that was uploaded here, got another path; choose the file again")
