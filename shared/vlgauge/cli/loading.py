"""A metric for one command, loaded without what the command cannot need."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import vlgauge


def load_metric(name: str, config_name: str | None = None, **settings: Any) -> Any:
    """The metric of that name, with its rows in memory.

    Raises:
        ValueError: If there is no such metric.
    """
    import_evaluate()
    return vlgauge.load(name, config_name, keep_in_memory=True, **settings)


def import_evaluate() -> None:
    """Import the host library without transformers.

    Its evaluator, which no command uses, imports all of transformers and torch where they are installed: four of the
    five seconds that a command on text took. A metric that needs them imports them itself.
    """
    if "evaluate" in sys.modules or "transformers" in sys.modules:
        return
    # None makes an import fail as if the package were absent.
    sys.modules["transformers"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("evaluate")
    finally:
        del sys.modules["transformers"]
