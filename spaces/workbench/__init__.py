"""Browser workbench that scores examples, files and datasets and explains the scores."""

from vlgauge.core.errors import MissingExtraError
from vlgauge.core.optional_dependencies import not_importable

try:
    import gradio  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        not_importable('`vlgauge_workbench` needs Gradio; run: pip install "vlgauge[workbench]"', error)
    ) from error

from vlgauge_workbench.app import app, launch

__all__ = ["app", "launch"]
