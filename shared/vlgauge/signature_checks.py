"""What the signature of a metric may hold, and which scores are possible with the settings that it names."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from packaging.version import InvalidVersion, Version

from vlgauge.catalog import MetricFacts, score_facts
from vlgauge.errors import UsageError
from vlgauge.settings import PROFILES, shown
from vlgauge.signatures import parse_signature

Bounds: TypeAlias = tuple[float | None, float | None]

_EVERY = f"v profile:{'/'.join(PROFILES)} "  # the fields that each signature begins with
_SETS = " sets? drawn_from? draw_seed?:number"  # which the commands add, see `vlgauge.set_sizes`
_NUMBER = "number"
_OPERATIONS: dict[type, Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
}


def signature_fault(facts: MetricFacts, fields: Mapping[str, str]) -> str:
    """What is wrong with the fields of a signature, in words after "the signature"; empty if nothing is.

    Args:
        facts: Of the metric that the signature names.
        fields: Its fields, as `vlgauge.signatures.parse_signature` gives them.
    """
    signed = dict(_parted(one) for one in (_EVERY + facts.signed + (_SETS if facts.compares_sets else "")).split())
    lacking = [name for name in signed if not name.endswith("?") and name not in fields]
    choices = {name.removesuffix("?"): choice for name, choice in signed.items()}
    unknown = [name for name in fields if name not in choices]
    told = [f"lacks {', '.join(lacking)}"] if lacking else []
    told += [f"has {', '.join(map(shown, unknown))}, which no signature of {facts.name} has"] if unknown else []
    told += [
        f"has {shown(f'{name}:{value}')}, where {_in_words(choices[name])} is possible"
        for name, value in fields.items()
        if choices.get(name) and not _is_possible(value, choices[name])
    ]
    if "enc?" in signed and "enc" not in fields and fields.get("profile") == PROFILES[1]:
        told.append(f"has {f'profile:{PROFILES[1]}'!r} without a model, `enc`")
    if "v" in fields and not _is_version(fields["v"]):
        told.append(f"has {shown(fields['v'])} as its version, which is none")
    return " and ".join(told)


def bounds_of(facts: MetricFacts, fields: Mapping[str, str]) -> Bounds:
    """What no score of a metric is below or above with the settings of a signature; None where there is no number."""
    low, high = (-math.inf if facts.bounds[0] is None else facts.bounds[0]), facts.bounds[1]
    high = math.inf if high is None else high
    for settings, *ends in facts.bounds_with:
        if all(fields.get(name, "") == value for name, value in map(_parted, settings.split())):
            low, high = max(low, _number(ends[0], fields, -math.inf)), min(high, _number(ends[1], fields, math.inf))
    return (None if low == -math.inf else low), (None if high == math.inf else high)


def bounds_signed(name: str, signature: str) -> Bounds:
    """`bounds_of` for a score and the text of its signature; what holds whatever the settings, where that has a fault.

    Args:
        name: Of the score, such as "ref_clip_s".
        signature: Made with the score, or empty.

    Raises:
        ValueError: If no metric can have the score.
    """
    facts = score_facts(name)
    try:
        signed, fields = parse_signature(signature)
    except UsageError:
        return facts.bounds
    return facts.bounds if signed != name or signature_fault(facts, fields) else bounds_of(facts, fields)


def _parted(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name, value


def _is_possible(value: str, choice: str) -> bool:
    if choice != _NUMBER:
        return value in choice.split("/")
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _in_words(choice: str) -> str:
    return "a number" if choice == _NUMBER else " or ".join(choice.split("/"))


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _number(end: float | str | None, fields: Mapping[str, str], unbounded: float) -> float:
    """An end of a range: a number, or a formula of fields of the signature, such as "1-1/styles"."""
    if not isinstance(end, str):
        return unbounded if end is None else end

    def value(node: ast.AST) -> Fraction:
        match node:
            case ast.Constant(int(number)):
                return Fraction(number)
            case ast.Name(name):
                return Fraction(float(fields[name]))
            case ast.UnaryOp(ast.USub(), one):
                return -value(one)
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Div() as kind, right):
                return _OPERATIONS[type(kind)](value(left), value(right))
        raise UsageError(f"`bounds_with` must have numbers, names, +, - and / in its formulas, got {end!r}")

    try:
        return float(value(ast.parse(end, mode="eval").body))
    except ZeroDivisionError:  # of a field that is 0
        return unbounded
