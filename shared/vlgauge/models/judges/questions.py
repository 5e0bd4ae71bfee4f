"""Protocol for judge models, and the questions and answers that they exchange with metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from vlgauge.core.progress import Progress
from vlgauge.inputs.images.lazy_images import LazyImage

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PromptTemplate:
    """Text around a question in the prompts of LLaVA and CLIP-FlanT5, which differs between the methods.

    Other models receive the question in the chat template of their own files.

    Attributes:
        name: Name used in signatures.
        system: Text before the turn of the user.
        end: Text after ``ASSISTANT:``.
    """

    name: str
    system: str
    end: str = ""


@dataclass(frozen=True)
class Question:
    """A question about captions, and about an image if there is one.

    Attributes:
        words: Text of the method before, between and after the captions. It has one entry more than `captions`.
        captions: Untrusted captions, which are never parsed as part of a template.
        image: The image. None if the method uses text only.
        replied: Answer that is attributed to the judge before it is asked again. Empty for none.
        again: The second question, about the same image. None for none.
    """

    words: tuple[str, ...]
    captions: tuple[str, ...]
    image: LazyImage | None = None
    replied: str = ""
    again: "Question | None" = None

    def text(self, captions: Sequence[str] | None = None) -> str:
        """Return the whole question as text.

        Args:
            captions: Captions to insert instead of the captions of the question. None for its own captions.
        """
        between = [*(self.captions if captions is None else captions), ""]
        return "".join(part for pair in zip(self.words, between, strict=True) for part in pair)

    @property
    def key(self) -> tuple[str, bytes, str, str]:
        """Key of the question: its text, the key of its image, the earlier answer, and the text of the follow-up.

        Questions with equal keys are asked once.
        """
        return self.text(), self.image_key, self.replied, "" if self.again is None else self.again.text()

    @property
    def image_key(self) -> bytes:
        """Key of the image, or empty bytes without an image."""
        return b"" if self.image is None else self.image.key


@dataclass(frozen=True)
class Answer:
    """Greedy answer of a judge, token by token.

    Attributes:
        text: The answer without its end token.
        digit_at: Digit of each token, -1 for other tokens, shape ``(n_tokens,)``.
        digits: Probability of each of the ten digits at the position of each token, normalized over the whole
            vocabulary, shape ``(n_tokens, 10)``. NaN at positions whose probabilities are not available.
        ended: Whether the end token was generated before the length limit.
    """

    text: str
    digit_at: Ints
    digits: Floats
    ended: bool = True


@runtime_checkable
class Judge(Protocol):
    """Protocol for judge models, used by fleur, vqascore, dsg and clair.

    Answers do not depend on the other questions, except for rounding differences of at most 1e-5 in float32.
    """

    @property
    def identity(self) -> str:
        """Name of the model and digest of its weights, used in signatures."""

    @property
    def dtype(self) -> str:
        """Data type of the computation, used in signatures."""

    @property
    def preparation(self) -> str:
        """Processing of an image before the preprocessing of the model, used in signatures."""

    @property
    def reads_digits(self) -> bool:
        """Whether each digit of a number is a separate token, as far as that is known."""

    def opening(self, opening: PromptTemplate) -> str:
        """Return the name of the text around a question, used in signatures: the name of the opening, or ``chat``."""

    def find_altered(self, questions: Sequence[Question]) -> list[bool]:
        """Return which questions have a caption that spells a special token, which is split before it is encoded."""

    def answers(
        self,
        questions: Sequence[Question],
        opening: PromptTemplate,
        *,
        longest: int,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Answer]:
        """Generate one answer per question.

        Args:
            questions: The questions, in any order.
            opening: Text around each question. See `PromptTemplate`.
            longest: Maximum number of generated tokens.
            batch_size: Number of questions per forward pass.
            progress: Progress bar setting. See `vlgauge.core.progress`.

        Returns:
            Answers in the order of the questions.
        """

    def chances(
        self,
        questions: Sequence[Question],
        answers: Sequence[str],
        opening: PromptTemplate,
        *,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Floats]:
        """Compute the log-probability of each token of the answers and of the end token after them.

        Args:
            questions: The questions, in any order.
            answers: One answer per question, without special tokens.
            opening: Text around each question. See `PromptTemplate`.
            batch_size: Number of questions per forward pass.
            progress: Progress bar setting. See `vlgauge.core.progress`.

        Returns:
            Log-probabilities of each answer, shape ``(n_tokens + 1,)``. NaN if a probability is not available.
        """
