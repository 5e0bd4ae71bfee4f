"""Selection shared by all tabs, and common options of their events."""

from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from vlgauge_workbench.picker import html

NONE = "(none)"  # choice of no column
# At most two events with models run at the same time.
MODEL: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 2}
# Events with an immediate response. They run models only for bundled examples, once each.
QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


@dataclass(frozen=True)
class Selection:
    """Selection of the user, shared by all tabs.

    Attributes:
        metric: Name of the metric.
        config: Configuration of the metric. A text field, because a list of choices would reject the configuration of
            another metric.
        profile: Profile of the models.
        tokenizer: Name of the tokenizer. Empty for the default of the metric.
        form: Metric and configuration that the page shows.
        look: Markup of the pickers.
        pickers: Pickers of all tabs that have one.
        after: Keyword arguments of the events that run after the page has changed. `form.change` cannot be used,
            because Gradio 6.31 triggers it only after events of its queue.
    """

    metric: gr.Dropdown
    config: gr.Textbox
    profile: gr.Radio
    tokenizer: gr.Textbox
    form: gr.State
    look: str
    pickers: list[Any] = field(default_factory=list)
    after: list[dict[str, Any]] = field(default_factory=list)

    def add_picker(self) -> None:
        """Add a button that shows the selection and opens the list of metrics."""
        self.pickers.append(html(self.look, "set", elem_classes="picker"))

    @property
    def inputs(self) -> list[Any]:
        """First inputs of every event that scores: the components of metric, configuration and profile."""
        return [self.metric, self.config, self.profile]
