"""What is made sure of before torch is used: that its packages are there, and that it can still run in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec

CLIP_PACKAGES = ("torch", "torchvision", "open_clip", "safetensors")
DETECTOR_PACKAGES = ("torch", "torchvision")
PAIR_PACKAGES = ("torch", "transformers", "safetensors")
SENTENCE_PACKAGES = ("torch", "transformers", "sentence_transformers", "safetensors")

# Whether torch ran in this process, and whether this process was forked from one where it had.
_ran = False
_forked = False


def without(packages: Sequence[str]) -> list[str]:
    """Those of the packages that are not installed; looks, imports nothing."""
    return [name for name in dict.fromkeys(packages) if find_spec(name) is None]


def missing_packages(user: str, packages: Sequence[str], extra: str) -> str:
    """What to say of packages that are not installed; empty if all are."""
    missing = without(packages)
    return f'{user} needs {", ".join(missing)}, not installed here; run: pip install "vlgauge[{extra}]"' * bool(missing)


def check_torch(user: str, packages: Sequence[str], extra: str) -> None:
    """Check, before anything is looked for or loaded, that an encoder can run in this process.

    Args:
        user: What needs the packages, for the message.
        packages: Their modules.
        extra: The extra of this package that brings them.

    Raises:
        ImportError: If a package is missing; names them all.
        RuntimeError: If the process was forked after torch had run.
    """
    if told := missing_packages(user, packages, extra):
        raise ImportError(told)
    refuse_forked()


def refuse_forked() -> None:
    """RuntimeError in a process that was forked after torch had run: its threads are gone, and torch waits for them."""
    if _forked:
        raise RuntimeError(
            "models cannot run in this process, because it was forked from one in which torch had run and would wait "
            'for ever; start processes with "spawn" (multiprocessing.get_context("spawn")), or score in the first one'
        )


def note_use() -> None:
    """Remember that torch is about to run here, for processes that will be forked from this one."""
    global _ran
    _ran = True


def _after_fork() -> None:
    global _forked
    _forked = _forked or _ran


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
