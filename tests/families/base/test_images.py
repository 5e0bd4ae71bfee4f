"""Images through a metric: pixel-exact from any source, decoded late, written in pieces."""

import gc
import io
import json
import tracemalloc
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from vlgauge.families import base
from vlgauge.families.base import metric as metric_base
from vlgauge.inputs.images import cells

RNG = np.random.default_rng(3)
PIXELS = [RNG.integers(0, 256, (9 + i, 13 - i, 3), dtype=np.uint8) for i in range(4)]


@pytest.fixture(params=[True, False], ids=["memory", "disk"])
def metric(request, load_demo, rows_folder):
    return load_demo("image_demo", keep_in_memory=request.param, cache_dir=str(rows_folder))


@pytest.fixture
def files(tmp_path):
    """Four JPEG files, the last with an orientation tag."""
    rotated = Image.Exif()
    rotated[0x0112] = 6
    paths = [tmp_path / f"{i}.jpg" for i in range(len(PIXELS))]
    for path, array in zip(paths, PIXELS, strict=True):
        Image.fromarray(array).save(path, exif=rotated if path is paths[-1] else Image.Exif())
    return paths


def scores(metric, images):
    return metric.compute(predictions=["a"] * len(images), images=images)["image_demo_scores"]


def upright(path):
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def in_memory(path):
    return Image.open(io.BytesIO(path.read_bytes()))


SOURCES = {
    "str": str,
    "path": Path,
    "bytes": Path.read_bytes,
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "dict of bytes": lambda path: {"bytes": path.read_bytes(), "path": None},
    "dict of path": lambda path: {"bytes": None, "path": str(path)},
    "dict of both": lambda path: {"bytes": path.read_bytes(), "path": "elsewhere.jpg"},
    "PIL of a file": Image.open,
    "PIL without a file": in_memory,
    "PIL upright": upright,
    "array": lambda path: np.asarray(upright(path)),
}


# -- pixel-exact ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_pixels(metric, files, source):
    expected = scores(metric, [[np.asarray(upright(path))] for path in files])
    assert scores(metric, [[SOURCES[source](path)] for path in files]) == expected
    assert len(set(expected)) == len(files)


def test_sources_may_be_mixed_in_one_row_and_in_one_column(metric, files):
    expected = scores(metric, [files, files[:1], [files[3]] * len(SOURCES)])
    forms = list(SOURCES.values())
    mixed = [[form(path) for form, path in zip(forms[4:], files, strict=False)], in_memory(files[0])]
    assert scores(metric, [*mixed, [form(files[3]) for form in forms]]) == expected


def test_jpeg_row_of_a_dataset_equals_its_file(metric, files):
    rows = {"image": [str(path) for path in files]}
    data = datasets.Dataset.from_dict(rows, features=datasets.Features({"image": datasets.Image()}))
    stored = datasets.Dataset.from_dict({"image": [path.read_bytes() for path in files]}).cast_column(
        "image", datasets.Image()
    )
    assert stored[0]["image"].format == "JPEG"
    expected = scores(metric, files)
    assert scores(metric, data["image"]) == expected
    assert scores(metric, [row["image"] for row in stored]) == expected
    assert scores(metric, stored.cast_column("image", datasets.Image(decode=False))["image"]) == expected


def test_edit_in_place_is_honoured(metric, files):
    edited = [Image.open(path) for path in files]
    for image in edited:
        image.putpixel((2, 1), (255, 0, 255))
    expected = scores(metric, [np.asarray(ImageOps.exif_transpose(image)) for image in edited])
    assert scores(metric, edited) == expected
    assert not set(expected) & set(scores(metric, files))


def test_image_is_taken_as_it_is_when_added(metric):
    array = PIXELS[0].copy()
    expected = scores(metric, [array])
    metric.add(prediction="a", image=array)
    array[:] = 0
    assert metric.compute()["image_demo_scores"] == expected


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_every_mode_is_scored_as_pillow_converts_it(metric, mode):
    image = Image.fromarray(RNG.integers(0, 256, (7, 5, 4), dtype=np.uint8)).convert("RGB").convert(mode)
    buffer = io.BytesIO()
    image.save(buffer, "TIFF" if mode == "CMYK" else "PNG")
    expected = scores(metric, [np.asarray(image.convert("RGB"))])
    assert scores(metric, [image]) == scores(metric, [buffer.getvalue()]) == expected


def test_one_image_is_a_list_of_one(metric, files):
    form = [
        files[0],
        str(files[1]),
        files[2].read_bytes(),
        PIXELS[0],
        Image.fromarray(PIXELS[1][..., 0]),
        PIXELS[2][..., 0],
    ]
    assert scores(metric, form) == scores(metric, [[image] for image in form])


def test_order_and_number_of_images_is_kept(metric, files):
    result = metric.compute(predictions=list("abc"), images=[files[:2], [], files[2:]], return_details=True)
    assert result["image_demo_sizes"] == [[[13, 9], [12, 10]], [], [[11, 11], [12, 10]]]
    assert result["image_demo_undefined"] == 1


