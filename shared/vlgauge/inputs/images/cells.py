"""Conversion of images from all supported inputs to undecoded cells, and safe decoding of cells."""

import errno
import io
import math
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.ImageFile import ImageFile

from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.files import is_address
from vlgauge.core.validation import as_list
from vlgauge.inputs.images import headers, sandboxed
from vlgauge.inputs.images.animations import note_animation
from vlgauge.inputs.images.large_images import LargeImageError, decode_alone_if_large, is_large
from vlgauge.inputs.limits import MAX_PIXELS
from vlgauge.inputs.sandbox import is_sandboxed

# Bytes per pixel during decoding, see `MAX_PIXELS`. Formats that need more may have fewer pixels.
_BYTES_PER_PIXEL = 8
# Pillow needs eight bytes per row, in addition to four per pixel.
MAX_SIDE = 2**20

# Lossless format for the pixels of each mode. PPM is fastest but supports neither alpha nor palettes, and PNG does not
# support CMYK.
_TRAVEL_FORMAT = {"RGB": "PPM", "L": "PPM", "1": "PPM", "P": "PNG", "LA": "PNG", "RGBA": "PNG", "CMYK": "TIFF"}
_DEEP_MODES = ("I", "F")
_ORIENTATION = 0x0112
_AT_A_TIME = 2**20  # tensor elements that are processed together
_LONGEST_PATH = 4096  # limit of Linux. Longer strings are texts that were passed as a path


def as_numpy(value: Any) -> Any:
    """Convert an array of another library, such as JAX, to NumPy, and return any other value unchanged.

    An array has ``__array__``, ``__array_interface__`` or ``__dlpack__`` and at least one dimension. PIL images, lists
    of rows and torch tensors are not converted. See `_tensor_pixels` for tensors.

    Returns:
        A NumPy array of the same shape and dtype, or the unchanged value.

    Raises:
        UsageTypeError: If NumPy cannot read the array, for example because its library requires an explicit copy from a
            GPU.
    """
    known = isinstance(value, (np.ndarray, np.generic, Image.Image)) or is_tensor(value) or as_list(value) is not None
    own = [name for name in ("__array__", "__array_interface__", "__dlpack__") if hasattr(type(value), name)]
    if known or not own:
        return value
    try:
        array = np.from_dlpack(value) if own == ["__dlpack__"] else np.asarray(value)
    except Exception as error:  # each library raises different errors
        raise UsageTypeError(
            f"an array must be convertible to NumPy, got {type(value).__name__} ({error}); copy it to the CPU"
        ) from error
    return array if array.ndim else value


def is_single_image(value: Any) -> bool:
    """Return whether a row is one image instead of a list of images."""
    value = as_numpy(value)
    if isinstance(value, np.ndarray):
        return value.ndim in (2, 3) and value.dtype != object
    if is_tensor(value):
        return value.ndim in (2, 3)
    return isinstance(value, (str, os.PathLike, bytes, bytearray, Mapping, Image.Image))


