"""How a number was made, in one line: ``trm|v:0.1.0|profile:paper|distance:meteor-2007+wn3.0|ties:fractional``."""

import hashlib
from collections.abc import Mapping
from functools import partial
from types import CodeType, EllipsisType, NoneType
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from vlgauge.errors import UsageError

# All that ASCII can print but "%", "|" and the space, so that a signature is one word and is split at every "|".
_PLAIN = "!\"#$&'()*+,-./:;<=>?@[\\]^_`{}~"


TOY_NUMBERS = "rank drawn scenes and say nothing about photographs or people's stories"
"""What the numbers of a toy do; see `made_by_toy`."""


def format_signature(name: str, fields: Mapping[str, Any]) -> str:
    """The signature of a name and of fields, in their order.

    Args:
        name: Of a metric or of a protocol.
        fields: Values by key, each as `named` shows it.
    """
    shown = [f"{_encoded(key, colon=False)}:{_encoded(str(named(value)))}" for key, value in fields.items()]
    return "|".join([_encoded(name), *shown])


def parse_signature(text: str) -> tuple[str, dict[str, str]]:
    """Name and fields of a signature; the text of each value.

    Raises:
        ValueError: If a field has no key, or a key stands twice.
    """
    name, *parts = text.split("|")
    fields: dict[str, str] = {}
    for part in parts:
        key, colon, value = part.partition(":")
        if not colon or _decoded(key) in fields:
            raise UsageError(f"`text` must be a signature, NAME|KEY:VALUE|... with each key once, got {part!r} in it")
        fields[_decoded(key)] = _decoded(value)
    return _decoded(name), fields


def unlike_fields(one: str, other: str) -> str:
    """Where two signatures differ, such as "context pair and prefix"; nothing where they have the same fields.

    Raises:
        ValueError: If one of them is no signature.
    """
    first, second = (parse_signature(text)[1] for text in (one, other))
    unlike = [key for key in dict.fromkeys([*first, *second]) if first.get(key) != second.get(key)]
    return ", ".join(f"{key} {first.get(key, 'absent')} and {second.get(key, 'absent')}" for key in unlike)


def made_by_toy(text: str) -> bool:
    """Whether a toy made a number: an encoder of our own under the embedded profile, or, as of rovist, parts of it."""
    fields = parse_signature(text)[1]
    return fields.get("profile") == "embedded" and (fields.get("enc", "").startswith("vlgauge-") or "parts" in fields)


def named(value: Any) -> Any:
    """A setting as the signature shows it: a function or an object by its name, a whole number without its ".0".

    The name of a lambda or of a function inside of another, which others may share, ends in a digest of its code, that
    of a `functools.partial` in one of the arguments that it holds. What a closure, a default argument or an object
    holds is not in it: two objects of one class, their methods too, have one name.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if value is None or isinstance(value, (str, int, tuple)):
        return value
    return f"custom({_name_of(value)})"


def _name_of(value: Any) -> str:
    """Name of a function or of the class of an object, with a digest where others share it."""
    if isinstance(value, partial):
        held = f"{_constant(value.args)} {_constant(value.keywords)}"
        return f"functools.partial({_name_of(value.func)})@{_digest(held)[:8]}"
    if isinstance(value, np.ufunc):
        # NumPy 2.0 gives it no other name, and those of SciPy do not say where they are from.
        is_numpys = getattr(np, value.__name__, None) is value
        return f"numpy.{value.__name__}" if is_numpys else f"numpy.ufunc({value.__name__})"
    kind = value if hasattr(value, "__qualname__") else type(value)
    # Methods of builtin types, such as str.split, name no module; a spawned process has the main one by another name.
    module = (getattr(kind, "__module__", None) or "builtins").replace("__mp_main__", "__main__")
    code = getattr(kind, "__code__", None)
    digest = f"@{_code_digest(code)[:8]}" if "<" in kind.__qualname__ and isinstance(code, CodeType) else ""
    return f"{module}.{kind.__qualname__}{digest}"


def _code_digest(code: CodeType) -> str:
    """SHA-256 of what compiled code does, in hexadecimal digits, wherever it stands."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    told = f"{code.co_code.hex()} {names} {code.co_argcount} {code.co_flags} {_constant(code.co_consts)}"
    return _digest(told)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _constant(value: Any) -> str:
    """A constant of compiled code, or an argument, as a text that is the same in every process."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, CodeType):
        return _code_digest(value)
    if isinstance(value, tuple):
        return f"({','.join(map(_constant, value))})"
    if isinstance(value, list):
        return f"[{','.join(map(_constant, value))}]"
    if isinstance(value, (set, frozenset)):  # whose order depends on the hash seed
        return f"{{{','.join(sorted(map(_constant, value)))}}}"
    if isinstance(value, dict):
        return f"{{{','.join(sorted(f'{_constant(key)}:{_constant(own)}' for key, own in value.items()))}}}"
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"{value.dtype.str}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    plain = isinstance(value, (str, bytes, int, float, complex, EllipsisType, NoneType))
    return repr(value) if plain else _name_of(value)


def local_name(sha256: str) -> str:
    """Name of an encoder that the user brings as a file or a folder, wherever that lies.

    Args:
        sha256: Digest of its weights; where tokenizer and configuration come with them, of all these files.
    """
    return f"local@sha256-{sha256[:12]}"


def _encoded(text: str, *, colon: bool = True) -> str:
    return quote(text, safe=_PLAIN if colon else _PLAIN.replace(":", ""), errors="surrogatepass")


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogatepass")
