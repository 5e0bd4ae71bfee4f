"""Differentiable VQAScore as a torch module, for training with its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import rows_of
from vlgauge.families.judged.metric import JudgeMetric
from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.models.judges.questions import Question
from vlgauge.models.judges.transformers_judge import LoadedJudge


class VqaScore(torch.nn.Module):
    """Torch module that computes differentiable scores of captions and images.

    The model is a submodule, so it can be moved, sharded and frozen like any other. Freeze it with
    ``requires_grad_(False)`` to train only the model that generates the images. Metrics do not share this copy, so they
    continue to use the weights in their signatures.

    Args:
        **settings: Settings of the metric ``vqascore``, such as ``model`` and ``definition``.

    Raises:
        ValueError: If the judge model is not from the transformers library, such as the demo model.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.metric: JudgeMetric = vlgauge.load("vqascore", keep_in_memory=True, **settings)
        judge = self.metric.judge(own=True)
        if not isinstance(judge, LoadedJudge):
            raise UsageError.about(
                "model", f"must be a judge of the transformers library for gradients, got {judge.identity}"
            )
        self._judge = judge
        self.model = judge.model

    def forward(
        self, captions: Sequence[str], images: Sequence[Any] | None = None, pixels: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Compute the scores.

        Args:
            captions: One caption per image.
            images: Images in the form that the metric accepts. Gradients do not flow through their preprocessing.
            pixels: Preprocessed images instead of `images`, in the form that the image tower of LLaVA or CLIP-FlanT5
                expects, resized and normalized, shape ``(n, 3, height, width)``.

        Returns:
            Scores, shape ``(n,)``, float32.

        Raises:
            ValueError: If the numbers of images and captions differ, or both or neither of `images` and `pixels` are
                passed.
        """
        if (images is None) == (pixels is None):
            raise UsageError.about("images", "or `pixels` is required, but not both")
        texts = [str(text) for text in rows_of("captions", captions)]
        whole_images: list[Any] = [None] * len(texts)
        if images is not None:
            cells = [image_cell(image, f"images[{i}]") for i, image in enumerate(images)]
            whole_images = [WholeImage(cell, f"images[{i}]") for i, cell in enumerate(cells)]
        n = len(whole_images) if pixels is None else len(pixels)
        if n != len(texts):
            raise UsageError.about("captions", f"must be one per image, got {len(texts)} and {n}")
        metric: Any = self.metric
        questions: list[Question] = [metric.question(text, one) for text, one in zip(texts, whole_images, strict=True)]
        answers = [metric.answer.replace("{}", text) for text in texts]
        chances = self._judge.differentiable_chances(questions, answers, metric.opening, pixels)
        mean = folder_module("vqascore", "formula").mean_log_chance
        return torch.stack([mean(one, metric.definition) for one in chances]).exp()