def is_tensor(value: Any) -> bool:
    """Return whether a value is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def images_of(row: Any) -> list[Any] | None:
    """Return the images of a row that is a list, tuple, one-dimensional array or batch tensor. None for other rows.

    A batch tensor has shape ``(n, channels, height, width)`` or ``(n, height, width, channels)``.
    """
    return list(row) if is_tensor(row) and row.ndim == 4 else as_list(as_numpy(row))


def image_cell(image: Any, place: str, *, may_be_missing: bool = False) -> dict[str, Any]:
    """Convert an image to a cell ``{"bytes": ..., "path": ...}`` that `evaluate` can store, without decoding it.

    Args:
        image: Path, encoded bytes, mapping with ``bytes`` or ``path``, uint8 array of shape ``(height, width)`` or
            ``(height, width, 3)`` of any library (see `as_numpy`), PIL image (of which the current pixels are used), or
            torch tensor (see `_tensor_pixels`).
        place: Position of the image in the input, for error messages.
        may_be_missing: Whether a path may refer to a file that does not exist.

    Raises:
        ValueError: If the image is invalid, too large, empty or missing.
        TypeError: If the type, dtype or shape is not supported.
    """
    if isinstance(image, (str, os.PathLike)):
        image = {"path": image}
    elif isinstance(image, (bytes, bytearray)):
        image = {"bytes": image}
    if isinstance(image, Mapping):
        return _mapping_cell(image, place, may_be_missing)
    image = _tensor_pixels(image, place) if is_tensor(image) else as_numpy(image)
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3):
            raise UsageTypeError.about(
                place,
                f"must be a uint8 array of shape (height, width) or (height, width, 3), "
                f"got {image.dtype} of shape {image.shape}",
            )
        if image.size == 0:
            raise UsageError.about(place, f"must have at least one pixel, got an array of shape {image.shape}")
        _check_not_large(image.shape[1], image.shape[0], place)
        return {"bytes": _array_bytes(image), "path": None}
    if isinstance(image, Image.Image):
        return {"bytes": _pixel_bytes(image, place), "path": None}
    raise UsageTypeError.about(
        place, f"must be an image (path, bytes, PIL image, uint8 array or tensor), got {type(image).__name__}"
    )


def _tensor_pixels(tensor: Any, place: str) -> np.ndarray:
    """Convert a tensor to uint8 pixels, shape ``(height, width)`` for one channel or ``(height, width, 3)`` for three.

    Args:
        tensor: Tensor of uint8, or of floats in [0, 1] obtained by division by 255, on any device. Its shape is
            ``(height, width)``, ``(channels, height, width)`` or ``(height, width, channels)`` with 1 or 3 channels. If
            both are possible, channels come first, as is usual in torch.
        place: Position of the image in the input, for error messages.
    """
    kind = str(tensor.dtype).removeprefix("torch.")
    first = tensor.ndim == 3 and tensor.shape[0] in (1, 3)
    last = tensor.ndim == 3 and tensor.shape[2] in (1, 3)
    if not (tensor.ndim == 2 or first or last) or not (kind == "uint8" or tensor.is_floating_point()):
        raise UsageTypeError.about(
            place,
            "must be a tensor of uint8 or of floats in 0..1, with 1 or 3 channels as first or last dimension, "
            f"got {kind} of shape {tuple(tensor.shape)}",
        )
    pixels = tensor.detach()
    if first:
        pixels = pixels.movedim(0, 2)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    _check_not_large(pixels.shape[1], pixels.shape[0], place)
    pixels = pixels.cpu()
    return np.asarray(pixels.numpy() if kind == "uint8" else _levels(pixels, place))


def _levels(pixels: Any, place: str) -> npt.NDArray[np.uint8]:
    """Convert floats in [0, 1] to gray levels, in chunks of rows because float64 needs eight times as much memory."""
    levels = np.empty(tuple(pixels.shape), np.uint8)
    step = max(1, _AT_A_TIME // max(1, math.prod(pixels.shape[1:])))
    for start in range(0, len(levels), step):
        values = pixels[start : start + step].double().numpy()
        # NaN fails the comparison, too. An empty image needs no comparison.
        if not ((values >= 0) & (values <= 1)).all():
            raise UsageError.about(
                place,
                f"must be a tensor of floats in 0..1, got {float(pixels.min()):.4g} to "
                f"{float(pixels.max()):.4g}; pass the image before normalization for a model",
            )
        levels[start : start + step] = np.rint(values * 255)
    return levels


def resolve_media_file(
    path: str | os.PathLike[str],
    place: str,
    kind: Literal["image", "video"] = "image",
    *,
    may_be_missing: bool = False,
) -> str:
    """Return the absolute path of an existing regular file that is not empty.

    If `may_be_missing` is true, the file may be missing or empty, and `media_digest` refuses it.

    Raises:
        ValueError: If the path is a URL, is not valid Unicode, or is not a regular file, or the file is missing or
            empty.
    """
    text = os.fspath(path)
    if is_address(text):
        raise UsageError.about(place, f"must be a local file, got the URL {text[:60]!r}; download it first")
    absolute = Path(text).absolute()
    try:
        status = absolute.stat()
        mode, is_empty = status.st_mode, status.st_size == 0
    except (OSError, ValueError) as error:
        if not may_be_missing or not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise UsageError.about(
                place, f"must be an existing {kind} file, got {text[:_LONGEST_PATH]!r}, which is missing"
            ) from None
        mode, is_empty = stat.S_IFREG, False
    # Opening a pipe or a device could block indefinitely.
    article = "an" if kind == "image" else "a"
    if not stat.S_ISREG(mode):
        raise UsageError.about(place, f"must be {article} {kind} file, got {text!r}, which is not a regular file")
    # Files of the kernel also have this size, and reading them could block.
    if is_empty and not may_be_missing:
        raise UsageError.about(place, f"must be {article} {kind} file, got {text!r}, which is empty")
    try:
        str(absolute).encode()
    except UnicodeEncodeError:
        raise UsageError.about(place, f"must have a path that is valid Unicode, got {text!r}; rename it") from None
    return str(absolute)


def media_digest(path: str) -> bytes:
    """Compute the SHA-256 digest of an image or video file, 32 bytes, cached for a path until the file changes.

    Raises:
        ValueError: If the file waits for data.
        OSError: If the file is missing, empty or not a regular file.
    """
    if os.stat(path).st_size == 0 and os.path.isfile(path):
        raise OSError(errno.EINVAL, "it is empty", path)
    return bytes.fromhex(sha256_of(Path(path)))


def _mapping_cell(image: Mapping[str, Any], place: str, may_be_missing: bool) -> dict[str, Any]:
    data, path = image.get("bytes"), image.get("path")
    for key, value, kinds in (("bytes", data, (bytes, bytearray, memoryview)), ("path", path, (str, os.PathLike))):
        if value is not None and not isinstance(value, kinds):
            wanted = "bytes" if key == "bytes" else "a path"
            raise UsageTypeError.about(place, f"must have {wanted} as `{key}`, got {type(value).__name__}")
    if data is not None:
        if not bytes(data):
            raise UsageError.about(place, "must be the bytes of an image file, got 0 bytes")
        return {"bytes": bytes(data), "path": None}
    if path is None:
        raise UsageError.about(place, f"must have `bytes` or `path`, got the keys {sorted(map(str, image))}")
    return {"bytes": None, "path": resolve_media_file(path, place, may_be_missing=may_be_missing)}


def _check_not_large(width: int, height: int, place: str, max_pixels: int = MAX_PIXELS, where: str = "") -> None:
    if max(width, height) > MAX_SIDE:
        raise UsageError.about(place, f"must have sides of at most {MAX_SIDE:,} pixels, got {width} x {height}{where}")
    if width * height > max_pixels:
        raise UsageError.about(place, f"must have at most {max_pixels} pixels, got {width} x {height}{where}")


def _check_not_deep(mode: str, place: str) -> None:
    if mode.startswith(_DEEP_MODES) or mode.endswith(";16"):
        raise UsageError.about(
            place,
            f"must have 8 bits per channel, got mode {mode!r}; scale it to 8 bits first, because a conversion "
            "would clip its values",
        )


def _find_stored_mode(image: Image.Image) -> str:
    """Return the mode of the pixels in a file. Pillow opens 16-bit color as "RGB" and would drop the low bytes."""
    tiles = getattr(image, "tile", None)
    stored = str(tiles[0].args) if tiles else ""
    deep = ";16" in stored or "65535" in stored
    return f"{image.mode};16" if deep and not image.mode.startswith(_DEEP_MODES) else image.mode


def _array_bytes(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Encode pixels like `_pixel_bytes`, but row by row to avoid a copy of all pixels."""
    height, width = pixels.shape[:2]
    buffer = io.BytesIO()
    buffer.write(b"P%d\n%d %d\n255\n" % (5 if pixels.ndim == 2 else 6, width, height))
    for row in pixels:
        buffer.write(np.ascontiguousarray(row).data)
    return buffer.getvalue()


