"""What is chosen for all tabs, and what their events have in common."""

from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from vlgauge.workbench.picker import html

# Two models run at a time.
MODEL: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 2}
# What is shown at once, and runs no model but for bundled examples, each once.
QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


@dataclass(frozen=True)
class Chosen:
    """What a visitor chose for all tabs.

    Attributes:
        metric: Which metric.
        config: Which configuration of it; not what can be clicked, which refuses what was chosen for another metric.
        profile: Which profile.
        form: Metric and configuration that the page has changed to.
        look: What the pickers show.
        pickers: One in each tab that needs it.
        after: What is done once the page has changed, each the keywords of an event. Not by `form.change`, which
            Gradio 6.31 calls after events of its queue alone.
    """

    metric: gr.Dropdown
    config: gr.Textbox
    profile: gr.Radio
    form: gr.State
    look: str
    pickers: list[Any] = field(default_factory=list)
    after: list[dict[str, Any]] = field(default_factory=list)

    def add_picker(self) -> None:
        """Add a button that says what is chosen, and opens the list of metrics."""
        self.pickers.append(html(self.look, "set", elem_classes="picker"))

    @property
    def inputs(self) -> list[Any]:
        """The first inputs of every event that scores."""
        return [self.metric, self.config, self.profile]
