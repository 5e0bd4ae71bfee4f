"""A page that takes no value that its fields do not offer, and says so in one line."""

import math
from typing import Any

import gradio as gr

from vlgauge.errors import UsageError
from vlgauge.workbench.errors import log_refusal
from vlgauge.workbench.hosting import OWN_MACHINE, Hosting

FORGED = "a field must hold what the page offers for it, got something else; load the page again"


class CheckedPage(gr.Blocks):
    """`gradio.Blocks` that write no traceback for a value that no field can have."""

    def __init__(self, hosting: Hosting = OWN_MACHINE, **options: Any) -> None:
        super().__init__(**options)
        self.hosting = hosting

    async def preprocess_data(self, block_fn: Any, *given: Any, **options: Any) -> list[Any]:
        """The values as functions take them.

        Raises:
            gr.Error: If a field cannot have its value.
        """
        try:
            values = await super().preprocess_data(block_fn, *given, **options)
            return [_checked(component, value) for component, value in zip(block_fn.inputs, values, strict=True)]
        except Exception as error:
            log_refusal(f"{FORGED} (call of {block_fn.name})")
            raise gr.Error(FORGED, title="Not taken", print_exception=False) from error


def _checked(component: Any, value: Any) -> Any:
    """A value of a field, as what functions take for one.

    Gradio 6.31 hands on anything as the own value of a list that may have one, and nothing as a text.
    """
    if isinstance(component, gr.Textbox):
        return "" if value is None else value
    cells = value if isinstance(value, list) and getattr(component, "multiselect", False) else [value]
    if isinstance(component, gr.Dropdown) and not all(one is None or isinstance(one, str) for one in cells):
        raise UsageError("a choice must be a text")
    if isinstance(component, gr.Number) and value is not None and not math.isfinite(value):
        raise UsageError("a number must be finite")
    return value
