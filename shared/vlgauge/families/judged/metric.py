"""Base class of the metrics that ask a judge model: settings, preflight and signature fields."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice, check_int, short_repr, warn
from vlgauge.families.base.columns import Column, References, Text
from vlgauge.families.base.metric import Metric
from vlgauge.families.base.video_columns import OneImage
from vlgauge.inputs.images.lazy_images import WholeImage, unique_images
from vlgauge.models.judges.loading import DTYPES, PACKAGES, judge_of, look_for_model
from vlgauge.models.judges.questions import Answer, Judge, PromptTemplate, Question
from vlgauge.models.judges.sources import LLAVA, other_models

IMAGE_COLUMNS: tuple[Column, ...] = (Text("predictions"), OneImage("images"))
"""Columns of metrics without references."""
TEXT_COLUMNS: tuple[Column, ...] = (Text("predictions"), References("references"))
"""Columns of metrics that ask a language model, which does not see the image."""


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """Settings of the judge model of a metric, and of its execution.

    Attributes:
        model: A folder, a Hub id with its commit, or a custom judge. None for the default.
        batch_size: Number of questions per forward pass.
        device: Device of the model.
        dtype: Number format of the model, one of `DTYPES`.
        device_map: Device map of transformers, for a model that is larger than one device.
    """

    model: Any = None
    batch_size: int = 1
    device: str = "auto"
    dtype: str = "float32"
    device_map: str | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_model("model", self.model)
        object.__setattr__(self, "batch_size", check_int("batch_size", self.batch_size, 1))
        check_choice("dtype", self.dtype, DTYPES)

    def signature_fields(self) -> dict[str, Any]:
        """Return {}, because each call adds the identity of the model and its number format."""
        return {}


class JudgeMetric(Metric):
    """Base class of metrics that ask a model of images and text, once per row. Its settings are in `JudgeSettings`.

    The columns are captions, images and optional references. A metric with other columns overrides `columns`.

    Attributes:
        paper_model: Default model under the profile "paper". None for no default.
        opening: Text around the question for LLaVA and CLIP-FlanT5.
    """

    columns: tuple[Column, ...] = (*IMAGE_COLUMNS, References("references", optional=True))
    setting_groups = (JudgeSettings,)
    has_reference_scores: ClassVar[bool] = True
    unsigned: ClassVar[tuple[str, ...]] = ("device_map",)
    source_settings = ("tower", "adapter")
    model: Any
    batch_size: int
    max_new_tokens: int
    paper_model: ClassVar[str | None] = LLAVA
    opening: ClassVar[PromptTemplate]
    # Image tower of a model that does not include one. Only vqascore supports such models.
    tower: Any = None
    # Adapter for a LLaVA model. Only fleur supports it.
    adapter: Any = None

    @property
    def chosen_model(self) -> Any:
        """Setting `model`, or the Hub id of the paper's model if it is None and the profile is "paper"."""
        return self.paper_model if self.model is None and self.profile == "paper" else self.model

    def check_sources(self) -> Preflight:
        """Return a preflight of the requirements of every call, without loading or downloading anything."""
        preflight, chosen = Preflight(self.name, self.needs[0]), self.chosen_model
        if isinstance(chosen, Judge):
            return preflight
        preflight.need(PACKAGES)
        if chosen is None and self.profile == "embedded":
            return preflight
        if chosen is None:
            preflight.sources.append(
                f"`model` is missing: {self.name} requires a language model; pass a folder or a Hub id, "
                f"{other_models()}"
            )
        for setting, value in (("model", chosen), ("tower", self.tower), ("adapter", self.adapter)):
            look_for_model(preflight, setting, value)
        return preflight

    def judge(self, own: bool = False) -> Judge:
        """Return the judge model of the settings from the pool, where metrics with the same model share it.

        Args:
            own: Whether to load a separate copy that will be trained.

        Raises:
            SourcesMissingError: If a package or model is missing.
        """
        self.check_sources().end()
        return self.load_judge(self.chosen_model, own=own)

    def load_judge(self, model: Any, own: bool = False, setting: str = "model") -> Judge:
        """Return a model with the execution settings of the metric, without checking the sources first.

        Args:
            model: A folder, a Hub id with its commit, or a custom judge. None for the demo judge.
            own: Whether to load a separate copy that will be trained.
            setting: Name of the setting, for error messages.
        """
        chosen: JudgeSettings = self.grouped[JudgeSettings]
        where: dict[str, Any] = {"device": chosen.device, "dtype": chosen.dtype, "device_map": chosen.device_map}
        parts = {"tower": self.tower, "adapter": self.adapter}
        return judge_of(model, profile=self.profile, own=own, setting=setting, **where, **parts)

    def ask(self, judge: Judge, questions: Sequence[Question]) -> list[Answer]:
        """Return the answers of a judge model, with the setting ``max_new_tokens`` of the metric."""
        how: dict[str, Any] = {"batch_size": self.batch_size, "progress": self.progress}
        return judge.answers(questions, self.opening, longest=self.max_new_tokens, **how)

    def signature_extra(self, judge: Judge) -> dict[str, Any]:
        """Return the signature fields of a judge model.

        Returns:
            ``enc`` (identity), ``dtype``, ``prep`` (preparation of images) and ``chat_template`` (its digest or name).
        """
        names = {"enc": judge.identity, "dtype": judge.dtype, "prep": judge.preparation}
        return {**names, "chat_template": judge.opening(self.opening)}

    def warn_escaped(self, judge: Judge, questions: Sequence[Question]) -> int:
        """Count the questions with captions that spell special tokens, and warn if the count is not 0.

        Returns:
            Number of these questions.

        Warns:
            UserWarning: If the number is not 0.
        """
        n = sum(judge.find_altered(questions))
        if n:
            warn(
                f"{n} of {len(questions)} questions have a caption that contains a special token of the model; "
                "these tokens were split by a space, so that they cannot end a turn"
            )
        return n

    def warn_missing_digits(self, answers: Sequence[Answer], places: Sequence[Sequence[int]]) -> None:
        """Warn about answers whose score is undefined because a server did not return their digits.

        Args:
            answers: The answers.
            places: Indices of the scored tokens of each answer.

        Warns:
            UserWarning: If there are such answers.
        """
        n_missing = sum(not _has_digits(answer, own) for answer, own in zip(answers, places, strict=True))
        if n_missing:
            warn(
                f"{n_missing} of {len(answers)} answers are undefined, because the server returned too few of their "
                "digits; make it return the 20 most likely tokens, or pass the model itself as `model`"
            )