def tensors(array):
    """Yield the same image as torch tensors: channels first and last, integers and floats from 0 to 1."""
    last = torch.from_numpy(array.copy())
    for tensor in (last, last.permute(2, 0, 1)):
        yield tensor
        for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            yield (tensor.float() / 255).to(kind)
    yield (last.permute(2, 0, 1).float() / 255).requires_grad_()


def test_tensor_is_scored_as_the_equal_image(metric):
    array = np.arange(256, dtype=np.uint8)[RNG.permutation(256)].repeat(3).reshape(16, 16, 3)  # every value
    array[0, :, 1] = 7
    expected = scores(metric, [Image.fromarray(array)])
    given = list(tensors(array))
    assert scores(metric, given) == expected * len(given)
    grey = torch.from_numpy(array[..., 0].copy())
    expected = scores(metric, [array[..., 0]])
    for one in (grey, grey[None], grey[..., None], grey[None].float() / 255):
        assert scores(metric, [one]) == scores(metric, [[one]]) == expected


def test_batch_of_a_tensor_is_a_column_or_the_images_of_one_row(metric):
    batch = torch.from_numpy(RNG.integers(0, 256, (4, 3, 6, 8), dtype=np.uint8))
    images = [image.permute(1, 2, 0).numpy() for image in batch]
    assert scores(metric, batch) == scores(metric, images)
    assert scores(metric, [batch]) == scores(metric, [batch.permute(0, 2, 3, 1)]) == scores(metric, [images])


def test_channels_come_first_where_both_would_do(metric):
    tensor = torch.from_numpy(RNG.integers(0, 256, (3, 5, 3), dtype=np.uint8))
    assert scores(metric, [tensor]) == scores(metric, [tensor.permute(1, 2, 0).numpy()])


@pytest.mark.parametrize(
    ("tensor", "error", "message"),
    [
        (
            torch.full((3, 4, 5), 1.5),
            ValueError,
            r"^`images\[0\]`.*0\.\.1.*got 1\.5",
        ),
        (
            torch.full((3, 4, 5), -0.01),
            ValueError,
            r"^`images\[0\]`.*0\.\.1.*got -0\.01",
        ),
        (torch.full((3, 4, 5), float("nan")), ValueError, r"^`images\[0\]`.*0\.\.1.*got nan"),
        (torch.zeros(3, 4, 5, dtype=torch.int64), TypeError, r"^`images\[0\]`.*uint8.*got int64"),
        (torch.zeros(4, 4, 5), TypeError, r"^`images\[0\]`.*3 channels.*got float32"),
        (torch.zeros(3, 0, 5), ValueError, r"^`images\[0\]`.*pixel"),
    ],
)
def test_tensor_that_is_no_image_is_refused(image_demo, tensor, error, message):
    with pytest.raises(error, match=message):
        image_demo.add(prediction="a", image=tensor)


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 5000, 3), (5000, 1)])
def test_thin_images_pass(metric, shape):
    array = RNG.integers(0, 256, shape, dtype=np.uint8)
    assert scores(metric, [array]) == scores(metric, [Image.fromarray(array)])


# -- errors with the position -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("image", "fault", "message"),
    [
        (
            "http://host/a.jpg",
            ValueError,
            r".*'http://host/a\.jpg'",
        ),
        ("missing.jpg", ValueError, r".*got 'missing\.jpg'"),
        ("/", ValueError, r".*got '/'"),
        (b"", ValueError, r".*got 0 bytes"),
        (np.zeros((2, 2), np.float32), TypeError, r".*uint8.*got float32"),
        (Image.new("I;16", (2, 2)), ValueError, r".*8 bits.*'I;16'"),
        (Image.new("F", (2, 2)), ValueError, r".*8 bits.*'F'"),
        (None, TypeError, r".*PIL.*uint8.*got NoneType"),
    ],
)
def test_bad_image_is_refused_when_added_and_the_rows_before_stay(metric, files, no_sockets, image, fault, message):
    metric.add_batch(predictions=["a"], images=[files[0]])
    with pytest.raises(fault, match=rf"`images\[1\]\[2\]` {message}"):
        metric.add_batch(predictions=["b", "c"], images=[files[:2], [files[0], files[1], image]])
    assert metric.compute()["image_demo_scores"] == scores(metric, files[:1])


@pytest.mark.parametrize(
    ("row", "kind"), [(None, "NoneType"), (3, "int"), (np.zeros((1, 2, 2, 3), np.uint8), "ndarray"), ({1}, "set")]
)
def test_row_that_is_no_list_of_images_is_refused(metric, row, kind):
    with pytest.raises(ValueError, match=rf"^`images\[0\]`.*images.*got {kind}"):
        metric.compute(predictions=["a"], images=[row])


def test_single_bad_image_is_named_by_its_row(metric):
    with pytest.raises(ValueError, match=r"^`images\[1\]`.*got 'missing\.jpg'"):
        metric.compute(predictions=["a", "b"], images=[PIXELS[0], "missing.jpg"])


def test_optional_images_may_be_none():
    assert base.Images("images", optional=True).store(None, "x") is None


