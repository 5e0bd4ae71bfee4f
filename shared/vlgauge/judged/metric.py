"""Bases of the metrics that ask a model: their settings, and what comes of a picture and its captions."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vlgauge.base.captions import CaptionMetric
from vlgauge.base.columns import Column, References, Text
from vlgauge.base.metric import Metric
from vlgauge.base.video_columns import OneImage
from vlgauge.errors import UsageError
from vlgauge.judges.loading import DTYPES, judge_of, look_for_model
from vlgauge.judges.questions import Judge, Opening, Question
from vlgauge.judges.sources import LLAVA, other_models
from vlgauge.media.pictures import ImagePicture, distinct_images
from vlgauge.settings import one_of, shown, warn, whole_number
from vlgauge.weights.preflight import Preflight


class JudgeMetric(Metric):
    """Base of the metrics that ask a model of pictures and text, once per row.

    Attributes:
        paper_model: The model under the profile "paper" where none is named; None for none.
        opening: What LLaVA and CLIP-FlanT5 read around the question.
    """

    columns: tuple[Column, ...] = (Text("predictions"), OneImage("images"), References("references", optional=True))
    has_reference_scores: ClassVar[bool] = True
    unsigned: ClassVar[tuple[str, ...]] = ("device_map",)
    source_settings = ("model", "dtype", "tower", "adapter")
    paper_model: ClassVar[str | None] = LLAVA
    opening: ClassVar[Opening]
    # The image tower of a model that has none of its own; only vqascore asks such models.
    tower: Any = None
    # What is added to a LLaVA; only fleur does.
    adapter: Any = None

    def __init__(
        self,
        *args: Any,
        model: Any = None,
        batch_size: int = 1,
        device: str = "auto",
        dtype: str = "float32",
        device_map: str | Mapping[str, Any] | None = None,
        **host: Any,
    ) -> None:
        if not (model is None or isinstance(model, (str, os.PathLike, Judge))):
            raise UsageError(
                f"`model` must be a folder, a Hub id with its commit, or a judge of your own, got {shown(model)}"
            )
        self.model = model
        self.batch_size = whole_number("batch_size", batch_size, 1)
        self.device, self.dtype = device, one_of("dtype", dtype, DTYPES)
        self.device_map = device_map
        super().__init__(*args, **host)

    @property
    def chosen_model(self) -> Any:
        """The setting, or the model of the paper."""
        return self.paper_model if self.model is None and self.profile == "paper" else self.model

    def look_for_sources(self) -> Preflight:
        """What every call needs; nothing is loaded or fetched."""
        preflight = Preflight(self.name, self.needs[0])
        lacking = (
            f"`model` is missing: {self.name} asks any language model; pass a folder or a Hub id, {other_models()}"
        )
        look_for_model(preflight, self.chosen_model, self.tower, self.adapter, profile=self.profile, lacking=lacking)
        return preflight

    def judge(self, own: bool = False) -> Judge:
        """The judge of the settings, from the pool; metrics with the same model share it, but for a copy to train."""
        self.look_for_sources().end()
        return judge_of(
            self.chosen_model,
            profile=self.profile,
            device=self.device,
            dtype=self.dtype,
            device_map=self.device_map,
            tower=self.tower,
            adapter=self.adapter,
            own=own,
        )

    def made_with(self, judge: Judge) -> dict[str, Any]:
        """What names the judge in the signature, and how it sees pictures and reads questions."""
        names = {"enc": judge.identity, "dtype": judge.dtype, "prep": judge.preparation}
        return {**names, "turn": judge.opening(self.opening)}

    def tell_altered(self, judge: Judge, questions: Sequence[Question]) -> int:
        """How many questions have captions that spell special tokens, with a warning if any has."""
        n = sum(judge.altered(questions))
        if n:
            warn(
                f"{n} of {len(questions)} questions have a caption that spells a special token of the model; such a "
                "token was taken apart by a blank, so that it ends no turn"
            )
        return n

    def tell_untold(self, n_untold: int, n_answers: int) -> None:
        """Warn of answers whose score is undefined because a server did not tell their digits."""
        if n_untold:
            warn(
                f"{n_untold} of {n_answers} answers are undefined: the server returned too few of their digits; let it "
                "return the 20 likeliest tokens, or pass the model itself as `model`"
            )


class PictureJudgeMetric(JudgeMetric):
    """Base of the metrics that ask about a caption and its picture, and read no references."""

    columns = (Text("predictions"), OneImage("images"))
    has_reference_scores = False


class TextJudgeMetric(JudgeMetric, CaptionMetric):
    """Base of the metrics that ask a language model about a caption and its references, without the picture."""

    columns = CaptionMetric.columns
    has_reference_scores = False
    paper_model: ClassVar[str | None] = None


def pictures_of(images: Sequence[Sequence[Mapping[str, Any]]]) -> list[ImagePicture]:
    """The picture of each row; equal ones are one object."""
    pictures, which = distinct_images(images)
    return [pictures[int(i)] for i in np.asarray(which)]
