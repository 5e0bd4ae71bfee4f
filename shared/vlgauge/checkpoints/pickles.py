"""Plain pickles of lists, dictionaries, strings, numbers and NumPy arrays, read without executing anything."""

import io
import pickle
import pickletools
import re
import sys
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError, short_reason
from vlgauge.core.files import read_bytes

# Kind and size of the elements of an array: bool, integers, floats, strings, bytes, or "O" for objects.
_DTYPE = re.compile(r"\??|b1|[iu][1248]|f[248]|[US]\d{1,6}|O8?")

# Items of tuples that may be hashed per byte of the pickle, and for any pickle.
_ITEMS_PER_BYTE, _ITEMS_ANYWAY = 64, 2**16
_TUPLES = ("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3")
_SETS = ("EMPTY_SET", "FROZENSET", "ADDITEMS")
_PUTS = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE")
_GETS = ("GET", "BINGET", "LONG_BINGET")


def read_pickle(path: Path) -> Any:
    """Return the content of a pickle made of lists, tuples, dictionaries, strings, numbers and NumPy arrays.

    Raises:
        ValueError: If the pickle names anything else, is truncated, is not a pickle, or repeats tuples within tuples.
        OSError: If the file cannot be read.
    """
    data = read_bytes(path, f"`{path}`")
    reader = _Reader(io.BytesIO(data))
    try:
        check_opcodes(io.BytesIO(data), len(data))
        return reader.load()
    except Exception as error:
        # A truncated or forged pickle can raise nearly any exception.
        if reader.refused:
            raise UsageError(
                f"`{path}` must contain only lists, dictionaries, strings, numbers and NumPy arrays, got a "
                f"pickle that refers to {reader.refused}; nothing in it was executed"
            ) from None
        why = short_reason(error)
        raise UsageError(f"`{path}` must be a complete pickle, got a file that fails with: {why}") from None


def check_opcodes(stream: IO[bytes], size: int) -> None:
    """Check that loading the next pickle of a stream takes time and memory in proportion to its size.

    A tuple is hashed with everything in it each time it is a key. 60 tuples that each contain the previous one twice
    would take years.

    Args:
        stream: Stream, which is read to the end of the pickle.
        size: Number of bytes of the pickle.

    Raises:
        pickle.UnpicklingError: If an object is stored far beyond the size, tuples repeat within each other, or there is
            a set, because sets are compared in a similar way.
        ValueError: If the stream does not contain a pickle.
    """
    # Number of items in each object on the stack, with those of tuples in tuples. None is a mark.
    stack: list[int | None] = []
    stored: dict[int, int | None] = {}
    left = _ITEMS_PER_BYTE * size + _ITEMS_ANYWAY
    for code, argument, _ in pickletools.genops(stream):
        if code.name in _SETS:
            raise pickle.UnpicklingError("a set")
        if code.name in _PUTS:
            place = len(stored) if code.name == "MEMOIZE" else int(argument or 0)
            # The unpickler allocates memory up to the largest position.
            if place > size:
                raise pickle.UnpicklingError(f"position {place:,} of a stored object")
            stored[place] = stack[-1]
            continue
        if code.name in _GETS:
            stack.append(stored[int(argument or 0)])
        elif code.name == "DUP":
            stack.append(stack[-1])
        else:
            n_items = _pop_operands(stack, code)
            stack += [None if kind is pickletools.markobject else 1 for kind in code.stack_after]
            if code.name in _TUPLES:
                stack[-1] = 1 + n_items
        left -= (stack[-1] or 0) - 1 if stack else 0
        if left < 0:
            raise pickle.UnpicklingError("tuples that repeat within each other")


def _pop_operands(stack: list[int | None], code: pickletools.OpcodeInfo) -> int:
    """Remove the operands of an opcode from a stack and return the number of items in them."""
    kinds = code.stack_before
    n_items = 0
    if pickletools.stackslice in kinds:
        while (top := stack.pop()) is not None:
            n_items += top
        kinds = kinds[: kinds.index(pickletools.markobject)]
    return n_items + sum(stack.pop() or 0 for _ in kinds)


class _Dtype:
    """Array element type in a pickle: a code such as "f8" and a byte order."""

    __slots__ = ("code", "order")

    def __init__(self, code: Any) -> None:
        if not isinstance(code, str) or not _DTYPE.fullmatch(code):
            raise pickle.UnpicklingError(f"an array of elements {code!r}")
        self.code, self.order = code, "="

    def __setstate__(self, state: Any) -> None:
        self.order = state[1] if state[1] in ("<", ">") else "="

    def array(self, data: Any, shape: Any, order: Any = "C") -> npt.NDArray[Any]:
        wanted = list if self.code.startswith("O") else (bytes, bytearray)
        if not isinstance(data, wanted):
            raise pickle.UnpicklingError(f"an array made of {type(data).__name__}")
        if isinstance(data, list):
            found: npt.NDArray[Any] = np.fromiter(data, dtype=object, count=len(data))
        else:
            found = np.frombuffer(bytes(data), dtype=np.dtype(self.order + self.code))
            # NumPy converts any number to a string, even if it is not a valid character.
            if self.code.startswith("U") and found.size and found.view(f"{self.order}u4").max() > sys.maxunicode:
                raise pickle.UnpicklingError("an array of strings with numbers that are not characters")
        return found.reshape(shape, order=order)


class _Array(np.ndarray[Any, Any]):
    """Array that is filled from checked parts. NumPy itself would accept a forged dtype and read bytes as addresses."""

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, by_columns, data = state
        super().__setstate__(dtype.array(data, shape, "F" if by_columns else "C").__reduce__()[2])


class _Reader(pickle.Unpickler):
    """Unpickler that knows only replacements of the functions that build NumPy arrays.

    The replacements are bound methods, because a pickle can set attributes of functions and classes.
    """

    refused = ""

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("numpy", "ndarray"): "an array",  # an argument of _reconstruct, never called
            ("numpy", "dtype"): self._dtype,
            ("numpy._core.multiarray", "_reconstruct"): self._empty_array,
            ("numpy._core.multiarray", "scalar"): self._scalar,
            ("numpy._core.numeric", "_frombuffer"): self._from_buffer,
            ("_codecs", "encode"): self._latin,
            ("__builtin__", "bytes"): self._no_bytes,
        }
        # NumPy before version 2 has numpy.core.
        found = known.get((module.replace("numpy.core.", "numpy._core."), name))
        return self._refuse(f"{module}.{name}") if found is None else found

    def persistent_load(self, pid: Any) -> Any:
        self._refuse("an object outside the file")

    def _refuse(self, name: str) -> NoReturn:
        self.refused = name
        raise pickle.UnpicklingError(name)

    def _dtype(self, code: Any, *_: Any) -> _Dtype:
        return _Dtype(code)

    def _empty_array(self, *_: Any) -> _Array:
        return np.empty(0).view(_Array)

    def _from_buffer(self, data: Any, dtype: _Dtype, shape: Any, order: Any, *_: Any) -> npt.NDArray[Any]:
        return dtype.array(data, shape, order)

    def _scalar(self, dtype: _Dtype, data: Any) -> Any:
        # An object in an array could be a tuple whose items were not counted.
        if dtype.code.startswith("O"):
            raise pickle.UnpicklingError("a number of the type object")
        return dtype.array(data, ()).item()

    def _latin(self, text: str, encoding: str) -> bytes:
        """Return bytes that protocols 0 to 2 store as a string."""
        if encoding != "latin1":
            raise pickle.UnpicklingError(f"encoding {encoding!r}")
        return text.encode("latin1")

    def _no_bytes(self) -> bytes:
        return b""
