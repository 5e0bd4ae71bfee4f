"""CLAIR: How likely are caption and references to share an image?"""

import math
from typing import Any

from vlgauge.core import validation  # From: "vlgauge[clair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[clair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[clair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import judged  # From: "vlgauge[clair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models import judges  # From: "vlgauge[clair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import HIGHEST
from .formula import VARIANTS
from .formula import compute_expected_score
from .formula import parse_written_score
from .formula import score_places

# Prompt of the authors, which is a constant of the method: https://github.com/DavidMChan/clair, clair.py.
_CANDIDATES = (
    "You are trying to tell if a candidate set of captions is describing the same image as a reference set of captions."
    "\nCandidate set:\n- "
)
_REFERENCES = "\n\nReference set:\n- "
_NEXT = "\n- "
_END = (
    "\n\nOn a precise scale from 0 to 100, how likely is it that the candidate set is describing the same image as the "
    'reference set? (JSON format, with a key "score", value between 0 and 100, and a key "reason" with a string '
    "value.)\n"
)
LONGEST = 1024  # tokens of an answer, as in the released code


class Clair(judged.JudgeMetric):
    """Likelihood by a language model that caption and references describe the same image (Chan et al., 2023).

    CLAIR asks a language model, which does not see the image, how likely a caption describes the same image as its
    references, from 0 to 100, and divides the answer by 100. Higher is better. CLAIR requires references.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        return_details: Whether to add the answer, the reason in it, and the probabilities of the digits of the score.

    Returns:
        clair: Mean of the scores, in [0, 1], higher is better.
        clair_scores: One score per row. NaN without references, or if the answer contains no score from 0 to 100.
        clair_undefined: Number of undefined scores.
        clair_signature: Settings and versions that the scores depend on.
        clair_unread: Number of answers without a score from 0 to 100.
        clair_altered: Number of prompts with a text that contains a special token of the model.

    Examples:
        >>> import evaluate
        >>> clair = evaluate.load("vlgauge/clair", profile="embedded")
        >>> result = clair.compute(predictions=["a small red circle"], references=[["a red circle"]])
        >>> print(0.0 <= result["clair"] <= 1.0)
        True
    """

    papers = ("https://aclanthology.org/2023.emnlp-main.841", "https://arxiv.org/abs/2310.12971")
    columns = judged.TEXT_COLUMNS
    has_reference_scores = False
    paper_model = None
    undefined_hint = (
        "no answer has a score from 0 to 100, or no row has references; inspect the output of `return_details=True`"
    )
    opening = judges.PromptTemplate(
        "clair",
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
        "detailed, and polite answers to the user's questions.",
    )

    def __init__(self, *args: Any, variant: str = "released", max_new_tokens: int = LONGEST, **host: Any) -> None:
        self.variant = validation.check_choice("variant", variant, VARIANTS)
        self.max_new_tokens = validation.check_int("max_new_tokens", max_new_tokens, 1)
        super().__init__(*args, **host)

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        judge = self.judge()
        self._check_digits(judge)
        rows = [row for row, known in enumerate(references) if known]
        questions = [self.question(predictions[row], references[row]) for row in rows]
        altered = self.warn_escaped(judge, questions)
        answers = self.ask(judge, questions)
        self._check_digits(judge)  # a server reports its tokens in its answers only
        scores: list[float] = []
        places: list[list[int]] = []
        details: list[dict[str, Any]] = []
        for question, answer in zip(questions, answers, strict=True):
            written = parse_written_score(answer.text)
            own = score_places(answer.text, written, answer.digit_at.tolist()) if judge.reads_digits else []
            is_expected = self.variant == "expected"
            found = compute_expected_score(written, own, answer.digits) if is_expected else written.score
            scores.append(found / HIGHEST)
            places.append(own)
            details.append(judged.describe_answer(question, answer, written.score, own, reason=written.reason))
        if self.variant == "expected":
            self.warn_missing_digits(answers, places)
        return self.result(
            **base.fill_rows(len(predictions), rows, scores, details if return_details else None),
            signature_extra=self.signature_extra(judge),
            unread=sum(map(math.isnan, scores)),
            altered=altered,
        )

    def _check_digits(self, judge: judges.Judge) -> None:
        """Raise if the variant requires digits and the tokens of the judge model have several digits."""
        if self.variant == "expected" and not judge.reads_digits:
            raise UsageError(
                "`variant='expected'` requires a tokenizer that splits a number into its digits, got "
                f"{judge.identity}; choose 'released' or another model"
            )

    def question(self, caption: str, references: list[str]) -> judges.Question:
        """Build the prompt, with whitespace normalized, so that no text adds a line to a list."""
        texts = tuple(" ".join(text.split()) for text in (caption, *references))
        return judges.Question((_CANDIDATES, _REFERENCES, *(_NEXT,) * (len(references) - 1), _END), texts)
