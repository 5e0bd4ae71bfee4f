"""VQAScore: How likely is an image to match its caption?"""

import math
from collections.abc import Sequence
from typing import Any

from vlgauge.core import validation  # From: "vlgauge[vqascore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[vqascore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import judged  # From: "vlgauge[vqascore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models import judges  # From: "vlgauge[vqascore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import DEFINITIONS
from .formula import mean_log_chance

# Prompts of the authors, which are constants of the method: https://github.com/linzhiqiu/t2v_metrics.
TEMPLATES = {
    "v3.0": 'Does this figure show "{}"? Please answer yes or no.',
    "v3.1": 'Does this figure show "{}"? Please answer Yes or No.',
}
_BLANK = "{}"


class Vqascore(judged.JudgeMetric):
    """Probability of an answer to a question about an image and a caption (Lin et al., 2024).

    VQAScore asks a vision-language model whether an image shows a caption. The score is the probability of the answer
    "Yes". Higher is better. VQAScore uses no references and is most common for generated images.

    Args:
        predictions: Captions, one string per row.
        images: Images (path, bytes, PIL image or uint8 array), one per caption.
        return_details: Whether to add the question and the probability of each token of the answer.

    Returns:
        vqascore: Mean of the scores, in [0, 1], higher is better.
        vqascore_scores: One score per caption. NaN if the model returns no probability.
        vqascore_undefined: Number of undefined scores.
        vqascore_signature: Settings and versions that the scores depend on.
        vqascore_altered: Number of questions with a caption that contains a special token of the model.

    Examples:
        >>> import evaluate
        >>> import numpy as np
        >>> vqascore = evaluate.load("vlgauge/vqascore", profile="embedded")
        >>> grey = np.full((64, 64, 3), 128, dtype=np.uint8)
        >>> result = vqascore.compute(predictions=["a small red circle"], images=[grey])
        >>> print(0.0 <= result["vqascore"] <= 1.0)
        True
    """

    papers = ("https://arxiv.org/abs/2404.01291",)
    columns = judged.IMAGE_COLUMNS
    has_reference_scores = False
    opening = judges.PromptTemplate(
        "vqascore",
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
        "detailed, and polite answers to the user's questions.",
        " ",
    )

    def __init__(
        self,
        *args: Any,
        definition: str = "v3.0",
        template: str | None = None,
        answer: str = "Yes",
        tower: Any = None,
        **host: Any,
    ) -> None:
        self.definition = validation.check_choice("definition", definition, DEFINITIONS)
        self.template = (
            TEMPLATES[self.definition] if template is None else validation.plain_text(template, "template", "a string")
        )
        self.answer = validation.plain_text(answer, "answer", "a string")
        if _BLANK not in self.template + self.answer:
            raise UsageError.about("template", f"must contain {_BLANK} for the caption, got {self.template!r}")
        if not self.answer.strip():
            raise UsageError.about("answer", "must contain a word, got an empty string")
        self.tower = tower
        super().__init__(*args, **host)

    def _compute(self, predictions: Sequence[str], images: Any = None, return_details: bool = False) -> dict[str, Any]:
        judge = self.judge()
        if self.definition == "v3.0" and isinstance(judge, judges.ServedJudge):
            raise UsageError.about(
                "definition",
                f"must be 'v3.1' for {judge.identity}, because a server returns no end token after a specified "
                "answer, got 'v3.0'",
                "pass the model itself as `model` for 'v3.0'",
            )
        lazy_images = judged.lazy_images_of(images)
        questions = [self.question(text, image) for text, image in zip(predictions, lazy_images, strict=True)]
        answers = [self.answer.replace(_BLANK, text) for text in predictions]
        altered = self.warn_escaped(judge, questions)
        chances = judge.chances(questions, answers, self.opening, batch_size=self.batch_size, progress=self.progress)
        scores = [math.exp(mean_log_chance(one, self.definition)) for one in chances]
        extra: dict[str, Any] = {}
        if return_details:
            extra["details"] = [
                {"question": question.text(), "answer": answer, "chances": [_chance(one) for one in own]}
                for question, answer, own in zip(questions, answers, chances, strict=True)
            ]
        return self.result(scores, signature_extra=self.signature_extra(judge), altered=altered, **extra)

    def question(self, caption: str, image: Any) -> judges.Question:
        """Build the question about a caption, which replaces each ``{}`` of the template."""
        words = tuple(self.template.split(_BLANK))
        return judges.Question(words, (caption,) * (len(words) - 1), image)


def _chance(log_chance: float) -> float | None:
    """Return the probability, or None if it is unknown."""
    return None if math.isnan(log_chance) else math.exp(log_chance)
