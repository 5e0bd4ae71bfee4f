"""Preconditions of using torch: installed packages, fork safety, device and numerical precision."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.core.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import torch

CLIP_PACKAGES = ("torch", "torchvision", "open_clip", "safetensors")
DETECTOR_PACKAGES = ("torch", "torchvision")
PAIR_PACKAGES = ("torch", "transformers", "safetensors")
SENTENCE_PACKAGES = ("torch", "transformers", "sentence_transformers", "safetensors")

# Linux process flag PF_FORKNOEXEC, set if a process was forked and has not executed another program since.
_FORKED_FLAG = 0x40


def _torch_was_here_before() -> bool:
    """Return whether this process may have been forked, before this module was imported, from one that had torch."""
    if "torch" not in sys.modules:
        return False
    try:
        # The flags are the ninth field. The second field, the name in parentheses, may contain spaces.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return bool(int(fields[6]) & _FORKED_FLAG)
    except (OSError, ValueError, IndexError):
        return False


# Whether vlgauge ran torch in this process, and whether this process was forked from one in which it had.
_ran = False
_forked = False
# Whether this process was forked from one that had imported torch, in which any code may have run it.
_forked_with_torch = _torch_was_here_before()


def missing_packages(user: str, packages: Sequence[str], extra: str) -> str:
    """Return an error message about packages that are not installed, without importing any. Empty if all are installed.

    Args:
        user: Component that needs the packages.
        packages: Names of their modules.
        extra: Extra that installs them.
    """
    missing = [name for name in dict.fromkeys(packages) if find_spec(name) is None]
    named = f"{user} requires packages that are not installed: {', '.join(missing)}"
    return f'{named}; run: pip install "vlgauge[{extra}]"' if missing else ""


def check_torch(user: str, packages: Sequence[str], extra: str) -> None:
    """Check that an encoder can run in this process, before any files are located or loaded.

    Args:
        user: Component that needs the packages, for the error message.
        packages: Names of their modules.
        extra: Extra of this package that installs them.

    Raises:
        ImportError: If packages are missing. The message names all of them.
        RuntimeError: If the process was forked after vlgauge had run torch.
    """
    if problem := missing_packages(user, packages, extra):
        raise MissingExtraError(problem)
    check_fork()


def check_fork() -> None:
    """Prevent torch from waiting for threads that do not exist after a fork. Call this before each use of a model.

    If torch was imported before the fork, by any code, it is limited to one thread, which cannot wait for others. The
    data loaders of PyTorch do the same.

    Raises:
        RuntimeError: If vlgauge had run torch before the fork.
    """
    if _forked:
        raise RuntimeError(
            "models cannot run in a process that was forked after PyTorch was used, because it would deadlock; "
            'start processes with multiprocessing.get_context("spawn"), or score in the main process'
        )
    if _forked_with_torch:
        import torch

        if torch.get_num_threads() > 1:
            torch.set_num_threads(1)


def resolve_device(device: str) -> str:
    """Resolve a device setting. ``"auto"`` selects the first available device of cuda, mps and cpu.

    Raises:
        ValueError: If the setting is not a device of this machine.
        RuntimeError: If the process was forked after vlgauge had run torch.
    """
    check_fork()
    import torch

    # Remember this for processes forked from this one.
    global _ran
    _ran = True
    if device != "auto":
        refusal = UsageError.about("device", f"must be 'auto' or a device of this machine, got {device!r:.60}")
        try:
            made = torch.empty(0, device=device)
        except (RuntimeError, AssertionError, TypeError, ValueError, ArithmeticError) as error:
            raise refusal from error
        if device is None or made.is_meta:  # torch accepts these, but computes nothing on them
            raise refusal
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _after_fork() -> None:
    global _forked, _forked_with_torch
    _forked = _forked or _ran
    _forked_with_torch = _forked_with_torch or "torch" in sys.modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_EXACT_LOCK = threading.Lock()
_exact_users = 0
_restore: Callable[[], None] | None = None


@contextmanager
def exact(device: torch.device | str) -> Iterator[None]:
    """Disable gradients, autocast and reduced float32 precision inside the context, even inside a training loop.

    TensorFloat-32 and bfloat16 in products and convolutions are switches of the process. Torch allows the former in
    convolutions on CUDA by default. The first thread that enters the context turns them off, and the last one restores
    them.
    """
    import torch

    global _exact_users, _restore
    # Parameters that are offloaded to disk have the device "meta", which computes nothing.
    kind = torch.device(device).type
    has_autocast = torch.amp.is_autocast_available(kind)
    with _EXACT_LOCK:
        if _exact_users == 0:
            _restore = _in_whole_float32()
        _exact_users += 1
    try:
        with torch.no_grad(), torch.autocast(kind, enabled=False) if has_autocast else nullcontext():
            yield
    finally:
        with _EXACT_LOCK:
            _exact_users -= 1
            if _exact_users == 0 and _restore is not None:
                _restore()
                _restore = None


def _in_whole_float32() -> Callable[[], None]:
    """Enable full float32 precision in products and convolutions, and return a function that restores the settings."""
    import torch

    of: Any = torch.backends
    # Settings of torch 2.9, which transformers uses. A setting of "none" inherits the one before it.
    newer: tuple[Any, ...] = ()
    if hasattr(of, "fp32_precision"):
        newer = (of, of.cudnn, of.mkldnn, of.cuda.matmul, of.cudnn.conv, of.cudnn.rnn)
        newer += (of.mkldnn.matmul, of.mkldnn.conv, of.mkldnn.rnn)
    before = [one.fp32_precision for one in newer]
    older: tuple[str, bool] | None = None
    with suppress(RuntimeError):  # raised if some newer settings are in use
        older = torch.get_float32_matmul_precision(), of.cudnn.allow_tf32

    def set_older(products: str, convolutions: bool) -> None:
        of.cudnn.allow_tf32 = convolutions
        if torch.get_float32_matmul_precision() != products:
            torch.set_float32_matmul_precision(products)

    def restore() -> None:
        if older is not None:
            set_older(*older)
        for one, value in zip(newer, before, strict=True):
            if one.fp32_precision != value:
                one.fp32_precision = "none"  # may inherit the previous value
            if one.fp32_precision != value:
                one.fp32_precision = value

    if older is not None:
        set_older("highest", False)
    if not {one.fp32_precision for one in newer} <= {"ieee", "none"}:  # the older settings did not cover all
        for one in newer:
            one.fp32_precision = "ieee"
    return restore
