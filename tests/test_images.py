"""Images of every kind: what is stored, what is refused, what comes out."""

import io
import os
import random
import struct
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL import ImageOps
from PIL.PngImagePlugin import PngInfo

from vlgauge.images import FORMATS
from vlgauge.images import MAX_PIXELS
from vlgauge.images import image_cell
from vlgauge.images import is_single_image
from vlgauge.images import open_image

RNG = np.random.default_rng(7)
RGB = Image.fromarray(RNG.integers(0, 256, (7, 5, 3), dtype=np.uint8))
RGBA = Image.fromarray(RNG.integers(0, 256, (7, 5, 4), dtype=np.uint8))
ROTATED = Image.Exif()
ROTATED[0x0112] = 6
XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"/></rdf:RDF>'
    "</x:xmpmeta>"
)


def encoded(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def cell(data):
    return {"bytes": data, "path": None}


def pixels(image):
    return image.mode, image.size, image.tobytes()


def decoded(data, **options):
    return pixels(open_image(cell(data), "images[0][0]", **options))


@contextmanager
def place_named():
    """Nothing raised, or a ValueError that begins with the place."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("`images[0][0]` must "):
            raise


def in_mode(mode):
    if mode == "PA":
        return RGBA.convert("LA").convert("PA")
    return (RGBA if mode in ("LA", "RGBA", "RGBa") else RGB).convert(mode)


def png_header(width, height, depth=8):
    """A PNG file that promises so many pixels and has none."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


# -- from an input to its cell ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("convert", ["early", "late"])
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_pil_modes_round_trip(mode, convert):
    image = in_mode(mode)
    expected = image.convert("RGB") if convert == "early" else image
    assert pixels(open_image(image_cell(image, "x"), "x", convert=convert)) == pixels(expected)


@pytest.mark.parametrize("mode", ["YCbCr", "LAB", "HSV", "PA", "RGBX", "RGBa"])
def test_other_modes_of_8_bits_travel_as_rgb(mode):
    image = in_mode(mode) if mode != "LAB" else Image.new("LAB", (5, 7), (50, 20, 30))
    assert pixels(open_image(image_cell(image, "x"), "x", convert="late")) == pixels(image.convert("RGB"))


@pytest.mark.parametrize("mode", ["I", "F", "I;16", "I;16B", "I;16L"])
def test_pil_images_over_8_bits_are_refused(mode):
    with pytest.raises(ValueError, match=r"`images\[3\]\[2\]` must have 8 bits per channel, got mode '" + mode):
        image_cell(Image.new(mode, (5, 7)), "images[3][2]")


def test_mode_that_pillow_cannot_convert_is_refused():
    with pytest.raises(ValueError, match=r"`x` must be a readable image, got a PIL image .*La"):
        image_cell(RGBA.convert("LA").convert("La"), "x")


def test_edit_in_place_counts_and_the_image_stays_as_it_was(tmp_path):
    RGB.save(tmp_path / "a.png")
    image = Image.open(tmp_path / "a.png")
    image.putpixel((0, 0), (1, 2, 3))
    out = open_image(image_cell(image, "x"), "x")
    assert out.getpixel((0, 0)) == (1, 2, 3) == image.getpixel((0, 0))


def test_pil_image_outlives_its_file(tmp_path):
    RGB.save(tmp_path / "a.png")
    stored = image_cell(Image.open(tmp_path / "a.png"), "x")
    (tmp_path / "a.png").unlink()
    assert pixels(open_image(stored, "x")) == pixels(RGB)


@pytest.mark.parametrize("shape", [(7, 5), (7, 5, 3), (1, 1), (1, 5000, 3), (5000, 1)])
def test_arrays_are_their_pixels(shape):
    array = RNG.integers(0, 256, shape, dtype=np.uint8)
    out = open_image(image_cell(array, "x"), "x", convert="late")
    assert np.array_equal(np.asarray(out), array)


def test_array_that_is_a_view_is_its_pixels():
    array = RNG.integers(0, 256, (14, 10, 3), dtype=np.uint8)[::-2, ::2]
    assert np.array_equal(np.asarray(open_image(image_cell(array, "x"), "x")), array)


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.zeros((7, 5, 3), np.float32), r"float32 of shape \(7, 5, 3\)"),
        (np.zeros((7, 5), np.uint16), r"uint16 of shape \(7, 5\)"),
        (np.zeros((7, 5), bool), "bool of shape"),
        (np.zeros((3, 7, 5), np.uint8), r"uint8 of shape \(3, 7, 5\)"),
        (np.zeros((7, 5, 4), np.uint8), r"uint8 of shape \(7, 5, 4\)"),
        (np.zeros(5, np.uint8), r"uint8 of shape \(5,\)"),
    ],
)
def test_other_arrays_are_refused(array, got):
    with pytest.raises(TypeError, match=r"`x` must be a uint8 array of shape \(height, width\) or .*, got " + got):
        image_cell(array, "x")