def _has_digits(answer: Answer, places: Sequence[int]) -> bool:
    return not np.isnan(answer.digits[list(places)]).any()


def describe_answer(
    question: Question, answer: Answer, number: float, places: Sequence[int], **more: Any
) -> dict[str, Any]:
    """Return the details of a numeric answer.

    Args:
        question: The question.
        answer: The answer.
        number: Number in the answer. NaN if there is none.
        places: Indices of the scored tokens.
        **more: Other parts of the answer by name.

    Returns:
        ``question``, ``answer``, ``number``, the other parts, ``digits`` (probabilities at `places`) and ``ended``.
    """
    read = {"question": question.text(), "answer": answer.text, "number": None if math.isnan(number) else number}
    kept = places if _has_digits(answer, places) else ()
    digits = [[round(chance, 9) for chance in answer.digits[i].tolist()] for i in kept]
    return {**read, **more, "digits": digits, "ended": answer.ended}


def check_model(name: str, model: Any) -> Any:
    """Validate a setting that names a judge model.

    Raises:
        UsageError: If it is neither None, nor a folder, a Hub id, or a custom judge.
    """
    if not (model is None or isinstance(model, (str, os.PathLike, Judge))) or model == "":
        problem = f"must be a folder, a Hub id with its commit, or a custom judge, got {short_repr(model)}"
        raise UsageError.about(name, problem)
    return model


def lazy_images_of(images: Sequence[Sequence[Mapping[str, Any]]]) -> list[WholeImage]:
    """Return the image of each row. Rows with equal images share one object."""
    distinct, which = unique_images(images)
    return [distinct[int(i)] for i in np.asarray(which)]