def _pixel_bytes(image: Image.Image, place: str) -> bytes:
    """Encode the current pixels losslessly, rotated upright if the image has an orientation tag."""
    _check_not_large(*image.size, place)
    _check_not_deep(_find_stored_mode(image), place)
    buffer = io.BytesIO()
    with _unreadable_refused(place, "a PIL image"):
        image = ImageOps.exif_transpose(image)
        if image.mode not in _TRAVEL_FORMAT:
            image = image.convert("RGB")
        # Higher PNG compression has little benefit for a cell that is read once.
        options = {"compress_level": 1} if _TRAVEL_FORMAT[image.mode] == "PNG" else {}
        image.save(buffer, _TRAVEL_FORMAT[image.mode], **options)
    return buffer.getvalue()


def open_image(
    cell: Mapping[str, Any],
    place: str,
    *,
    convert: Literal["early", "late"] = "early",
    max_pixels: int = MAX_PIXELS,
) -> Image.Image:
    """Decode a cell to an upright image, in RGB unless the caller converts it later.

    Args:
        cell: Image cell created by `image_cell`.
        place: Position of the image in the input, such as ``"images[3][2]"``, for error messages.
        convert: ``"early"`` to return RGB, ``"late"`` to keep the stored mode for a caller that resizes first. The
            results differ for palette and alpha images.
        max_pixels: Maximum number of pixels, checked in the header before decoding. For WebP the limit is half, for
            progressive JPEG two thirds.

    Raises:
        ValueError: If the image cannot be read, is too large, or has more than 8 bits per channel.
    """
    return _open(cell, place, convert=convert, max_pixels=max_pixels)