def test_broken_file_is_named_when_it_is_decoded(metric, files):
    data = files[0].read_bytes()
    with pytest.raises(ValueError, match=r"^`images\[1\]\[0\]`.*bytes"):
        metric.compute(predictions=["a", "b"], images=[data, data[: len(data) // 2]])
    assert scores(metric, [data]) == scores(metric, files[:1])


def test_file_deleted_in_between_is_named(metric, files):
    metric.add_batch(predictions=["a", "b"], images=files[:2])
    files[1].unlink()
    with pytest.raises(ValueError, match=r"^`images\[1\]\[0\]`.*1\.jpg"):
        metric.compute()


# -- decoded late -----------------------------------------------------------------------------------------------------
def test_nothing_is_decoded_before_compute_and_then_one_by_one(load_demo, files, monkeypatch):
    metric, opened, real = load_demo("image_demo", keep_in_memory=True), [], Image.open
    monkeypatch.setattr(cells.Image, "open", lambda *_, **options: opened.append(1) or real(*_, **options))
    metric.add_batch(predictions=list("abc"), images=[files[:2], files[2:], [files[0].read_bytes()]])
    assert opened == []
    assert len(metric.compute()["image_demo_scores"]) == 3
    assert len(opened) == 5


def test_a_thousand_paths_take_little_memory(load_demo, tmp_path, rows_folder):
    Image.fromarray(RNG.integers(0, 256, (480, 640, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    metric = load_demo("image_demo", cache_dir=str(rows_folder))
    gc.collect()
    tracemalloc.start()
    metric.add_batch(predictions=["a"] * 1000, images=[[tmp_path / "a.png"]] * 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50 * 2**20  # decoded: 920 MB
    metric._end_round()


def test_rows_of_images_are_made_one_at_a_time(load_demo, rows_folder):
    seen = []

    class Watching(base.Metric):
        papers = ("u",)
        columns = (base.Story("predictions"), base.Images("images"))

        def cite(self):
            return "c"

        def _compute(self, predictions, images, return_details=False):
            seen.append(type(images[:][1:]))
            return self.result([len(cells[0]["bytes"]) for cells in images])

    rows = {"predictions": ["a"] * 3, "images": [b"x" * n for n in (1, 2, 3)]}
    assert Watching(cache_dir=str(rows_folder)).compute(**rows)["watching_scores"] == [1.0, 2.0, 3.0]
    assert seen == [base.columns.LazyRows]


# -- written in pieces ------------------------------------------------------------------------------------------------
def test_bytes_over_the_limit_are_written_in_pieces(load_demo, rows_folder, monkeypatch, files):
    metric, sizes = load_demo("image_demo", cache_dir=str(rows_folder)), []
    images = [[path.read_bytes()] for path in files] * 3
    expected = scores(metric, images)
    longest = max(len(data) for (data,) in images)
    write = metric._host_add
    monkeypatch.setattr(metric_base, "MAX_BYTES_PER_WRITE", 2 * longest)
    monkeypatch.setattr(metric, "_host_add", lambda rows: sizes.append(len(rows["images"])) or write(rows))
    assert scores(metric, images) == expected
    assert sum(sizes) == len(images)
    assert len(sizes) >= 6
    assert max(sizes) <= 2 * longest // min(len(data) for (data,) in images)


@pytest.mark.parametrize(
    ("limit", "pieces"), [(0, "a b c d"), (5, "a b c d"), (6, "ab cd"), (11, "abc d"), (12, "abcd")]
)
def test_pieces_keep_the_limit_and_the_order(load_demo, monkeypatch, limit, pieces):
    monkeypatch.setattr(metric_base, "MAX_BYTES_PER_WRITE", limit)
    metric = load_demo("image_demo", keep_in_memory=True)
    images = [b"1", [b"2", b"2345"], b"23456", b"2"]
    stored = metric._store_rows({"predictions": list("abcd"), "images": images, "references": None})
    assert ["".join(piece["predictions"]) for piece in metric._chunks(stored)] == pieces.split()


def test_failure_at_a_later_piece_discards_the_round_and_says_so(load_demo, rows_folder, monkeypatch, files):
    metric = load_demo("image_demo", cache_dir=str(rows_folder))
    monkeypatch.setattr(metric_base, "MAX_BYTES_PER_WRITE", 1)
    write, calls = base.Metric._host_add, []

    def fail_at_the_second(rows):
        calls.append(rows)
        if len(calls) == 2:
            monkeypatch.setattr(metric.writer, "write_batch", lambda _: 1 / 0)
        write(metric, rows)

    monkeypatch.setattr(metric, "_host_add", fail_at_the_second)
    with pytest.raises(ZeroDivisionError) as caught:
        metric.add_batch(predictions=["a", "b"], images=[path.read_bytes() for path in files[:2]])
    assert caught.value.__notes__ == ["The rows that were added before in this round have been discarded."]
    assert scores(metric, files[:1]) == scores(metric, [np.asarray(upright(files[0]))])


def test_result_with_images_is_json(metric, files):
    result = metric.compute(predictions=["a"], images=files[:1], return_details=True)
    assert json.loads(json.dumps(result)) == result
