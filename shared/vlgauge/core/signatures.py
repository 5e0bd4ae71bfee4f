"""Signatures of scores, such as ``trm|v:0.1.0|profile:paper|distance:meteor-2007+wn3.0|ties:fractional``."""

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from types import CodeType, EllipsisType, NoneType
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from vlgauge.core.errors import UsageError

# All printable ASCII symbols except "%", "|" and the space, so that a signature is one word and can be split at every
# "|".
_PLAIN = "!\"#$&'()*+,-./:;<=>?@[\\]^_`{}~"


DEMO_NUMBERS = "rank synthetic scenes and are meaningless for photographs and human stories"
"""Warning about scores of demo models. See `uses_demo_model`."""


def format_signature(name: str, fields: Mapping[str, Any]) -> str:
    """Format a name and fields as a signature, in input order.

    Args:
        name: Name of a metric or of a protocol.
        fields: Values by key, each formatted by `signature_value`.
    """
    encoded = [f"{_encode(key, colon=False)}:{_encode(str(signature_value(value)))}" for key, value in fields.items()]
    return "|".join([_encode(name), *encoded])


def parse_signature(text: str) -> tuple[str, dict[str, str]]:
    """Parse a signature into its name and the string values of its fields.

    Raises:
        ValueError: If a field has no key, or a key is repeated.
    """
    name, *parts = text.split("|")
    fields: dict[str, str] = {}
    for part in parts:
        key, colon, value = part.partition(":")
        if not colon or _decode(key) in fields:
            raise UsageError.about("text", f"must be a signature, NAME|KEY:VALUE|... with each key once, got {part!r}")
        fields[_decode(key)] = _decode(value)
    return _decode(name), fields


def describe_differences(one: str, other: str) -> str:
    """Describe the fields in which two signatures differ, such as "context pair and prefix". Empty if all are equal.

    Raises:
        ValueError: If one of the texts is not a valid signature.
    """
    first, second = (parse_signature(text)[1] for text in (one, other))
    unlike = [key for key in dict.fromkeys([*first, *second]) if first.get(key) != second.get(key)]
    return ", ".join(f"{key} {first.get(key, 'absent')} and {second.get(key, 'absent')}" for key in unlike)


def uses_demo_model(text: str) -> bool:
    """Return whether a score was computed with a demo model: a bundled encoder, or for rovist bundled components.

    Raises:
        ValueError: If the text is not a valid signature.
    """
    fields = parse_signature(text)[1]
    return fields.get("profile") == "embedded" and (fields.get("enc", "").startswith("vlgauge-") or "parts" in fields)


def describe_demo_models(signatures: Mapping[str, str]) -> list[str]:
    """Return a note on the scores that were computed with demo models, without a period. Empty if there are none.

    Args:
        signatures: Signatures by metric name.
    """
    names = [name for name, signature in signatures.items() if uses_demo_model(signature)]
    return [f"{', '.join(names)}: scores of demo models, which {DEMO_NUMBERS}"] if names else []


def signature_value(value: Any) -> Any:
    """Return a setting in the form used in signatures: the name of a function or object, integers without ".0".

    Names that several objects may share get a digest: lambdas and nested functions get a digest of their code, and
    `functools.partial` objects a digest of their arguments. Closures, default arguments and attributes of objects are
    not included, so two objects of one class have the same name, as have their methods.

    Returns:
        A string, an integer, a tuple or None. A function or object becomes ``"custom(NAME)"``.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if value is None or isinstance(value, (str, int, tuple)):
        return value
    return f"custom({_name_of(value)})"


def _name_of(value: Any) -> str:
    """Return the name of a function or of the class of an object, with a digest if other objects may share the name."""
    if isinstance(value, partial):
        held = f"{_constant(value.args)} {_constant(value.keywords)}"
        return f"functools.partial({_name_of(value.func)})@{_digest(held)[:8]}"
    if isinstance(value, np.ufunc):
        # NumPy 2.0 has no other name for ufuncs, and ufuncs of SciPy do not name their module.
        is_numpys = getattr(np, value.__name__, None) is value
        return f"numpy.{value.__name__}" if is_numpys else f"numpy.ufunc({value.__name__})"
    kind = value if hasattr(value, "__qualname__") else type(value)
    # Methods of builtin types, such as str.split, have no module, and a spawned process has another name for the main
    # module.
    module = (getattr(kind, "__module__", None) or "builtins").replace("__mp_main__", "__main__")
    code = getattr(kind, "__code__", None)
    digest = f"@{_code_digest(code)[:8]}" if "<" in kind.__qualname__ and isinstance(code, CodeType) else ""
    return f"{module}.{kind.__qualname__}{digest}"


def _code_digest(code: CodeType) -> str:
    """Return the SHA-256 hex digest of the behavior of compiled code, independent of its location."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    behavior = f"{code.co_code.hex()} {names} {code.co_argcount} {code.co_flags} {_constant(code.co_consts)}"
    return _digest(behavior)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _constant(value: Any) -> str:
    """Return a text for a constant of compiled code, or an argument, that is the same in every process."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, CodeType):
        return _code_digest(value)
    if isinstance(value, tuple):
        return f"({','.join(map(_constant, value))})"
    if isinstance(value, list):
        return f"[{','.join(map(_constant, value))}]"
    if isinstance(value, (set, frozenset)):  # order depends on the hash seed
        return f"{{{','.join(sorted(map(_constant, value)))}}}"
    if isinstance(value, dict):
        return f"{{{','.join(sorted(f'{_constant(key)}:{_constant(own)}' for key, own in value.items()))}}}"
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"{value.dtype.str}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    plain = isinstance(value, (str, bytes, int, float, complex, EllipsisType, NoneType))
    return repr(value) if plain else _name_of(value)


def local_name(sha256: str) -> str:
    """Return the name of an encoder that the user supplies as a file or folder, independent of its location.

    Args:
        sha256: Digest of its weights, or of all its files if they include a tokenizer and a configuration.
    """
    return f"local@sha256-{sha256[:12]}"


def name_of_content(content: Any) -> str:
    """Return the name of a list or mapping that the user supplies, by a digest of its values, in the same form."""
    return local_name(_digest(json.dumps(content)))


def _encode(text: str, *, colon: bool = True) -> str:
    return quote(text, safe=_PLAIN if colon else _PLAIN.replace(":", ""), errors="surrogatepass")


def _decode(text: str) -> str:
    return unquote(text, errors="surrogatepass")
