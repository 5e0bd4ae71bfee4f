"""From a cell to pixels: formats, orientation, limits, and every broken file."""

import io
import random
import struct
import zlib
from contextlib import contextmanager

import numpy as np
import pytest
from image_samples import RGB, encoded, in_mode, pixels
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from vlgauge.inputs.images.cells import image_cell, open_image
from vlgauge.inputs.images.headers import FORMATS
from vlgauge.inputs.limits import MAX_PIXELS

ROTATED = Image.Exif()
ROTATED[0x0112] = 6
XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"/></rdf:RDF>'
    "</x:xmpmeta>"
)


def cell(data):
    return {"bytes": data, "path": None}


def decoded(data, **options):
    return pixels(open_image(cell(data), "images[0][0]", **options))


@contextmanager
def place_named():
    """Check that a ValueError in the block, if any, begins with the position."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("`images[0][0]` must "):
            raise


def png_header(width, height, depth=8):
    """Return a PNG file whose header declares many pixels and which contains none."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


# -- from a cell to pixels --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_read_from_bytes_and_path(tmp_path, kind):
    data = encoded(RGB, kind)
    (tmp_path / "no-suffix").write_bytes(data)
    expected = pixels(Image.open(io.BytesIO(data)).convert("RGB"))
    assert decoded(data) == expected
    assert pixels(open_image({"bytes": None, "path": str(tmp_path / "no-suffix")}, "x")) == expected


@pytest.mark.parametrize("source", ["exif", "xmp"])
@pytest.mark.parametrize(
    ("kind", "mode"), [("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "P"), ("PNG", "RGBA"), ("WEBP", "RGB")]
)
def test_rotated_file_agrees_as_bytes_and_as_pil(kind, mode, source):
    options = {"exif": ROTATED} if source == "exif" else {"xmp": XMP.encode()}
    if (kind, source) == ("PNG", "xmp"):
        options = {"pnginfo": PngInfo()}
        options["pnginfo"].add_itxt("XML:com.adobe.xmp", XMP)
    data = encoded(in_mode(mode), kind, **options)
    upright = pixels(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))
    assert upright[1] == (7, 5)
    assert decoded(data) == decoded(image_cell(Image.open(io.BytesIO(data)), "x")["bytes"]) == upright


@pytest.mark.parametrize("tiff_mode", ["CMYK", "RGB"])
def test_rotated_tiff_is_turned_once(tiff_mode):
    data = encoded(in_mode(tiff_mode), "TIFF", exif=ROTATED)
    again = image_cell(Image.open(io.BytesIO(data)), "x")["bytes"]
    assert decoded(data, convert="late") == decoded(again, convert="late")
    assert decoded(data)[1] == (7, 5)


def test_palette_with_transparency_is_read_without_a_warning():
    image = RGB.quantize(9)
    data = encoded(image, "PNG", transparency=bytes(range(9)))
    assert decoded(data) == pixels(image.convert("RGB"))
    assert "transparency" in open_image(cell(data), "x", convert="late").info


@pytest.mark.parametrize(
    ("kind", "array"), [("PNG", np.uint16), ("TIFF", np.uint16), ("PPM", np.uint16), ("TIFF", np.float32)]
)
def test_files_over_8_bits_are_refused(kind, array):
    data = encoded(Image.fromarray(np.full((7, 5), 700, array)), kind)
    with pytest.raises(ValueError, match=r"^`images\[0\]\[0\]`.*8 bits"):
        decoded(data)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "TIFF", "PNG"])
def test_of_several_frames_the_first_is_read_with_a_warning(kind):
    data = encoded(
        RGB, kind, save_all=True, append_images=[ImageOps.mirror(RGB)], **({"lossless": True} if kind == "WEBP" else {})
    )
    with pytest.warns(UserWarning, match=r"^`images\[0\]\[0\]`.*frame") as caught:
        found = decoded(data)
    assert {warning.filename for warning in caught} == {__file__}
    assert found == pixels(Image.open(io.BytesIO(data)).convert("RGB"))


