"""Reading pickles that strangers made: lists, dictionaries, texts, numbers and numpy arrays; nothing is executed."""

import io
import pickle
import pickletools
import re
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vlgauge.errors import UsageError
from vlgauge.files import MAX_DEPTH, read_bytes

# Kind and size of the elements of an array: bool, integers, floats, texts, bytes; "O" for objects.
_ELEMENTS = re.compile(r"\??|b1|[iu][1248]|f[248]|[US]\d{1,6}|O8?")


class Steps:
    """Steps that are left: each byte of a pickle makes an object at most, but objects can be used more than once.

    One of them counts for a whole file: an object that is made, or a byte or an item that is copied, is a step.
    """

    def __init__(self, size: int) -> None:
        self.left = 100_000 + 16 * size

    def take(self, n: int) -> None:
        """UnpicklingError where so many are not left."""
        self.left -= n
        if self.left < 0:
            raise pickle.UnpicklingError("objects that are used too often within each other")


def read_pickle(path: Path) -> Any:
    """What a pickle holds, if that is made of lists, tuples, dictionaries, texts, numbers and numpy arrays.

    Raises:
        ValueError: If it asks for anything else, which is named and not looked up, is cut short or no pickle, or is
            made to take more time or memory than its size allows.
        OSError: If it cannot be read.
    """
    data = read_bytes(path, f"`{path}`")
    file, steps = io.BytesIO(data), Steps(len(data))
    reader = _Reader(file, steps)
    try:
        check_pickle(file)
        file.seek(0)
        return _plain(reader.load(), steps)
    except Exception as error:
        # The unpickler trusts its input: a cut or made-up file raises nearly anything.
        if reader.refused:
            raise UsageError(
                f"`{path}` must hold nothing but lists, dictionaries, texts, numbers and numpy arrays, got a pickle "
                f"that asks for {reader.refused}; nothing in it was executed"
            ) from None
        # That of a MemoryError is empty.
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(f"`{path}` must be a whole pickle, got a file that fails with: {why}") from None


def check_pickle(file: IO[bytes]) -> None:
    """Go through a pickle without making anything, up to its end.

    Python's own reader makes room for as many objects as the pickle says that it remembers, and finds the hash of a key
    by recursion through the tuples in it, each as often as it is used.

    Raises:
        UnpicklingError: If it would take more than its size allows.
        ValueError: If it is cut short or no pickle.
    """
    start = file.tell()
    steps = Steps(file.seek(0, io.SEEK_END) - start)
    file.seek(start)
    # Depth and number of parts of the tuples on the stack and of those remembered; None is a mark.
    stack: list[tuple[int, int] | None] = []
    remembered: dict[int, tuple[int, int]] = {}
    for n_read, (code, argument, _) in enumerate(pickletools.genops(file)):
        taken = _taken(stack, code)
        n_parts = sum(parts for _, parts in taken) + 1
        steps.take(n_parts)
        name = code.name
        if name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            index = len(remembered) if argument is None else int(argument)
            if index > n_read:
                raise pickle.UnpicklingError(f"place {index:,} for what it remembers, after {n_read:,} objects")
            stack += taken
            remembered[index] = taken[-1] if taken else (0, 1)
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(remembered.get(int(argument or 0), (0, 1)))
        elif name == "DUP":
            stack += taken * 2
        elif name == "MARK":
            stack.append(None)
        elif name.startswith(("TUPLE", "FROZENSET")):
            depth = max((depth for depth, _ in taken), default=0) + 1
            if depth > MAX_DEPTH:
                raise pickle.UnpicklingError(f"tuples more than {MAX_DEPTH} deep within each other")
            stack.append((depth, n_parts))
        else:
            stack += [(0, 1)] * len(code.stack_after)


def _taken(stack: list[tuple[int, int] | None], code: Any) -> list[tuple[int, int]]:
    """What a step takes from the stack."""
    taken: list[tuple[int, int]] = []
    wanted = [one.name for one in code.stack_before]
    if "mark" in wanted:
        while stack and (top := stack.pop()) is not None:
            taken.append(top)
        wanted = wanted[: wanted.index("mark")]
    elif code.name == "MEMOIZE" or code.name.endswith("PUT"):
        wanted = ["any"]
    for _ in wanted:
        if stack and (top := stack.pop()) is not None:
            taken.append(top)
    return taken


