"""VQAScore as a module of torch, for those who train through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import vlgauge
from vlgauge.catalog import folder_module
from vlgauge.errors import UsageError
from vlgauge.judged.metric import PictureJudgeMetric
from vlgauge.judges.questions import Question
from vlgauge.judges.transformers_judge import LoadedJudge
from vlgauge.media.images import image_cell
from vlgauge.media.pictures import ImagePicture
from vlgauge.settings import rows_of


class VqaScore(torch.nn.Module):
    """The score of captions and pictures, of which gradients can be taken.

    The model is a submodule, so that it is moved, sharded and frozen as any other; freeze it with
    ``requires_grad_(False)`` where only what made the pictures is trained. No metric shares this copy of it, so that
    metrics go on with the weights that their signatures name.

    Args:
        **settings: Of the metric ``vqascore``, such as ``model`` and ``definition``.

    Raises:
        ValueError: If the judge is none of the transformers library, such as the toy.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.metric: PictureJudgeMetric = vlgauge.load("vqascore", keep_in_memory=True, **settings)
        judge = self.metric.judge(own=True)
        if not isinstance(judge, LoadedJudge):
            raise UsageError(
                f"`model` must be one of the transformers library to be trained through, got {judge.identity}"
            )
        self._judge = judge
        self.model = judge.model

    def forward(
        self, captions: Sequence[str], images: Sequence[Any] | None = None, pixels: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The scores, shape ``(n,)``, in float32.

        Args:
            captions: One per picture.
            images: As the metric takes them; no gradient goes through their preprocessing.
            pixels: In their place, pictures as the image tower of LLaVA or CLIP-FlanT5 takes them, resized and
                normalised, shape ``(n, 3, height, width)``.

        Raises:
            ValueError: If there are not as many pictures as captions, or both kinds or none.
        """
        if (images is None) == (pixels is None):
            raise UsageError("`images` must be given, or `pixels` in their place, got both or none")
        texts = [str(text) for text in rows_of("captions", captions)]
        shown: list[Any] = [None] * len(texts)
        if images is not None:
            cells = [image_cell(image, f"images[{i}]") for i, image in enumerate(images)]
            shown = [ImagePicture(cell, f"images[{i}]") for i, cell in enumerate(cells)]
        n = len(shown) if pixels is None else len(pixels)
        if n != len(texts):
            raise UsageError(f"`captions` must be one per picture, got {len(texts)} and {n}")
        metric: Any = self.metric
        questions: list[Question] = [metric.question(text, one) for text, one in zip(texts, shown, strict=True)]
        answers = [metric.answer.replace("{}", text) for text in texts]
        chances = self._judge.differentiable_chances(questions, answers, metric.opening, pixels)
        mean = folder_module("vqascore", "formula").mean_log_chance
        return torch.stack([mean(one, metric.definition) for one in chances]).exp()
