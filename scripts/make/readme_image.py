"""Render the figure of README.md: a visual story explained by groovist, from a real report, in light and in dark.

It requires Playwright and Chromium, and the extras groovist, embedded and explain.
"""

import json
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import vlgauge
from vlgauge import explain
from vlgauge.core.writing import write

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs" / "static"
EXAMPLES = ROOT / "metrics" / "groovist" / "examples.jsonl"
IMAGES = ROOT / "shared" / "vlgauge" / "data" / "examples"
WIDTH = 760
COLOURS = 64  # reduces the file to a quarter without visible loss


def report() -> str:
    """Create the report on the story with one hallucinated object."""
    examples = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
    story = next(example for example in examples if example["shows"] == "subtle")
    images = [str(IMAGES / name) for name in story["images"]]
    rows = {"predictions": [story["predictions"]], "images": [images]}
    groovist = vlgauge.load("groovist", profile="embedded", device="cpu", progress=False)
    result = groovist.compute(**rows, return_details=True)
    assert result is not None  # None only in distributed runs
    return explain.explain("groovist", rows, result).html(worst=1, best=0)


def main() -> None:
    """Write readme-light.png and readme-dark.png."""
    page_file = Path(tempfile.mkdtemp()) / "report.html"
    page_file.write_text(report(), "utf-8")
    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = chromium.new_context(
                viewport={"width": WIDTH, "height": 900}, color_scheme=scheme, device_scale_factor=2
            )
            page = context.new_page()
            page.goto(page_file.as_uri())
            page.add_style_tag(content="details[open] {padding: 0 16px}")
            screenshot = Image.open(BytesIO(page.locator("details[open]").first.screenshot()))
            buffer = BytesIO()
            screenshot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
            write(OUT / f"readme-{scheme}.png", buffer.getvalue())
            context.close()
        chromium.close()


if __name__ == "__main__":
    main()
