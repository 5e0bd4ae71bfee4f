"""Tasks of sandbox workers that decode untrusted images."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from PIL import Image

from vlgauge.inputs.images.cells import decode_image, image_head

_Part: TypeAlias = tuple[Any, bytes]

_ROWS = 256

# Load all formats now, while modules can still be imported.
Image.init()


def decode(content: bytes, path: str | None, place: str, *, pixels: bool, **how: Any) -> Iterator[_Part]:
    """Decode an image and yield its header, then bands of its rows. Without `pixels`, the image is empty.

    Raises:
        LargeImageError: If the image is large and may not be.
        UsageError: If the image cannot be read or is too large.
    """
    image, animated = decode_image({"bytes": content, "path": path}, place, **how)
    if not pixels:
        image = Image.new("RGB", (0, 0))
    facts: dict[str, Any] = {"size": image.size, "mode": image.mode, "animated": animated, "palette": None}
    facts["transparency"] = repr(image.info.get("transparency"))  # None, a number, or a tuple or bytes of them
    if image.mode in ("P", "PA"):
        mode = image.im.getpalettemode() if image.mode == "P" else "RGB"
        facts |= {"palette_mode": mode, "palette": image.im.getpalette(mode, mode).hex()}
    yield facts, b""
    for top in range(0, image.height, _ROWS):
        bottom = min(top + _ROWS, image.height)
        band = image.crop((0, top, image.width, bottom)).tobytes()
        yield (top, bottom - top), band


def head(content: bytes, path: str | None, place: str) -> Iterator[_Part]:
    """Yield size and mode of an image without decoding it.

    Raises:
        UsageError: If the image cannot be read or is too large.
    """
    size, mode = image_head({"bytes": content, "path": path}, place)
    yield (*size, mode), b""
