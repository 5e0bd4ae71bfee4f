"""Which pickles torch may read: those that ask for what state dicts are made of, and copy nothing many times.

Torch's own reader of weights also makes byte arrays, sets, tensors of any size and ordered dictionaries of anything,
each as often as a few bytes say.
"""

import io
import pickle
import re
from collections.abc import Sequence, Sized
from typing import IO, Any

from vlgauge.weights.pickles import Steps, check_pickle

# What torch.save writes for tensors, parameters, sizes, devices, the kinds of numbers, and schedules of learning rates.
_KNOWN = re.compile(
    r"collections (OrderedDict|Counter)|torch\._utils (_rebuild_tensor(_v2)?|_rebuild_parameter(_with_state)?)"
    r"|torch (Size|device|\w+Storage|bool|u?int\d+|b?float\d+\w*|complex\d+)|torch\.storage (Typed|Untyped)Storage"
)


class RefusedName(pickle.UnpicklingError):
    """What a pickle asks for, and must not."""


def check_torch_pickle(file: IO[bytes], allowed: Sequence[type] = ()) -> None:
    """Go through a pickle with stand-ins in the place of all that it asks for, up to its end.

    Raises:
        RefusedName: If it asks for anything else.
        UnpicklingError: If it would take more than its size allows.
        ValueError: If it is cut short or no pickle.
    """
    start = file.tell()
    check_pickle(file)
    size = file.tell() - start
    file.seek(start)
    _Reader(io.BytesIO(file.read(size)), Steps(size), allowed).load()


class _Reader(pickle.Unpickler):
    """An unpickler that makes nothing, and counts what torch's would copy."""

    def __init__(self, file: IO[bytes], steps: Steps, allowed: Sequence[type]) -> None:
        # Texts of Python 2 may be no ASCII.
        super().__init__(file, encoding="bytes")
        self._allowed = {f"{kind.__module__} {kind.__qualname__}" for kind in allowed}

        class StandIn(dict[Any, Any]):
            """What is called with anything and filled with anything, each part of which is a step."""

            def __new__(cls, *arguments: Any) -> "StandIn":
                steps.take(1 + sum(len(part) for part in arguments if isinstance(part, Sized)))
                return super().__new__(cls)

            def __init__(self, *arguments: Any) -> None:
                super().__init__()

            def __setstate__(self, state: Any) -> None:
                steps.take(1 + (len(state) if isinstance(state, Sized) else 0))

            def __hash__(self) -> int:  # type: ignore[override]
                return id(self)

        self._stand_in = StandIn

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for a function or class."""
        if not _KNOWN.fullmatch(f"{module} {name}") and f"{module} {name}" not in self._allowed:
            raise RefusedName(f"{module}.{name}".removeprefix("builtins."))
        return self._stand_in

    def persistent_load(self, pid: Any) -> Any:
        """The stand-in for the numbers of a tensor."""
        return self._stand_in()
