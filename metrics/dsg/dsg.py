"""DSG: How many facts of a caption does its image show?"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scipy.special import expit

from vlgauge.core import validation  # From: "vlgauge[dsg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[dsg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import judged  # From: "vlgauge[dsg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models import judges  # From: "vlgauge[dsg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models.judges import loading  # From: "vlgauge[dsg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

TEMPLATE = "{} Please answer yes or no."
YES, NO = "Yes", "No"
LONGEST = 1024
_BLANK = "{}"
_HINT = (
    "pass a table in the layout of dsg-1k-anns.csv as `questions`, a language model that writes them as "
    "`question_model`, or the questions of each row as `questions` of `compute`"
)


class Dsg(judged.JudgeMetric):
    """Share of questions about a caption that a model answers yes, with dependencies (Cho et al., 2024).

    DSG (Davidsonian Scene Graph) splits a caption into its smallest facts and asks a vision-language model a question
    about each of them. The score is the share of questions that are answered yes. A question counts only if the
    questions that it depends on are answered yes: without a dog, the color of the dog does not matter. Higher is
    better. DSG uses no references and is most common for generated images.

    Args:
        predictions: Captions, one string per row.
        images: Images (path, bytes, PIL image or uint8 array), one per caption.
        questions: Questions about each caption, a list of dictionaries per row with "proposition_id", "dependency" (ids
            of the parents, such as "1,2", or 0), "question_natural_language", and optionally "tuple". None for the
            questions of the settings.
        return_details: Whether to add the questions with their answers, and the text of a language model that could not
            be parsed.

    Returns:
        dsg: Mean of the scores, in [0, 1], higher is better.
        dsg_scores: One score per caption. NaN without questions, or if the model does not return a probability.
        dsg_undefined: Number of undefined scores.
        dsg_signature: Settings and versions that the scores depend on.
        dsg_n_questions: Number of questions about all captions.
        dsg_unread: Number of captions whose questions could not be generated or parsed.
        dsg_altered: Number of questions and captions that contain a special token of the model.

    Examples:
        >>> import evaluate
        >>> import numpy as np
        >>> dsg = evaluate.load("vlgauge/dsg", profile="embedded")
        >>> grey = np.full((64, 64, 3), 128, dtype=np.uint8)
        >>> result = dsg.compute(predictions=["a small red circle"], images=[grey])
        >>> print(result["dsg_n_questions"], 0.0 <= result["dsg"] <= 1.0)
        3 True
    """

    papers = ("https://arxiv.org/abs/2310.18235",)
    columns = judged.IMAGE_COLUMNS
    has_reference_scores = False
    source_settings = ("questions", "question_model")
    undefined_hint = "no caption has questions; look at `return_details=True`"
    opening = judged.WRITING

    def __init__(
        self,
        *args: Any,
        questions: str | os.PathLike[str] | None = None,
        question_model: Any = None,
        template: str = TEMPLATE,
        independent: bool = False,
        max_new_tokens: int = LONGEST,
        **host: Any,
    ) -> None:
        expected = "the path of a table, whereas `compute` accepts a list"
        self.questions = validation.check_path("questions", questions, expected)
        self.question_model = judged.check_model("question_model", question_model)
        if questions is not None and question_model is not None:
            raise UsageError("`questions` cannot be combined with `question_model`")
        if not isinstance(template, str) or template.count(_BLANK) != 1:
            got = validation.short_repr(template)
            raise UsageError.about("template", f"must be a string that contains {_BLANK} once, got {got}")
        self.template = template
        self.independent = validation.check_bool("independent", independent)
        self.max_new_tokens = validation.check_int("max_new_tokens", max_new_tokens, 1)
        super().__init__(*args, **host)

    def check_sources(self, questions: Any = None) -> Any:
        """Check the judge and, if a call passes no questions, the source of the questions."""
        preflight = super().check_sources()
        if questions is not None:
            return preflight
        if self.question_model is not None:
            loading.look_for_model(preflight, "question_model", self.question_model)
        elif self.questions is not None:
            if not os.path.isfile(self.questions):
                preflight.sources.append(f"`questions` must be the path of a table, got {os.fspath(self.questions)!r}")
        elif self.profile == "paper":
            preflight.sources.append(f"`questions` are missing: {self.name} asks questions about each caption; {_HINT}")
        return preflight

    def _compute(
        self, predictions: Sequence[str], images: Any = None, questions: Any = None, return_details: bool = False
    ) -> dict[str, Any]:
        self.check_sources(questions).end()
        asking = self._asking(predictions, questions)
        judge = self.load_judge(self.chosen_model)
        lazy_images = judged.lazy_images_of(images)
        asked = [
            [self.question(one.text, image) for one in graph or ()]
            for graph, image in zip(asking.graphs, lazy_images, strict=True)
        ]
        every = [one for own in asked for one in own]
        altered = self.warn_escaped(judge, every) + asking.n_altered
        probabilities = self._probabilities(judge, every)
        scores, details = [], []
        unparsed_texts = asking.unparsed or [None] * len(predictions)
        for graph, unparsed, own in zip(asking.graphs, unparsed_texts, asked, strict=True):
            score, entries = self._score(graph or (), [probabilities[one.key] for one in own])
            scores.append(score)
            details.append({"questions": entries, "unparsed": unparsed})
        fields = {"questions": asking.source, "prompt": asking.prompt, "max_new_tokens": asking.max_new_tokens}
        return self.result(
            scores,
            signature_extra={**self.signature_extra(judge), **fields},
            details=details if return_details else None,
            n_questions=len(every),
            unread=sum(graph is None for graph in asking.graphs),
            altered=altered,
        )

    def question(self, text: str, image: Any) -> judges.Question:
        """Build the prompt for a question about an image."""
        before, after = self.template.split(_BLANK)
        return judges.Question((before, after), (text,), image)

    @cached_property
    def _table(self) -> judged.QuestionTable:
        assert self.questions is not None
        return judged.QuestionTable(os.fspath(self.questions))

    def _asking(self, captions: Sequence[str], questions: Any) -> "_Asking":
        """Return the questions about each caption, from the call, the table, the language model or the demo rules."""
        if questions is not None:
            return _Asking(_get_given(questions, len(captions)), "given")
        if self.questions is not None:
            return _Asking(self._table.graphs(captions), self._table.identity)
        if self.question_model is None:
            return _Asking([judged.scene_graph_questions(text) for text in captions], judged.SCENE_RULES)
        writer = self.load_judge(self.question_model, setting="question_model")
        prompts = [judged.writing_prompt(text) for text in captions]
        n_altered = self.warn_escaped(writer, prompts)
        answers = self.ask(writer, prompts)
        # The last line of an answer that reaches the length limit may be incomplete.
        graphs = [judged.parse_graph(answer.text) if answer.ended else None for answer in answers]
        unparsed = [None if graph else answer.text for graph, answer in zip(graphs, answers, strict=True)]
        prompt = f"{judged.PROMPT_VERSION}-{writer.opening(judged.WRITING)}"
        return _Asking(graphs, writer.identity, prompt, self.max_new_tokens, unparsed, n_altered)

    def _probabilities(self, judge: judges.Judge, questions: Sequence[judges.Question]) -> dict[Any, float]:
        """Return the probability of yes among yes and no by key of the question, asking each question once."""
        distinct = list({one.key: one for one in questions}.values())
        if not distinct:
            return {}
        answers = [YES] * len(distinct) + [NO] * len(distinct)
        found = judge.chances(
            [*distinct, *distinct], answers, self.opening, batch_size=self.batch_size, progress=self.progress
        )
        # The last value is the end token.
        logs = [float(one[:-1].sum()) for one in found]
        pairs = zip(logs[: len(distinct)], logs[len(distinct) :], strict=True)
        return {one.key: yes_probability(*pair) for one, pair in zip(distinct, pairs, strict=True)}

    def _score(self, graph: judged.QuestionGraph, probabilities: Sequence[float]) -> tuple[float, list[dict[str, Any]]]:
        """Compute the score of a row, and the details of its questions."""
        answers = {one.number: chance > 0.5 for one, chance in zip(graph, probabilities, strict=True)}
        parents = {one.number: () if self.independent else one.parents for one in graph}
        is_defined = bool(graph) and not any(map(math.isnan, probabilities))
        counted = judged.apply_dependencies(answers, parents)
        entries = [
            {
                "number": one.number,
                "question": one.text,
                "tuple": one.proposition,
                "parents": list(one.parents),
                "probability": None if math.isnan(chance) else chance,
                "answer": None if math.isnan(chance) else "yes" if answers[one.number] else "no",
                "counted": is_defined and counted[one.number],
            }
            for one, chance in zip(graph, probabilities, strict=True)
        ]
        return judged.dsg_score(answers, parents) if is_defined else math.nan, entries


@dataclass(frozen=True)
class _Asking:
    """Questions about the captions of a call.

    Attributes:
        graphs: Questions about each caption. None if they could not be generated or parsed.
        source: Source of the questions, for the signature.
        prompt: Version of the prompt for the language model. None without one.
        max_new_tokens: Length limit of its answers. None without one.
        unparsed: Text of the language model that could not be parsed, by caption. None without one.
        n_altered: Number of captions that contain a special token of the language model.
    """

    graphs: Sequence[judged.QuestionGraph | None]
    source: str
    prompt: str | None = None
    max_new_tokens: int | None = None
    unparsed: Sequence[str | None] | None = None
    n_altered: int = 0


def yes_probability(yes: float, no: float) -> float:
    """Compute the probability of yes among yes and no from their log-probabilities. NaN if one is NaN."""
    return float(expit(yes - no))


def _get_given(questions: Any, n_rows: int) -> list[judged.QuestionGraph]:
    """Validate the `questions` of a call, which has one list per row."""
    validation.check_one_each("questions", questions, n_rows)
    return [judged.graph_of(row, f"`questions[{i}]`") for i, row in enumerate(questions)]