class _Elements:
    """The type of the elements of an array, as it is written: a code such as "f8", and an order of bytes."""

    __slots__ = ("code", "order", "steps")

    def __init__(self, code: Any, steps: Steps) -> None:
        if not isinstance(code, str) or not _ELEMENTS.fullmatch(code):
            raise pickle.UnpicklingError(f"an array of elements {code!r}")
        self.code, self.order, self.steps = code, "=", steps

    def __setstate__(self, state: Any) -> None:
        if state[1] in ("<", ">"):
            self.order = state[1]

    def array(self, data: Any, shape: Any, *, by_columns: bool = False) -> npt.NDArray[Any]:
        """The array of bytes, or of a list of objects; numpy refuses those that do not fill the shape."""
        wanted = list if self.code.startswith("O") else (bytes, bytearray)
        if not isinstance(data, wanted):
            raise pickle.UnpicklingError(f"an array made of {type(data).__name__}")
        self.steps.take(len(data))
        if wanted is not list:
            found = np.frombuffer(bytes(data), dtype=np.dtype(self.order + self.code))
            # numpy would make texts of numbers that are no characters.
            if self.code.startswith("U") and found.size and found.view(f"{self.order}u4").max() > sys.maxunicode:
                raise pickle.UnpicklingError("an array of texts with numbers that are no characters")
            return found.reshape(shape, order="F" if by_columns else "C")
        objects = np.empty(len(data), dtype=object)
        for row, value in enumerate(data):
            objects[row] = _plain(value, self.steps)
        return objects.reshape(shape)


class _Array:
    """An array that is being read."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: npt.NDArray[Any] = np.empty(0)

    def __setstate__(self, state: Any) -> None:
        _, shape, elements, by_columns, data = state
        self.value = elements.array(data, shape, by_columns=bool(by_columns))


class _Reader(pickle.Unpickler):
    """An unpickler that knows stand-ins for what builds an array, and nothing else.

    The functions of numpy themselves will not do: a made-up type of elements has them take bytes for addresses. The
    stand-ins are bound methods, whose attributes a pickle cannot set.
    """

    def __init__(self, file: io.BytesIO, steps: Steps) -> None:
        super().__init__(file)
        self.refused, self._steps = "", steps

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for that function or class."""
        known = {
            ("numpy", "ndarray"): "an array",  # handed to _reconstruct, never called
            ("numpy", "dtype"): self._elements,
            ("numpy._core.multiarray", "_reconstruct"): self._array,
            ("numpy._core.multiarray", "scalar"): self._scalar,
            ("numpy._core.numeric", "_frombuffer"): self._from_buffer,
            ("_codecs", "encode"): self._latin,
            ("__builtin__", "bytes"): self._no_bytes,
        }
        # numpy.core is numpy before its version 2.
        stand_in = known.get((module.replace("numpy.core.", "numpy._core."), name))
        if stand_in is None:
            self.refused = f"{module}.{name}"
            raise pickle.UnpicklingError(self.refused)
        return stand_in

    def persistent_load(self, pid: Any) -> Any:
        """Refuse what lies outside the file."""
        self.refused = "an object outside the file"
        raise pickle.UnpicklingError(self.refused)

    def _elements(self, code: Any, *_: Any) -> _Elements:
        return _Elements(code, self._steps)

    def _array(self, *_: Any) -> _Array:
        return _Array()

    def _from_buffer(self, data: Any, elements: _Elements, shape: Any, order: Any, *_: Any) -> npt.NDArray[Any]:
        return elements.array(data, shape, by_columns=order == "F")

    def _scalar(self, elements: _Elements, data: Any) -> Any:
        return elements.array(data, ()).item()

    def _latin(self, text: str, encoding: str) -> bytes:
        """How the old protocols write the bytes of an array."""
        if encoding != "latin1":
            raise pickle.UnpicklingError(f"encoding {encoding!r}")
        self._steps.take(len(text))
        return text.encode("latin1")

    def _no_bytes(self) -> bytes:
        """How they write the bytes of an empty array."""
        return b""


def _plain(value: Any, steps: Steps, depth: int = 0) -> Any:
    """The value, with arrays in the place of those that were being read.

    Raises:
        UnpicklingError: If a part of an array stands where data should, or there is too much of it.
    """
    steps.take(1)
    if depth > MAX_DEPTH:
        raise pickle.UnpicklingError(f"objects more than {MAX_DEPTH} deep within each other")
    if isinstance(value, _Array):
        return value.value
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item, steps, depth + 1) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item, steps, depth + 1) for key, item in value.items()}
    if isinstance(value, (_Elements, set, frozenset)) or callable(value):
        raise pickle.UnpicklingError("a set, or a part of an array in the place of data")
    return value
