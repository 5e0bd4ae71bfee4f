"""What a server tells of an answer, in the form of OpenAI's chat completions: text, tokens, and likely others."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge.errors import UsageError
from vlgauge.judges.questions import Floats

# A probability that is not told is at most the smallest told one. Where all that is not told is above this share of
# what is, no number is made of it.
MOST_UNTOLD = 1e-3
_ROUNDING = 1e-2  # of probabilities that were made in half precision
_MOST_TOKENS = 1e6  # of a vocabulary
# Bytes that are no letter, as some servers spell them, and whatever is not ASCII: servers spell it in several ways.
_UNSPELLED = re.compile(r"<0x[0-9A-Fa-f]{2}>|[^!-~]")
_HALF_A_LETTER = re.compile("[\ud800-\udfff]")
_DIGIT = re.compile("[0-9]")
_SEVERAL_DIGITS = re.compile(r"\s*[0-9]{2,}\s*")


class Unreadable(UsageError):
    """What a server told is no answer with probabilities; the message says why, as the end of a sentence."""


@dataclass(frozen=True)
class ToldToken:
    """One token of an answer.

    Attributes:
        text: As it is spelled.
        likeliest: Spelling and probability of the likeliest tokens in its place.
    """

    text: str
    likeliest: tuple[tuple[str, float], ...]

    @property
    def untold(self) -> float:
        """What each token that is not told has at most."""
        return min(chance for _, chance in self.likeliest)

    @property
    def joins_digits(self) -> bool:
        """Whether a token with several digits stood here, or might have."""
        return any(_SEVERAL_DIGITS.fullmatch(text) for text, _ in self.likeliest)

    @property
    def digits(self) -> Floats:
        """Probability of each digit, shape ``(10,)``; NaN where too much of it is not told.

        A digit that is not told counts as 0, which is too low by at most `MOST_UNTOLD` of all told digits. Of two
        tokens that are spelled as one digit, nobody tells which is the digit.
        """
        spelled = [text for text, _ in self.likeliest]
        told = [spelled.count(str(digit)) for digit in range(10)]
        if max(told) > 1:
            return np.full(10, math.nan)
        found = np.zeros(10)
        for text, chance in self.likeliest:
            if _DIGIT.fullmatch(text):
                found[int(text)] = chance
        rest = max(0.0, 1 - sum(chance for _, chance in self.likeliest))
        untold = min(told.count(0) * self.untold, rest)
        return np.full(10, math.nan) if untold > MOST_UNTOLD * found.sum() else found

    def chance_of(self, spelled: str) -> float | None:
        """Probability of the token of a spelling; None where it is not told.

        Raises:
            Unreadable: If two tokens have that spelling.
        """
        found = [chance for text, chance in self.likeliest if text == spelled]
        if len(found) > 1:
            raise Unreadable(f"returned two tokens with the spelling {spelled!r} in one place")
        return found[0] if found else None


@dataclass(frozen=True)
class Completion:
    """An answer of a server: text and tokens without the end token, and whether it ended by itself.

    `names` are what the server calls its model, and its fingerprint, as far as it tells them.
    """

    text: str
    tokens: tuple[ToldToken, ...]
    ended: bool
    names: tuple[str, ...]


def read_completion(told: Any, longest: int) -> Completion:
    """An answer whose tokens spell it, each the likeliest in its place.

    Raises:
        Unreadable: If it is none.
    """
    choice = _first(told, "choices")
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise Unreadable("gave an answer without text")
    reason = choice.get("finish_reason")
    if reason not in ("stop", "length"):
        raise Unreadable(f"ended an answer by {str(reason)[:40]!r}, neither 'stop' nor 'length'")
    logprobs = choice.get("logprobs")
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(rows, list):
        raise Unreadable("returned no log-probabilities; let it return the 20 likeliest tokens of each place")
    if len(rows) > longest + 1:
        raise Unreadable(f"wrote {len(rows)} tokens where at most {longest} were asked for")
    tokens = [_token(row) for row in rows]
    spelled = _letters([text])
    # Some servers tell the end token too.
    if tokens and reason == "stop" and spelled != _letters(one.text for one in tokens):
        tokens.pop()
    if spelled != _letters(one.text for one in tokens):
        raise Unreadable(
            "returned tokens that do not spell the answer; switch off the parser of thoughts, or the thoughts"
        )
    names = tuple(one for one in (told.get("model"), told.get("system_fingerprint")) if isinstance(one, str) and one)
    written = _HALF_A_LETTER.sub("\N{REPLACEMENT CHARACTER}", text).strip()
    return Completion(written, tuple(tokens), reason == "stop", names)


def _first(told: Any, name: str) -> dict[str, Any]:
    rows = told.get(name) if isinstance(told, dict) else None
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], dict):
        raise Unreadable("gave JSON that is no chat completion")
    return rows[0]


def _token(row: Any) -> ToldToken:
    text, own = _spelled(row)
    others = row.get("top_logprobs")
    if not isinstance(others, list) or not others:
        raise Unreadable("returned no other likely tokens; let it return the 20 likeliest of each place")
    likeliest = tuple(_spelled(one) for one in others)
    total = sum(chance for _, chance in likeliest)
    if total > 1 + _ROUNDING:
        raise Unreadable("returned probabilities of one place that add up to more than 1")
    if total + _MOST_TOKENS * min(chance for _, chance in likeliest) < 1 - _ROUNDING:
        raise Unreadable("returned probabilities of one place that cannot add up to 1")
    best = max(likeliest, key=lambda one: one[1])
    if own < best[1] * (1 - _ROUNDING):
        raise Unreadable(
            f"wrote {text[:20]!r} where {best[0][:20]!r} was likelier, so it draws or penalises tokens; have it write "
            "the likeliest"
        )
    return ToldToken(text, likeliest)


def _spelled(row: Any) -> tuple[str, float]:
    """Spelling and probability of a token."""
    text, value = (row.get("token"), row.get("logprob")) if isinstance(row, dict) else (None, None)
    if not isinstance(text, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unreadable("returned a token without spelling or log-probability")
    # Of a large whole number no float can be made.
    if not (value <= 1e-4 and value >= -1e9):
        raise Unreadable(f"returned an impossible log-probability, {str(value)[:20]}")
    return text, min(1.0, math.exp(value))


def _letters(texts: Any) -> str:
    return "".join(_UNSPELLED.sub("", text) for text in texts)


def digits_of(tokens: Sequence[ToldToken]) -> tuple[list[int], list[Floats]]:
    """The digit that each token is, -1 for none, and what stands beside it, see `ToldToken.digits`."""
    at = [int(one.text) if _DIGIT.fullmatch(one.text) else -1 for one in tokens]
    return at, [one.digits if digit >= 0 else np.zeros(10) for one, digit in zip(tokens, at, strict=True)]