def test_array_without_pixels_is_refused():
    with pytest.raises(ValueError, match=r"`x` must have at least one pixel, got an array of shape \(0, 5, 3\)"):
        image_cell(np.zeros((0, 5, 3), np.uint8), "x")


@pytest.mark.parametrize("data", [encoded(RGB, "PNG"), bytearray(encoded(RGB, "PNG"))])
def test_bytes_are_stored_as_they_are(data):
    assert image_cell(data, "x") == {"bytes": bytes(data), "path": None}


@pytest.mark.parametrize("empty", [b"", bytearray(), {"bytes": b"", "path": None}])
def test_no_bytes_are_refused(empty):
    with pytest.raises(ValueError, match="`x` must be the bytes of an image file, got no bytes"):
        image_cell(empty, "x")


def test_mapping_bytes_win_over_path():
    assert image_cell({"bytes": b"data", "path": "/missing"}, "x") == {"bytes": b"data", "path": None}


@pytest.mark.parametrize("mapping", [{}, {"bytes": None, "path": None}, {"url": "x"}])
def test_mapping_without_bytes_and_path_is_refused(mapping):
    with pytest.raises(ValueError, match="`x` must have `bytes` or `path`, got the keys"):
        image_cell(mapping, "x")


@pytest.mark.parametrize(
    "form", [str, Path, lambda path: {"path": str(path)}, lambda path: {"bytes": None, "path": path}]
)
def test_path_is_stored_absolute(tmp_path, monkeypatch, form):
    (tmp_path / "ä b.png").write_bytes(encoded(RGB, "PNG"))
    monkeypatch.chdir(tmp_path)
    assert image_cell(form("ä b.png"), "x") == {"bytes": None, "path": str(tmp_path / "ä b.png")}


@pytest.mark.parametrize(
    "address", ["http://h/a.jpg", "HTTPS://h/a.jpg", " s3://b/a.jpg", "file:///a", "data:image/png,"]
)
def test_address_is_refused(address, no_sockets):
    with pytest.raises(ValueError, match=r"`x` must be a local file, got the address '.*'; download it first"):
        image_cell(address, "x")


@pytest.mark.parametrize("path", ["missing.jpg", "a\0b.jpg", "x" * 5000])
def test_missing_file_is_refused(path):
    with pytest.raises(ValueError, match=r"`x` must be an existing image file, got .*, which is missing"):
        image_cell(path, "x")


@pytest.mark.parametrize("kind", ["folder", "fifo", "device"])
def test_what_is_no_regular_file_is_refused(tmp_path, kind):
    path = {"folder": tmp_path, "fifo": tmp_path / "fifo", "device": Path(os.devnull)}[kind]
    if kind == "fifo":
        os.mkfifo(path)
    with pytest.raises(ValueError, match=r"`x` must be an image file, got '.*', which is no regular file"):
        image_cell(path, "x")


