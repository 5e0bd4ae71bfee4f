"""Parser for responses in the format of OpenAI's chat completions: text, tokens and alternative tokens."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.models.judges.questions import Floats

# The probability of a token that is not returned is at most the smallest returned one. If the bound for all digits that
# are not returned is above this share of the returned digits, the probabilities are NaN.
MAX_UNLISTED = 1e-3
_ROUNDING = 1e-2  # tolerance for probabilities in half precision
_MOST_TOKENS = 1e6  # upper bound on the size of a vocabulary
# Bytes that are not letters, as some servers spell them, and all non-ASCII characters, which servers spell differently.
_UNSPELLED = re.compile(r"<0x[0-9A-Fa-f]{2}>|[^!-~]")
_HALF_A_LETTER = re.compile("[\ud800-\udfff]")
_DIGIT = re.compile("[0-9]")
_SEVERAL_DIGITS = re.compile(r"\s*[0-9]{2,}\s*")


class InvalidResponseError(UsageError):
    """Raised if a response is not an answer with probabilities.

    The message continues a sentence that begins with the name of the server.
    """


@dataclass(frozen=True)
class TokenLogprobs:
    """One token of an answer.

    Attributes:
        text: Spelling of the token.
        likeliest: Spelling and probability of the most likely tokens at its position.
    """

    text: str
    likeliest: tuple[tuple[str, float], ...]

    @property
    def max_unlisted_probability(self) -> float:
        """Upper bound on the probability of each token that was not returned."""
        return min(chance for _, chance in self.likeliest)

    @property
    def joins_digits(self) -> bool:
        """Whether a token with several digits is among the most likely tokens at this position."""
        return any(_SEVERAL_DIGITS.fullmatch(text) for text, _ in self.likeliest)

    @property
    def digits(self) -> Floats:
        """Probability of each digit, shape ``(10,)``.

        A digit that was not returned counts as 0, which is too low by at most `MAX_UNLISTED` of the sum of all returned
        digits. All values are NaN if this bound may be exceeded, or if two tokens are spelled as the same digit,
        because they cannot be distinguished.
        """
        spelled = [text for text, _ in self.likeliest]
        counts = [spelled.count(str(digit)) for digit in range(10)]
        if max(counts) > 1:
            return np.full(10, math.nan)
        found = np.zeros(10)
        for text, chance in self.likeliest:
            if _DIGIT.fullmatch(text):
                found[int(text)] = chance
        rest = max(0.0, 1 - sum(chance for _, chance in self.likeliest))
        max_unlisted_probability = min(counts.count(0) * self.max_unlisted_probability, rest)
        return np.full(10, math.nan) if max_unlisted_probability > MAX_UNLISTED * found.sum() else found

    def chance_of(self, spelled: str) -> float | None:
        """Return the probability of the token with this spelling, or None if it was not returned.

        Raises:
            InvalidResponseError: If two tokens have that spelling.
        """
        found = [chance for text, chance in self.likeliest if text == spelled]
        if len(found) > 1:
            raise InvalidResponseError(f"returned two tokens with the spelling {spelled!r} at one position")
        return found[0] if found else None


@dataclass(frozen=True)
class Completion:
    """Answer of a server.

    Attributes:
        text: The text of the answer.
        tokens: Its tokens, without the end token.
        ended: Whether the answer ended with its end token and not at the length limit.
        names: Name of the model and fingerprint of the server, as far as the response contains them.
    """

    text: str
    tokens: tuple[TokenLogprobs, ...]
    ended: bool
    names: tuple[str, ...]


def read_completion(response: Any, longest: int) -> Completion:
    """Parse a response whose tokens spell its text, each being the most likely token at its position.

    Args:
        response: The decoded JSON of the response.
        longest: Maximum number of tokens that were requested.

    Raises:
        InvalidResponseError: If the response does not have this form.
    """
    choices = response.get("choices") if isinstance(response, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise InvalidResponseError("returned JSON that is not a chat completion")
    choice = choices[0]
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise InvalidResponseError("returned an answer without text")
    reason = choice.get("finish_reason")
    if reason not in ("stop", "length"):
        raise InvalidResponseError(f"returned the finish reason {str(reason)[:40]!r}, expected 'stop' or 'length'")
    logprobs = choice.get("logprobs")
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(rows, list):
        raise InvalidResponseError(
            "returned no log-probabilities; make it return the 20 most likely tokens of each position"
        )
    if len(rows) > longest + 1:
        raise InvalidResponseError(f"returned {len(rows)} tokens, but at most {longest} were requested")
    tokens = [_token(row) for row in rows]
    spelled = _letters([text])
    # Some servers also return the end token.
    if tokens and reason == "stop" and spelled != _letters(one.text for one in tokens):
        tokens.pop()
    if spelled != _letters(one.text for one in tokens):
        raise InvalidResponseError(
            "returned tokens that do not spell the answer; disable its reasoning parser, or its reasoning"
        )
    names = tuple(
        one for one in (response.get("model"), response.get("system_fingerprint")) if isinstance(one, str) and one
    )
    written = _HALF_A_LETTER.sub("\N{REPLACEMENT CHARACTER}", text).strip()
    return Completion(written, tuple(tokens), reason == "stop", names)


def _token(row: Any) -> TokenLogprobs:
    text, own = _spell_token(row)
    others = row.get("top_logprobs")
    if not isinstance(others, list) or not others:
        raise InvalidResponseError(
            "returned no alternative tokens; make it return the 20 most likely tokens of each position"
        )
    likeliest = tuple(_spell_token(one) for one in others)
    total = sum(chance for _, chance in likeliest)
    if total > 1 + _ROUNDING:
        raise InvalidResponseError("returned probabilities of one position that sum to more than 1")
    if total + _MOST_TOKENS * min(chance for _, chance in likeliest) < 1 - _ROUNDING:
        raise InvalidResponseError("returned probabilities of one position that cannot sum to 1")
    best = max(likeliest, key=lambda one: one[1])
    if own < best[1] * (1 - _ROUNDING):
        raise InvalidResponseError(
            f"returned {text[:20]!r} although {best[0][:20]!r} was more likely, so it samples or penalizes tokens; "
            "configure it for greedy decoding"
        )
    return TokenLogprobs(text, likeliest)


def _spell_token(row: Any) -> tuple[str, float]:
    """Return the spelling and the probability of a token."""
    text, value = (row.get("token"), row.get("logprob")) if isinstance(row, dict) else (None, None)
    if not isinstance(text, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidResponseError("returned a token without spelling or log-probability")
    # A very large integer cannot be converted to float.
    if not (value <= 1e-4 and value >= -1e9):
        raise InvalidResponseError(f"returned an impossible log-probability, {str(value)[:20]}")
    return text, min(1.0, math.exp(value))


def _letters(texts: Any) -> str:
    return "".join(_UNSPELLED.sub("", text) for text in texts)


def digits_of(tokens: Sequence[TokenLogprobs]) -> tuple[list[int], list[Floats]]:
    """Return the digit of each token, or -1 for other tokens, and the digit probabilities at its position.

    The probabilities are all 0 at positions of other tokens. See `TokenLogprobs.digits`.

    Returns:
        Both lists have one entry per token. The probabilities of the digits 0 to 9 have shape ``(10,)``.
    """
    at = [int(one.text) if _DIGIT.fullmatch(one.text) else -1 for one in tokens]
    return at, [one.digits if digit >= 0 else np.zeros(10) for one, digit in zip(tokens, at, strict=True)]
