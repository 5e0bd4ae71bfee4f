"""Trying metrics in a browser: one example, or a file, with what explains the scores."""

try:
    import gradio  # noqa: F401
except ImportError as error:
    raise ImportError('`vlgauge.workbench` needs Gradio; run: pip install "vlgauge[workbench]"') from error

from vlgauge.workbench.app import app, launch

__all__ = ["app", "launch"]
