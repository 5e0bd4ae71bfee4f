"""Render the example images and videos of pac_s and clip_s, and write the files with their captions.

    .venv/bin/python scripts/make/draw_examples.py examples

Every caption describes its synthetic scene, or a scene that differs from it in one fact.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from vlgauge import scenes

SEED = 11
N_IMAGES, N_CLIPS = 10, 5
IMAGE_SIZE, CLIP_SIZE = 128, 96
FRAMES_PER_SECOND = 5
N_REFERENCES = 2

# Kind of a caption by its wrong fact, in the order of the reports.
KINDS = {
    "colour": "other colour",
    "shape": "other shape",
    "size": "other size",
    "background": "other background",
    "place": "swapped places",
}
SWAPPED = "place"
ELSEWHERE = "other scene"
RIGHT = "right"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the images, the videos and their captions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files go")
    folder = parser.parse_args(arguments).folder
    write_rows(folder / "captioned_scenes.jsonl", draw_captioned_scenes(folder))
    write_rows(folder / "captioned_clips.jsonl", draw_captioned_clips(folder))


def draw_captioned_scenes(folder: Path) -> list[dict[str, Any]]:
    """Render the scenes, and return rows with a correct caption, one per changed fact, and one of another scene."""
    # Scenes with two objects come first, because a single object has no position to swap.
    chosen = sorted(scenes.scenes(N_IMAGES, SEED, "test"), key=lambda scene: len(scene.objects), reverse=True)
    (folder / "scenes").mkdir(exist_ok=True, parents=True)
    rows = []
    for number, scene in enumerate(chosen):
        name = f"scenes/{number + 1:02}.png"
        scenes.draw_scene(scene, size=IMAGE_SIZE, seed=SEED).image.save(folder / name, optimize=True)
        texts = scenes.captions(scene, SEED + number, N_REFERENCES + 1)
        captions = {RIGHT: texts[0]}
        for what, kind in KINDS.items():
            other = scenes.change_fact(scene, what, SEED + number)
            if other is not None:
                captions[kind] = scenes.captions(other, SEED + number)[0]
        captions[ELSEWHERE] = scenes.captions(chosen[number - 1], SEED + number)[0]
        rows += rows_of(f"scene-{number + 1:02}", captions, texts[1:], {"images": name})
    return rows


def draw_captioned_clips(folder: Path) -> list[dict[str, Any]]:
    """Render the videos, and return rows with a correct caption, one per changed fact, and one of another video."""
    chosen = scenes.clips(N_CLIPS, SEED, "test")
    (folder / "clips").mkdir(exist_ok=True, parents=True)
    rows = []
    for number, clip in enumerate(chosen):
        name = f"clips/{number + 1:02}.mp4"
        write_clip(folder / name, clip.frames(CLIP_SIZE))
        captions = {RIGHT: clip.captions(SEED + number)[0]}
        for what, kind in KINDS.items():
            if what != SWAPPED:
                captions[kind] = clip.change_fact(what, SEED + number).captions(SEED + number)[0]
        captions[ELSEWHERE] = chosen[number - 1].captions(SEED + number)[0]
        references = clip.captions(SEED + number, N_REFERENCES + 1)[1:]
        rows += rows_of(f"clip-{number + 1:02}", captions, references, {"videos": name})
    return rows


def rows_of(name: str, captions: dict[str, str], references: list[str], seen: dict[str, str]) -> list[dict[str, Any]]:
    """Return one row per caption of an image or video."""
    return [
        {
            "id": f"{name}, {kind}",
            "picture": name,
            "kind": kind,
            "predictions": caption,
            **seen,
            "references": references,
        }
        for kind, caption in captions.items()
    ]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a JSONL file."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")


def write_clip(path: Path, frames: Sequence[Image.Image]) -> None:
    """Write frames as a video that common players and browsers support."""
    import av

    with av.open(str(path), "w", options={"fflags": "+bitexact"}) as container:
        stream: Any = container.add_stream("libx264", rate=FRAMES_PER_SECOND)
        stream.width, stream.height = frames[0].size
        stream.pix_fmt, stream.options = "yuv420p", {"crf": "16", "threads": "1"}
        for image in frames:
            for packet in stream.encode(av.VideoFrame.from_image(image)):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


if __name__ == "__main__":
    main()
