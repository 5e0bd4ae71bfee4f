"""What is made sure of where torch is used: its packages, that it can still run here, the device, the precision."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import torch

CLIP_PACKAGES = ("torch", "torchvision", "open_clip", "safetensors")
DETECTOR_PACKAGES = ("torch", "torchvision")
PAIR_PACKAGES = ("torch", "transformers", "safetensors")
SENTENCE_PACKAGES = ("torch", "transformers", "sentence_transformers", "safetensors")

# What Linux says of a process that was forked and has started no other program since (PF_FORKNOEXEC).
_FORKED_FLAG = 0x40


def _torch_was_here_before() -> bool:
    """Whether this process may be a fork of one that had torch, where this file itself is imported after the fork."""
    if "torch" not in sys.modules:
        return False
    try:
        # The flags are the ninth field; the second, the name in brackets, may hold spaces.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return bool(int(fields[6]) & _FORKED_FLAG)
    except (OSError, ValueError, IndexError):
        return False


# Whether vlgauge ran torch in this process, and whether this process was forked from one where it had.
_ran = False
_forked = False
# Whether this process was forked from one that had imported torch, where anybody may have run it.
_forked_with_torch = _torch_was_here_before()


def missing_packages(user: str, packages: Sequence[str], extra: str) -> str:
    """What to say of packages that are not installed; empty if all are. Looks, imports nothing."""
    missing = [name for name in dict.fromkeys(packages) if find_spec(name) is None]
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
        raise MissingExtraError(told)
    check_fork()


def check_fork() -> None:
    """See to it that torch does not wait for threads that a fork did not copy; before each use of a model.

    Where torch was imported before the fork, by whomever, it gets one thread here, with which it waits for no other,
    as PyTorch's own data loaders do it.

    Raises:
        RuntimeError: If vlgauge itself had run torch before the fork.
    """
    if _forked:
        raise RuntimeError(
            "models cannot run in this process: it was forked from one where torch had run, and would wait for ever; "
            'start processes with "spawn" (multiprocessing.get_context("spawn")), or score in the first one'
        )
    if _forked_with_torch:
        import torch

        if torch.get_num_threads() > 1:
            torch.set_num_threads(1)


def resolved_device(device: str) -> str:
    """The device of a setting, on which torch is about to run: of ``"auto"`` the first of cuda, mps, cpu that is there.

    Raises:
        ValueError: If it is no device of this machine.
    """
    check_fork()
    import torch

    # Remembered for processes that will be forked from this one.
    global _ran
    _ran = True
    if device != "auto":
        told = f"`device` must be 'auto' or a device of this machine, got {device!r:.60}"
        try:
            made = torch.empty(0, device=device)
        except (RuntimeError, AssertionError, TypeError, ValueError, ArithmeticError) as error:
            raise UsageError(told) from error
        if device is None or made.is_meta:  # which torch takes, and on which nothing is computed
            raise UsageError(told)
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
    """Without gradients and autocast, and in whole float32, whatever a training loop around it asks of torch.

    TensorFloat-32 and bfloat16 in products and convolutions are switches of the process, of which torch allows the
    former in convolutions on CUDA by default: the first thread in turns them off, the last one out restores them.
    """
    import torch

    global _exact_users, _restore
    # Parameters that lie on the disk are on the device "meta", which computes nothing.
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
    """Let products and convolutions have the precision of their numbers; what is returned puts back what was there."""
    import torch

    of: Any = torch.backends
    # The switches of torch 2.9, which transformers uses. What one of them leaves open is as those before it say.
    newer: tuple[Any, ...] = ()
    if hasattr(of, "fp32_precision"):
        newer = (of, of.cudnn, of.mkldnn, of.cuda.matmul, of.cudnn.conv, of.cudnn.rnn)
        newer += (of.mkldnn.matmul, of.mkldnn.conv, of.mkldnn.rnn)
    before = [one.fp32_precision for one in newer]
    older: tuple[str, bool] | None = None
    with suppress(RuntimeError):  # beside some of the newer ones
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
                one.fp32_precision = "none"  # which may be what those before it say
            if one.fp32_precision != value:
                one.fp32_precision = value

    if older is not None:
        set_older("highest", False)
    if not {one.fp32_precision for one in newer} <= {"ieee", "none"}:  # there were none, or not only, older ones
        for one in newer:
            one.fp32_precision = "ieee"
    return restore
