"""Demo judge of the embedded profile, which answers with the demo CLIP instead of a language model.

It does not follow instructions. For every question, its answer is its belief that caption and image, or caption and
references, belong together, written as a number with a spread over the digits. Only comparisons on synthetic scenes are
meaningful.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from vlgauge.core.progress import Progress
from vlgauge.models.clip.demo import DEMO_NAME
from vlgauge.models.clip.encoder import ClipEncoder
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.clip.tokens import SPELLINGS
from vlgauge.models.judges.questions import Answer, Floats, PromptTemplate, Question

# Cosines of the demo CLIP at which the belief is 0 and 1. The cosine of an image is about -0.1 with the caption of
# another image, 0.38 with a wrong color, and 0.55 with its own caption.
_OF_IMAGES = (0.1, 0.6)
_OF_TEXTS = (0.4, 1.0)
_SPREAD = 1.0  # standard deviation of the digits around the belief, in digits
_ON_DIGITS = 0.98  # the remaining probability is for other tokens
_LEAST = 1e-6


def demo_judge(device: str = "auto") -> "DemoJudge":
    """Return the demo judge, based on the demo CLIP of the pool.

    Raises:
        MissingExtraError: If a package is missing.
    """
    return DemoJudge(clip_encoder(profile="embedded", device=device))


class DemoJudge:
    """Demo judge. See the module docstring.

    For a question about an image, the last caption is judged, otherwise the first one. The other captions are
    references.
    """

    dtype = "float32"
    preparation = "own"
    reads_digits = True

    def __init__(self, encoder: ClipEncoder) -> None:
        self.identity = f"{DEMO_NAME.replace('clip', 'judge')}@{encoder.digest[:8]}"
        self._encoder = encoder

    def opening(self, opening: PromptTemplate) -> str:
        """Return "none", because the judge uses captions and images only and no instructions."""
        return "none"

    def find_altered(self, questions: Sequence[Question]) -> list[bool]:
        """Return which questions spell a special token of CLIP."""
        return [any(token in one for one in question.captions for token in SPELLINGS) for question in questions]

    def answers(
        self,
        questions: Sequence[Question],
        opening: PromptTemplate,
        *,
        longest: int,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Answer]:
        """Return answers such as ``0.7`` for an image and ``{"score": 71, "reason": ...}`` for text only."""
        return [
            _reason(belief) if question.again else _number(belief) if question.image is not None else _object(belief)
            for question, belief in zip(questions, self._beliefs(questions, batch_size, progress), strict=True)
        ]

    def chances(
        self,
        questions: Sequence[Question],
        answers: Sequence[str],
        opening: PromptTemplate,
        *,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Floats]:
        """Return the belief as the probability of every answer except "no", which has the complementary probability.

        Returns:
            Natural log-probability of the answer and of the end token, shape ``(2,)`` per question.
        """
        beliefs = self._beliefs(questions, batch_size, progress)
        sure = [1 - b if answer.lower() == "no" else b for b, answer in zip(beliefs.tolist(), answers, strict=True)]
        return [np.log([max(one, _LEAST), _ON_DIGITS]) for one in sure]

    def _beliefs(self, questions: Sequence[Question], batch_size: int, progress: Progress) -> Floats:
        """Compute the belief in each question, shape ``(n,)``, range [0, 1].

        It is the mean of the beliefs by image and by references, as far as the question has them.
        """
        texts = dict.fromkeys(text.replace("<|", "< |") for one in questions for text in one.captions)
        order = {text: row for row, text in enumerate(texts)}
        hidden = self._encoder.text_hidden(list(order), batch_size=batch_size, progress=progress)
        read = self._unit(hidden.end, "text")
        images = [one.image for one in questions if one.image is not None]
        pixels = self._encoder.image_hidden(images, batch_size=batch_size, progress=progress)
        image_vectors = iter(self._unit(pixels, "image"))
        found = []
        for one in questions:
            rows = [read[order[text.replace("<|", "< |")]] for text in one.captions]
            if one.image is None:
                found.append(max((_belief(rows[0] @ row, _OF_TEXTS) for row in rows[1:]), default=0.0))
                continue
            *known, own = rows
            parts = [_belief(own @ next(image_vectors), _OF_IMAGES)]
            if known:
                parts.append(max(_belief(own @ row, _OF_TEXTS) for row in known))
            found.append(sum(parts) / len(parts))
        return np.array(found)

    def _unit(self, hidden: np.ndarray, side: Literal["image", "text"]) -> Floats:
        """Return L2-normalized embeddings, projected one by one, because BLAS rounding may depend on the other rows."""
        rows = [self._encoder.project(row[None], side)[0].astype(np.float64) for row in hidden]
        return np.array([row / np.linalg.norm(row) for row in rows])


def _belief(cosine: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return float(min(1.0, max(0.0, (cosine - low) / (high - low))))


def _spread(value: float) -> Floats:
    """Return the probability of each digit, shape ``(10,)``, around a value from 0 to 9."""
    weights = np.exp(-0.5 * ((np.arange(10) - value) / _SPREAD) ** 2)
    return _ON_DIGITS * weights / weights.sum()


def _reason(belief: float) -> Answer:
    """Return the answer to the second question, which does not contain a reason."""
    return Answer(f"The demo CLIP believes it by {belief:.2f}.", np.array([-1]), np.zeros((1, 10)))


def _number(belief: float) -> Answer:
    """Return a belief as "0." and one digit."""
    digits = np.stack([_spread(0.0), np.zeros(10), _spread(9 * belief)])
    digit = int(digits[2].argmax())
    return Answer(f"0.{digit}", np.array([0, -1, digit]), digits)


def _object(belief: float) -> Answer:
    """Return a belief as the JSON object that CLAIR asks for. Its tokens are the digits and the text around them."""
    value = round(99 * belief)
    digits = [int(sign) for sign in str(value)]
    nothing = np.zeros(10)
    answer = f'{{"score": {value}, "reason": "the demo CLIP compared them"}}'
    return Answer(answer, np.array([-1, *digits, -1]), np.stack([nothing, *map(_spread, digits), nothing]))