def test_file_name_that_is_no_unicode_is_refused(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff.png")
    with open(path, "wb") as file:
        file.write(encoded(RGB, "PNG"))
    with pytest.raises(ValueError, match="`x` must have a path that is valid Unicode"):
        image_cell(os.fsdecode(path), "x")


@pytest.mark.parametrize("other", [None, 3, object(), {1}])
def test_other_objects_are_refused(other):
    with pytest.raises(TypeError, match=r"`x` must be an image .*, got " + type(other).__name__):
        image_cell(other, "x")


@pytest.mark.parametrize("image", ["a", Path("a"), b"a", {}, RGB, np.zeros((2, 2)), np.zeros((2, 2, 3))])
def test_one_image_is_known(image):
    assert is_single_image(image)


@pytest.mark.parametrize("images", [[], ["a"], (RGB,), np.array(["a"]), np.zeros((2, 2), object), None])
def test_lists_are_no_single_image(images):
    assert not is_single_image(images)


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
    with pytest.raises(ValueError, match=r"`images\[0\]\[0\]` must have 8 bits per channel, got mode '(I|I;16|F)';"):
        decoded(data)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "TIFF", "PNG"])
def test_of_several_frames_the_first_is_read_with_a_warning(kind):
    data = encoded(
        RGB, kind, save_all=True, append_images=[ImageOps.mirror(RGB)], **({"lossless": True} if kind == "WEBP" else {})
    )
    with pytest.warns(UserWarning, match=r"`images\[0\]\[0\]` has more than one frame; only the first is scored"):
        found = decoded(data)
    assert found == pixels(Image.open(io.BytesIO(data)).convert("RGB"))


def test_huge_picture_is_refused_by_its_header():
    with pytest.raises(ValueError, match=r"`images\[0\]\[0\]` must be a readable image.*3600000000 pixels"):
        decoded(png_header(60_000, 60_000))


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_picture_over_the_default_limit_is_refused():
    with pytest.raises(ValueError, match=f"must have at most {MAX_PIXELS} pixels, got 10000 x 10000 in .* bytes"):
        decoded(png_header(10_000, 10_000))


def test_bomb_warning_as_error_is_a_value_error():
    with pytest.raises(ValueError, match=r"`images\[0\]\[0\]` must be a readable image"):
        decoded(png_header(10_000, 10_000))


@pytest.mark.parametrize(("limit", "fits"), [(35, True), (34, False)])
def test_limit_of_pixels_can_be_set(limit, fits):
    if fits:
        assert decoded(encoded(RGB, "PNG"), max_pixels=limit) == pixels(RGB)
    else:
        with pytest.raises(ValueError, match="must have at most 34 pixels, got 5 x 7"):
            decoded(encoded(RGB, "PNG"), max_pixels=limit)


def test_eps_starts_no_program_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a program was started"))
    (tmp_path / "a.png").write_bytes(encoded(RGB, "EPS"))
    with pytest.raises(ValueError, match=r"`x` must be a readable image, got '.*a.png' \(no known image format\)"):
        open_image({"bytes": None, "path": str(tmp_path / "a.png")}, "x")


def test_text_is_no_image_and_its_message_shows_no_address():
    with pytest.raises(ValueError, match=r"`x` must be a readable image, got 4 bytes \(no known image format\)"):
        open_image(cell(b"text"), "x")


def test_file_deleted_after_it_was_added_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"`x` must be a readable image, got '.*gone.png' .*No such file"):
        open_image({"bytes": None, "path": str(tmp_path / "gone.png")}, "x")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM"])
def test_truncated_file_is_refused(kind):
    data = encoded(RGB, kind)
    with pytest.raises(ValueError, match=r"`images\[0\]\[0\]` must be a readable image, got \d+ bytes \(error: "):
        decoded(data[: len(data) * 3 // 4])


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
    capfd.readouterr()  # libtiff complains by itself


def sixteen_bit_png():
    """Two by two pixels of 16-bit RGB, which Pillow cannot write."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, 16, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x12\x34" * 6) * 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize("data", [sixteen_bit_png(), b"P6\n2 2\n65535\n" + b"\x12\x34" * 12], ids=["png", "ppm"])
def test_sixteen_bit_colour_is_refused(data):
    with pytest.raises(ValueError, match="`images\\[0\\]` must have 8 bits per channel, got mode 'RGB;16'"):
        open_image({"bytes": data, "path": None}, "images[0]")
    with pytest.raises(ValueError, match="`images\\[0\\]` must have 8 bits per channel, got mode 'RGB;16'"):
        image_cell(Image.open(io.BytesIO(data)), "images[0]")
