"""FLEUR: How does a vision-language model grade a caption?"""

import dataclasses
import json
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge.core import validation  # From: "vlgauge[fleur]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[fleur]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.files import DATA  # From: "vlgauge[fleur]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import judged  # From: "vlgauge[fleur]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models import judges  # From: "vlgauge[fleur]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import VARIANTS
from .formula import compute_smoothed_score
from .formula import find_smoothed_places
from .formula import parse_number

# Prompts of the authors, which are constants of the method: https://github.com/Yebin46/FLEUR, fleur.py and reffleur.py.
# EXPERT (https://github.com/hjkim811/EXPERT, expert.py) uses the same formula with another prompt, for a model trained
# on this prompt. Captions are inserted between the texts of a prompt.
PROMPTS = {
    name: tuple(words) for name, words in json.loads((DATA / "prompts" / "fleur.json").read_text("utf-8")).items()
}
PRESETS = ("fleur", "expert")
LONGEST = 512  # tokens of an answer, as in the released code


class Fleur(judged.JudgeMetric):
    """Expected rating of a caption by a vision-language model (Lee et al., 2024).

    FLEUR asks a vision-language model to rate a caption of an image from 0.0 to 1.0, and returns the expected rating
    over the digit probabilities of the model. RefFLEUR adds references to the prompt. Higher is better.

    Args:
        predictions: Captions, one string per row.
        images: Images (path, bytes, PIL image or uint8 array), one per caption.
        references: Optional human captions, one list of strings per row. None for a row without references.
        return_details: Whether to add the answer, its number, and the probabilities of the digits in it.

    Returns:
        fleur: Mean of the scores, in [0, 1], higher is better.
        fleur_scores: One score per caption. NaN if the answer contains no number from 0 to 1.
        fleur_undefined: Number of undefined scores.
        fleur_signature: Settings and versions that the scores depend on.
        fleur_altered: Number of rows with a caption or reference that contains a special token of the model.
        ref_fleur, ref_fleur_scores, ref_fleur_undefined, ref_fleur_signature: The same for RefFLEUR, if there are
            references.

    Examples:
        >>> import evaluate
        >>> import numpy as np
        >>> fleur = evaluate.load("vlgauge/fleur", profile="embedded")
        >>> grey = np.full((64, 64, 3), 128, dtype=np.uint8)
        >>> result = fleur.compute(predictions=["a small red circle"], images=[grey])
        >>> print(sorted(result)[:4])
        ['fleur', 'fleur_altered', 'fleur_scores', 'fleur_signature']
        >>> print(0.0 <= result["fleur"] <= 1.0)
        True
    """

    papers = ("https://aclanthology.org/2024.acl-long.205", "https://arxiv.org/abs/2406.06004")
    undefined_hint = "no answer has a number from 0 to 1; `return_details=True` returns the answers of the model"
    unsigned = (*judged.JudgeMetric.unsigned, "reasons")
    # LLaVA-1.5 itself was trained with another system prompt.
    opening = judges.PromptTemplate(
        "llava_v1",
        "A chat between a curious human and an artificial intelligence assistant. The assistant gives helpful, "
        "detailed, and polite answers to the human's questions.",
    )

    def __init__(
        self,
        *args: Any,
        preset: str = "fleur",
        variant: str = "released",
        max_new_tokens: int = LONGEST,
        reasons: bool = False,
        adapter: str | os.PathLike[str] | None = None,
        **host: Any,
    ) -> None:
        self.preset = validation.check_choice("preset", preset, PRESETS)
        self.variant = validation.check_choice("variant", variant, VARIANTS)
        self.max_new_tokens = validation.check_int("max_new_tokens", max_new_tokens, 1)
        self.reasons = validation.check_bool("reasons", reasons)
        self.adapter = validation.check_path("adapter", adapter, "a folder or a Hub id with its commit")
        super().__init__(*args, **host)

    def check_sources(self) -> Any:
        """Check the sources that every call requires. With preset "expert", LLaVA-1.5 requires its adapter.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        preflight = super().check_sources()
        if self.preset == "expert" and self.chosen_model == self.paper_model and self.adapter is None:
            preflight.sources.append(
                f"`adapter` is missing: EXPERT is LLaVA-1.5 13B with an adapter; {judges.EXPERT_HINT}, or pass a "
                "model that was trained on its question as `model`"
            )
        return preflight

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str] | None],
        images: Any = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        judge = self.judge()
        self._check_digits(judge)
        lazy_images = judged.lazy_images_of(images)
        alone = [self.question(text, (), image) for text, image in zip(predictions, lazy_images, strict=True)]
        rows = [row for row, known in enumerate(references) if known and self.preset == "fleur"]
        asked = [self.question(predictions[row], references[row] or (), lazy_images[row]) for row in rows]
        of_rows = dict(enumerate(alone)) | dict(zip(rows, asked, strict=True))
        altered = self.warn_escaped(judge, list(of_rows.values()))
        scores, details = self._grade(judge, alone)
        if self.reasons and return_details:
            self._add_reasons(judge, alone, scores, details)
        with_references = np.full(len(predictions), np.nan)
        with_references[rows], more = self._grade(judge, asked)
        for row, own in zip(rows, more, strict=True):
            details[row]["with_references"] = own
        row_details = details if return_details else None
        record = self.result(scores, signature_extra=self.signature_extra(judge), details=row_details, altered=altered)
        return self.with_score(record, f"ref_{self.name}", with_references.tolist()) if rows else record

    def question(self, caption: str, references: Sequence[str], image: Any) -> judges.Question:
        """Build the prompt for a caption, with whitespace normalized, as in the released code."""
        tidy = " ".join(caption.split())
        if self.preset == "expert":
            return judges.Question(PROMPTS["expert"], (tidy,), image)
        if not references:
            return judges.Question(PROMPTS["alone"], (tidy,), image)
        before, *after = PROMPTS["referenced"]
        between = ("\n",) * (len(references) - 1)
        return judges.Question((before, *between, *after), (*references, tidy), image)

    def why(self, question: judges.Question) -> judges.Question:
        """Build the follow-up prompt, which repeats the caption with preset "expert"."""
        if self.preset == "expert":
            return judges.Question(PROMPTS["expert_why"], question.captions)
        return judges.Question(PROMPTS["why"], ())

    def _check_digits(self, judge: judges.Judge) -> None:
        """Raise if the tokens of the judge model have several digits."""
        if not judge.reads_digits:
            raise UsageError.about(
                "model",
                f"must have a tokenizer that splits a number into its digits, got {judge.identity}",
                "FLEUR is undefined for tokens of several digits; choose another model",
            )

    def _add_reasons(
        self,
        judge: judges.Judge,
        questions: Sequence[judges.Question],
        scores: Sequence[float],
        details: Sequence[dict[str, Any]],
    ) -> None:
        """Ask the judge model for its reasons and add them to the details.

        As in the authors' fleur_exp.py, the conversation contains the score in place of the answer of the model.
        """
        rows = [row for row, score in enumerate(scores) if not math.isnan(score)]
        asked = [
            dataclasses.replace(questions[row], replied=str(round(scores[row], 6)), again=self.why(questions[row]))
            for row in rows
        ]
        answers = self.ask(judge, asked)
        for row, answer in zip(rows, answers, strict=True):
            details[row]["reason"] = answer.text

    def _grade(
        self, judge: judges.Judge, questions: Sequence[judges.Question]
    ) -> tuple[list[float], list[dict[str, Any]]]:
        """Return the score of each prompt and its details. The score is NaN if the answer contains no number."""
        answers = self.ask(judge, questions)
        self._check_digits(judge)  # a server reports its tokens in its answers only
        numbers = [parse_number(answer.text) for answer in answers]
        places = [
            find_smoothed_places(number, answer.digit_at.tolist())
            for number, answer in zip(numbers, answers, strict=True)
        ]
        rows = list(zip(questions, answers, numbers, places, strict=True))
        self.warn_missing_digits(answers, places)
        scores = [compute_smoothed_score(number, own, answer.digits, self.variant) for _, answer, number, own in rows]
        return scores, [judged.describe_answer(*row) for row in rows]