def check_image(cell: Mapping[str, Any], place: str, *, max_pixels: int = MAX_PIXELS) -> None:
    """Decode a cell to check that it is readable, and discard the result.

    Raises:
        ValueError: If the image cannot be read, is too large, or has more than 8 bits per channel.
    """
    _open(cell, place, convert="early", max_pixels=max_pixels, pixels=False)


def _open(cell: Mapping[str, Any], place: str, *, pixels: bool = True, **how: Any) -> Image.Image:
    """Decode a cell. Without `pixels`, a worker does not return them."""
    if is_sandboxed():
        image, animated = sandboxed.decode(cell, place, pixels=pixels, **how)
    else:
        image, animated = decode_image(cell, place, **how)
    if animated:
        note_animation(place)
    return image


def decode_image(
    cell: Mapping[str, Any],
    place: str,
    *,
    convert: Literal["early", "late"],
    max_pixels: int,
    may_be_large: bool = True,
) -> tuple[Image.Image, bool]:
    """Decode a cell in this process, even if it is untrusted. See `open_image` for the arguments.

    Returns:
        The image, and whether its file has several frames.

    Raises:
        LargeImageError: If the image is large, unless `may_be_large` is true.
        UsageError: If the image cannot be read, is too large, or has a mode that is not supported.
    """
    with open_image_file(cell, place, max_pixels=max_pixels) as image:
        _check_not_deep(_find_stored_mode(image), place)
        weight = image.width * image.height * headers.bytes_per_pixel(image)
        if not may_be_large and is_large(weight, MAX_PIXELS * _BYTES_PER_PIXEL):
            raise LargeImageError(f"`{place}` must be decoded alone")
        alone = decode_alone_if_large(weight, MAX_PIXELS * _BYTES_PER_PIXEL)
        with alone, _unreadable_refused(place, short_cell(cell)):
            animated = bool(getattr(image, "is_animated", False))
            image.load()
            # A text chunk of a PNG file with this name replaces the transparency, and Pillow cannot convert a text.
            if isinstance(image.info.get("transparency"), str):
                del image.info["transparency"]
            # Rotate in place, because a decoded photograph is large, with four bytes per pixel in any mode.
            ImageOps.exif_transpose(image, in_place=True)
            pixels: Image.Image = image
            if convert == "early" and image.mode != "RGB":
                # Remove the transparency, about whose loss Pillow would warn. Images are always scored without their
                # alpha channel.
                image.info.pop("transparency", None)
                pixels = image.convert("RGB")
    return pixels, animated


def image_head(cell: Mapping[str, Any], place: str) -> tuple[tuple[int, int], str]:
    """Return the size of the upright image and the mode of its pixels, without decoding it.

    Returns:
        Width and height in pixels, and the mode of Pillow, such as "RGB".

    Raises:
        ValueError: If the image cannot be read or is too large.
    """
    if is_sandboxed():
        return sandboxed.read_head(cell, place)
    # Pillow also reads the chunks after the pixels of a PNG file, which can be broken if the header is not.
    with open_image_file(cell, place) as image, _unreadable_refused(place, short_cell(cell)):
        turned = image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)
        return (image.height, image.width) if turned else image.size, image.mode


@contextmanager
def open_image_file(cell: Mapping[str, Any], place: str, *, max_pixels: int = MAX_PIXELS) -> Iterator[ImageFile]:
    """Open an image, read its header and check its size.

    Raises:
        ValueError: If the image cannot be read or is too large.
    """
    got = short_cell(cell)
    with ExitStack() as stack:
        with _unreadable_refused(place, got):
            image = stack.enter_context(headers.open_header(cell.get("bytes"), str(cell.get("path"))))
            sizes, most = headers.sizes(image), max_pixels * _BYTES_PER_PIXEL // headers.bytes_per_pixel(image)
        for width, height in sizes:
            _check_not_large(width, height, place, most, f" in {got}")
        yield image


def short_cell(cell: Mapping[str, Any]) -> str:
    """Return the path of a cell, or the number of its bytes, for error messages."""
    return repr(cell["path"]) if cell.get("path") else f"{len(cell.get('bytes') or b'')} bytes"


@contextmanager
def _unreadable_refused(place: str, got: str) -> Iterator[None]:
    """Convert errors of Pillow for broken, truncated, foreign or huge files to ValueError.

    Pillow can raise nearly any exception, including struct.error and KeyError, and warnings if they are errors.
    """
    try:
        yield
    except Exception as error:
        # Pillow's message for an unknown format contains the address of a buffer.
        is_unknown = isinstance(error, UnidentifiedImageError)
        why = "an unknown image format" if is_unknown else f"error: {str(error) or type(error).__name__}"
        raise UsageError.about(place, f"must be a readable image, got {got} ({why})") from error
