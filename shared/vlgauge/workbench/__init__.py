"""Trying metrics in a browser: one example with what explains its score."""

try:
    import gradio  # noqa: F401
except ImportError as error:
    raise ImportError('`vlgauge.workbench` needs Gradio; run: pip install "vlgauge[workbench]"') from error

from vlgauge.workbench.app import app, launch

__all__ = ["app", "launch"]
