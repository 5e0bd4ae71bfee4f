"""What a judge is asked and what it answers: a protocol, behind which a model, a toy or a fake of a test stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from vlgauge.media.pictures import Picture
from vlgauge.progress import Progress

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Opening:
    """What LLaVA and CLIP-FlanT5 read around a question, which each method wrote in its own way.

    Other models read the question in the chat template of their own files.

    Attributes:
        name: For signatures.
        system: What stands before the turn of the user.
        end: What stands behind ``ASSISTANT:``.
    """

    name: str
    system: str
    end: str = ""


@dataclass(frozen=True)
class Question:
    """A question about captions, and about a picture where there is one.

    Attributes:
        words: The method's own words, before, between and behind the captions; one more than those.
        captions: What others wrote; it is never read as part of a template.
        picture: What is looked at; None where the method reads text alone.
        replied: What the judge is taken to have answered, before it is asked again; "" for nothing.
        again: The second question, about the same picture; None for none.
    """

    words: tuple[str, ...]
    captions: tuple[str, ...]
    picture: Picture | None = None
    replied: str = ""
    again: "Question | None" = None

    def text(self, captions: Sequence[str] | None = None) -> str:
        """The whole question, with these captions in the place of its own if they are given."""
        between = [*(self.captions if captions is None else captions), ""]
        return "".join(part for pair in zip(self.words, between, strict=True) for part in pair)

    @property
    def key(self) -> tuple[str, bytes, str, str]:
        """What tells questions apart: equal ones are asked once."""
        return self.text(), self.picture_key, self.replied, "" if self.again is None else self.again.text()

    @property
    def picture_key(self) -> bytes:
        """What tells its picture from others; empty for none."""
        return b"" if self.picture is None else self.picture.key


@dataclass(frozen=True)
class Answer:
    """What a judge wrote, token by token, the likeliest each time.

    Attributes:
        text: The answer without its end token.
        digit_at: The digit that each token is, -1 for any other token, shape ``(n_tokens,)``.
        digits: Probability of each of the ten digits in the place of each token, over the whole vocabulary, shape
            ``(n_tokens, 10)``; NaN in a place where it is not told.
        ended: Whether the end token came before the bound on the length.
    """

    text: str
    digit_at: Ints
    digits: Floats
    ended: bool = True


@runtime_checkable
class Judge(Protocol):
    """What fleur, vqascore and clair need of a model.

    Answers do not depend on what else is asked, but for rounding: by at most 1e-5 in float32.
    """

    @property
    def identity(self) -> str:
        """Name and digest of the weights, for signatures."""

    @property
    def dtype(self) -> str:
        """Of the arithmetic, for signatures."""

    @property
    def preparation(self) -> str:
        """What is done to a picture before the model's own preprocessing, for signatures."""

    @property
    def reads_digits(self) -> bool:
        """Whether each digit of a number is a token of its own, as far as that is known."""

    def opening(self, opening: Opening) -> str:
        """Name of what surrounds a question, for signatures: that of the method, or ``chat``."""

    def altered(self, questions: Sequence[Question]) -> list[bool]:
        """Which questions have a caption that spells a special token, which is taken apart before it is read."""

    def answers(
        self,
        questions: Sequence[Question],
        opening: Opening,
        *,
        longest: int,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Answer]:
        """What the judge writes, one answer per question.

        Args:
            questions: In any order.
            opening: See `Opening`.
            longest: Tokens that are written at most.
            batch_size: Questions per forward pass.
            progress: See `vlgauge.progress`.
        """

    def chances(
        self,
        questions: Sequence[Question],
        answers: Sequence[str],
        opening: Opening,
        *,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Floats]:
        """Log-probability of each token of given answers and of the end token behind them, shapes ``(n_tokens + 1,)``.

        NaN of what is not told.

        Args:
            questions: In any order.
            answers: One per question; no token of it is special.
            opening: See `Opening`.
            batch_size: Questions per forward pass.
            progress: See `vlgauge.progress`.
        """
