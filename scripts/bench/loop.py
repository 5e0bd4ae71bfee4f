"""Time metrics as training loops use them: the second evaluation of the same pictures, and rewards of trl.

The image side of an evaluation is what is done for pictures alone: reading, storing, digests, decoding, encoder. From
the second evaluation on the vectors are remembered. The weights are those of the toy CLIP, whose encoder is much faster
than a real one, so that the share of what is left over is the largest there can be. Exits with status 1 when a picture
is encoded twice, when the image side of the second evaluation takes more than 5 % of that of the first, or when 64
completions over 8 pictures take 0.3 s or more. Both are times of the CPU, which other programs disturb less.
"""

import argparse
import io
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import datasets

import vlgauge
from vlgauge import scenes
from vlgauge.base.columns import Images
from vlgauge.encoders.clip.encoder import ClipEncoder
from vlgauge.integrations.rows import RowMetrics
from vlgauge.integrations.trl import caption_reward

REQUIRED_SHARE, REQUIRED_SECONDS = 0.05, 0.3
PICTURES, GROUP = 8, 8  # of the rewards


class ImageSide:
    """CPU seconds within the steps that an evaluation takes for its pictures alone."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, owner: Any, name: str) -> Callable[[], None]:
        """Measure a method from now on; returns what ends that."""
        own = getattr(owner, name)

        def measured(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return own(*args, **kwargs)
            finally:
                self.seconds += time.process_time() - start

        setattr(owner, name, measured)
        return lambda: setattr(owner, name, own)


def photographs(n: int, side: int) -> datasets.Dataset:
    """Drawn scenes as JPEG files in a data set, with one reference each."""
    rows = []
    for scene in scenes.scenes(n, seed=0):
        file = io.BytesIO()
        scenes.draw_scene(scene, size=side).image.save(file, "JPEG")
        rows.append({"image": {"bytes": file.getvalue(), "path": None}, "captions": scenes.captions(scene, seed=0)})
    return datasets.Dataset.from_list(rows).cast_column("image", datasets.Image())


def image_sides(rows: Any) -> tuple[list[float], list[float], list[int]]:
    """Image sides and whole times of two evaluations in seconds, and pictures encoded by each."""
    metric: Any = vlgauge.load("pac_s", profile="embedded", keep_in_memory=True, progress=False)
    encoder = metric.encoder_and_adapter()[0]
    scored = RowMetrics([metric], rows=rows, columns={"images": "image"})
    side = ImageSide()
    steps = ((RowMetrics, "_column"), (Images, "store"), (ClipEncoder, "image_hidden"))
    undo = [side.timed(owner, name) for owner, name in steps]
    sides, whole, encoded = [], [], []
    try:
        for epoch in range(2):
            side.seconds, before, start = 0.0, encoder.forwards["image"], time.process_time()
            scored.score([f"a circle in epoch {epoch} of row {row}" for row in range(len(rows))])
            whole.append(time.process_time() - start)
            sides.append(side.seconds)
            encoded.append(encoder.forwards["image"] - before)
    finally:
        for end in undo:
            end()
    return sides, whole, encoded


def reward_seconds() -> float:
    """CPU seconds of new completions of pictures that were seen before, the best of three."""
    drawn = [scenes.draw_scene(scene, size=96).image for scene in scenes.scenes(PICTURES, seed=1)]
    images = [image for image in drawn for _ in range(GROUP)]
    reward = caption_reward("pac_s", profile="embedded")
    seconds = []
    for call in range(4):
        texts = [f"a red circle of call {call}, number {number}" for number in range(len(images))]
        start = time.process_time()
        reward(texts, texts, image=images)
        seconds.append(time.process_time() - start)
    return min(seconds[1:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both and say whether they are within bounds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pictures", type=int, default=500)
    parser.add_argument("--side", type=int, default=400, help="of a picture, in pixels")
    parser.add_argument("--smoke", action="store_true", help="a few small pictures, and no bound on the times")
    options = parser.parse_args(arguments)
    if options.smoke:
        options.pictures, options.side = 20, 64
    warnings.filterwarnings("ignore", "the toy CLIP")
    sides, whole, encoded = image_sides(photographs(options.pictures, options.side))
    share = sides[1] / sides[0]
    for name, side, total, count in zip(("first", "second"), sides, whole, encoded, strict=True):
        print(f"{name} evaluation: {count} pictures encoded, image side {side:.3f} s of {total:.3f} s")
    print(f"image side of the second: {share:.1%} of the first")
    seconds = reward_seconds()
    print(f"{PICTURES * GROUP} completions over {PICTURES} pictures: {seconds:.3f} s")
    if encoded[1]:
        print(f"error: {encoded[1]} pictures were encoded again", file=sys.stderr)
    slow = not options.smoke and (share > REQUIRED_SHARE or seconds >= REQUIRED_SECONDS)
    return 1 if encoded[1] or slow else 0


if __name__ == "__main__":
    sys.exit(main())
