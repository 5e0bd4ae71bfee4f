"""Preview image of a Space for shared links, with its name and question. It shows no score."""

import io

from PIL import Image, ImageDraw, ImageFont

SIZE = (1200, 630)
FILE = "thumbnail.png"
_PAPER, _INK, _QUIET, _EDGE, _FOR, _AGAINST = "#ffffff", "#14202b", "#51606e", "#7b8894", "#0a5aa3", "#a84300"
_LEFT, _WIDEST, _OVER = 90, 1020, 2  # rendered at twice the size for smooth edges


def address(name: str, org: str) -> str:
    """Return the URL of the preview image of a Space."""
    return f"https://huggingface.co/spaces/{org}/{name}/resolve/main/{FILE}"


def thumbnail(title: str, question: str) -> bytes:
    """Render the preview image as PNG, with title, question and logo of the project."""
    image = Image.new("RGB", (SIZE[0] * _OVER, SIZE[1] * _OVER), _PAPER)
    draw = ImageDraw.Draw(image)
    _sign(draw, 150)
    size = 120
    while size > 40 and draw.textlength(title, _font(size)) > _WIDEST * _OVER:
        size -= 4
    draw.text((_LEFT * _OVER, 230 * _OVER), title, _INK, _font(size))
    top = 240 + int(size * 1.25)
    for line in _lines(draw, question, 46):
        draw.text((_LEFT * _OVER, top * _OVER), line, _QUIET, _font(46))
        top += 60
    draw.text((_LEFT * _OVER, 545 * _OVER), "vlgauge", _INK, _font(34))
    stream = io.BytesIO()
    image.reduce(_OVER).quantize(64, Image.Quantize.FASTOCTREE).save(stream, "PNG")
    return stream.getvalue()


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size * _OVER)


def _sign(draw: ImageDraw.ImageDraw, y: int) -> None:
    """Draw the logo: a scale whose right end is better, with a ring for wrong and a disc for right."""
    line = [(_LEFT * _OVER, y * _OVER), ((_LEFT + _WIDEST) * _OVER, y * _OVER)]
    draw.line(line, _EDGE, 4 * _OVER)
    for x, radius, fill, edge in ((_LEFT + 150, 30, _PAPER, _AGAINST), (_LEFT + 800, 36, _FOR, _FOR)):
        box = [(one * _OVER) for one in (x - radius, y - radius, x + radius, y + radius)]
        draw.ellipse(box, fill, edge, 12 * _OVER)


def _lines(draw: ImageDraw.ImageDraw, text: str, size: int) -> list[str]:
    """Split a text into lines that fit."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and draw.textlength(longer, _font(size)) > _WIDEST * _OVER:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
