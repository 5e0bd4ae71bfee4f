"""Browser workbench that scores examples, files and datasets and explains the scores."""

from vlgauge.errors import MissingExtraError
from vlgauge.installed import not_importable

try:
    import gradio  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        not_importable('`vlgauge.workbench` needs Gradio; run: pip install "vlgauge[workbench]"', error)
    ) from error

from vlgauge.workbench.app import app, launch

__all__ = ["app", "launch"]
