"""Check that users name only files that were uploaded to this server, or bundled ones."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

from vlgauge.core.errors import UsageError
from vlgauge.explain.examples import IMAGES


def _is_in(folder: Path | str, path: str) -> bool:
    try:
        file = Path(path).resolve()
        return file.is_relative_to(Path(folder).resolve()) and file.is_file()
    except (ValueError, OSError, RuntimeError):
        return False


def is_upload(value: Any) -> bool:
    """Return whether an argument of a call is an uploaded file, as sent by ``gradio_client.handle_file``."""
    return isinstance(value, dict) and isinstance(value.get("path"), str) and _is_in(get_upload_folder(), value["path"])


def check_uploads(paths: Iterable[str]) -> None:
    """Check that all files were uploaded or are bundled.

    Gradio 6.31 checks this for every component but `gradio.Gallery`, which accepts any path of the server from a call
    without the type marker of files.

    Raises:
        UsageError: If a file was not.
    """
    if not all(_is_in(get_upload_folder(), path) or _is_in(IMAGES, path) for path in paths):
        raise UsageError("a file must be uploaded here, got another path; select the file again")