def test_huge_image_is_refused_by_its_header():
    with pytest.raises(ValueError, match=r"^`images\[0\]\[0\]`.*3600000000 pixels"):
        decoded(png_header(60_000, 60_000))


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_image_over_the_default_limit_is_refused():
    with pytest.raises(ValueError, match=rf"^`images\[0\]\[0\]`.*at most {MAX_PIXELS}.*got 10000 x"):
        decoded(png_header(10_000, 10_000))


def test_bomb_warning_as_error_is_a_value_error():
    with pytest.raises(ValueError, match=r"^`images\[0\]\[0\]`.*readable"):
        decoded(png_header(10_000, 10_000))


@pytest.mark.parametrize(("limit", "fits"), [(35, True), (34, False)])
def test_limit_of_pixels_can_be_set(limit, fits):
    if fits:
        assert decoded(encoded(RGB, "PNG"), max_pixels=limit) == pixels(RGB)
    else:
        with pytest.raises(ValueError, match=r"^`images\[0\]\[0\]`.*at most 34 pixels.*got 5 x"):
            decoded(encoded(RGB, "PNG"), max_pixels=limit)


def test_eps_starts_no_program_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a program was started"))
    (tmp_path / "a.png").write_bytes(encoded(RGB, "EPS"))
    with pytest.raises(ValueError, match=r"^`x`.*a\.png"):
        open_image({"bytes": None, "path": str(tmp_path / "a.png")}, "x")


def test_text_is_no_image_and_its_message_shows_no_address():
    with pytest.raises(ValueError, match=r"^`x`.*got 4 bytes"):
        open_image(cell(b"text"), "x")


def test_an_error_without_a_message_is_named(monkeypatch):
    def fail(*_, **__):
        raise EOFError

    monkeypatch.setattr(Image, "open", fail)
    with pytest.raises(ValueError, match=r"^`x` must be a readable image, got 4 bytes \(error: EOFError\)$"):
        open_image(cell(b"text"), "x")


def test_file_deleted_after_it_was_added_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^`x`.*gone\.png"):
        open_image({"bytes": None, "path": str(tmp_path / "gone.png")}, "x")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM"])
def test_truncated_file_is_refused(kind):
    data = encoded(RGB, kind)
    with pytest.raises(ValueError, match=r"^`images\[0\]\[0\]`.*error"):
        decoded(data[: len(data) * 3 // 4])


HALF_BLACK = np.random.default_rng(1).integers(0, 256, (30, 40, 3), dtype=np.uint8)
HALF_BLACK[12:] = 0


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_rows": 1}], ids=str)
@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_cut_anywhere_is_refused_or_has_all_its_pixels(kind, options):
    data = encoded(Image.fromarray(HALF_BLACK), kind, **options)
    whole, refused = decoded(data), 0
    for length in range(1, len(data), 1 + len(data) // 400):
        try:
            found = decoded(data[:length])
        except ValueError:
            refused += 1
        else:
            assert found == whole, length
    assert refused > 200


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", FORMATS)
def test_broken_files_raise_nothing_but_value_errors_that_name_the_place(kind, capfd):
    data, dice = encoded(RGB, kind), random.Random(0)
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(dice.choice((1, 3, 20))):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        with place_named():
            decoded(bytes(broken))
    capfd.readouterr()  # libtiff prints its own warnings


def sixteen_bit_png():
    """Return two by two pixels of 16-bit RGB, which Pillow cannot write."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, 16, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x12\x34" * 6) * 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize("data", [sixteen_bit_png(), b"P6\n2 2\n65535\n" + b"\x12\x34" * 12], ids=["png", "ppm"])
def test_sixteen_bit_colour_is_refused(data):
    with pytest.raises(ValueError, match=r"^`images\[0\]`.*8 bits.*'RGB;16'"):
        open_image({"bytes": data, "path": None}, "images[0]")
    with pytest.raises(ValueError, match=r"^`images\[0\]`.*8 bits.*'RGB;16'"):
        image_cell(Image.open(io.BytesIO(data)), "images[0]")
