"""Image demo: what is the fingerprint of the pixels that a metric sees?"""

import zlib
from collections.abc import Sequence
from typing import Any

from vlgauge.families import base
from vlgauge.inputs.images.cells import MAX_PIXELS
from vlgauge.inputs.images.cells import open_image


class ImageDemo(base.ImageMetric):
    """Metric that returns fingerprints of pixels.

    Args:
        max_pixels: Maximum number of pixels of a decoded image.

    A number in [0, 1) that changes with every pixel of the images of a row; undefined without images.

    Args:
        predictions: captions.
        images: images of each caption.
        references: captions of other people, optional.
        return_details: adds sizes of the images, captions and references, as the metric saw them.
    """

    papers = ("https://example.org/demo",)
    measures = "What is the fingerprint of the pixels?"
    score_range = "[0, 1]"
    bounds = (0.0, 1.0)
    higher_is_better = True

    def __init__(self, *args: Any, max_pixels: int = MAX_PIXELS, **host: Any) -> None:
        self.max_pixels = max_pixels
        super().__init__(*args, **host)

    def cite(self) -> str:
        return "@misc{demo}"

    def _compute(
        self,
        predictions: Sequence[str],
        images: Sequence[Any],
        references: Sequence[Any],
        return_details: bool = False,
    ) -> dict[str, Any]:
        scores, sizes = [], []
        for i, cells in enumerate(images):
            digest, row = 0, []
            for j, cell in enumerate(cells):
                image = open_image(cell, f"images[{i}][{j}]", max_pixels=self.max_pixels)
                digest = zlib.crc32(image.tobytes(), digest)
                row.append(image.size)
            scores.append(digest / 2**32 if row else float("nan"))
            sizes.append(row)
        details = {"sizes": sizes, "captions": predictions, "references": references}
        return self.result(scores, **(details if return_details else {}))
