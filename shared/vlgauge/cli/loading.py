"""A metric for one command."""

from __future__ import annotations

from typing import Any

import vlgauge


def load_metric(name: str, config_name: str | None = None, **settings: Any) -> Any:
    """The metric of that name, with its rows in memory.

    Raises:
        ValueError: If there is no such metric.
    """
    return vlgauge.load(name, config_name, keep_in_memory=True, **settings)
