"""Render the example stories of examples/drawn_stories.jsonl: sentences, images, and boxes of their objects."""

import argparse
import json
from pathlib import Path

from vlgauge import scenes

ROOT = Path(__file__).resolve().parents[2]
N_STORIES, SEED = 6, 40


def main(arguments: list[str] | None = None) -> None:
    """Write the file and its folder of images."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "examples", help="folder (default: examples)")
    target = parser.parse_args(arguments).output
    folder = target / "drawn_stories"
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, story in enumerate(scenes.stories(N_STORIES, SEED, "test"), 1):
        names, regions = [], []
        for position, drawing in enumerate(story.drawings(), 1):
            names.append(f"drawn_stories/{number}-{position}.png")
            drawing.image.save(target / names[-1], optimize=True)
            regions.append({"boxes": [list(box) for box in (*drawing.boxes, (0, 0, *drawing.image.size))]})
        rows.append({"id": f"drawn-{number}", "predictions": story.sentences, "images": names, "regions": regions})
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    (target / "drawn_stories.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
