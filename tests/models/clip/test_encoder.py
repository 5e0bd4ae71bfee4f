"""CLIP embeddings: equal to the authors' code, and computed once for any order, duplicates and batches."""

import gc
import threading
import weakref

import numpy as np
import pytest
from tiny_clip import (
    IMAGES,
    INPUTS,
    PROMPT,
    TINY,
    TINY_CONFIG,
    check_vectors,
    golden_arrays,
    golden_json,
    lazy_images_of,
    write_tiny,
)

from vlgauge.core.pool import pool
from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import ImageCrop, SharedImage, WholeImage
from vlgauge.models import ImageTextEncoder
from vlgauge.models.clip.architectures import HALF, ClipArchitecture
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.features.memory import process_memory

PLAIN_CONFIG = {**TINY_CONFIG, "quick_gelu": False}
PLAIN = ClipArchitecture("tiny", "tiny", None, 32, mean=HALF, std=HALF, config=PLAIN_CONFIG)


def unit(vectors):
    return vectors / np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("weights"))


@pytest.fixture
def tiny(weights):
    """Encoder with an empty cache."""
    process_memory.clear()
    encoder = clip_encoder(TINY, weights=weights, device="cpu")
    encoder.forwards.clear()
    return encoder


# ----------------------------------------------------------------------------------------------------------------------
# The released numbers
# ----------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("seed", "align"), [(0, 0.8), (3, 0.3)])
@pytest.mark.parametrize("case", ["edge", "multi"])
def test_vectors_are_those_of_the_released_code(tmp_path, seed, align, case):
    encoder = clip_encoder(TINY, weights=write_tiny(tmp_path, seed, align), device="cpu")
    check_vectors(encoder, golden_arrays(f"image_tiny_s{seed}_a{align}.npz"), case)


def test_plain_gelu_and_other_colours_give_the_released_scores(weights):
    wanted = golden_json("gelu_mean05_tiny_s0_a0.8.json")
    encoder = clip_encoder(PLAIN, weights=weights, device="cpu")
    for case in ("edge", "multi"):
        images = unit(encoder.project(encoder.image_hidden(lazy_images_of(case)), "image"))
        hidden = encoder.text_hidden(INPUTS[case]["candidates"], prompt=PROMPT)
        cosines = (images * unit(encoder.project(hidden.end, "text"))).sum(axis=-1)
        np.testing.assert_allclose(2 * np.maximum(cosines, 0), wanted[case]["pac_s"], rtol=0, atol=1e-5)


def test_cut_texts_give_what_the_full_length_gives(tiny):
    import torch
    from open_clip import tokenize

    texts = ["", "a dog", "a dog and a cat on a mat " * 4]
    with torch.no_grad():
        whole = tiny.model.encode_text(tokenize(texts)).numpy()
    ours = tiny.project(tiny.text_hidden(texts).end, "text")
    np.testing.assert_allclose(unit(ours), unit(whole), rtol=0, atol=1e-6)


# ----------------------------------------------------------------------------------------------------------------------
# Order, duplicates, batches
# ----------------------------------------------------------------------------------------------------------------------
def vectors_of(encoder, order, **options):
    chosen, texts = lazy_images_of(), INPUTS["edge"]["candidates"]
    images = encoder.image_hidden([chosen[i] for i in order], **options)
    hidden = encoder.text_hidden([texts[i] for i in order], tokens=True, **options)
    ends = encoder.project(hidden.end, "text")
    return [images, encoder.project(images, "image"), hidden.end, ends, hidden.truncated, hidden.tokens]


@pytest.mark.parametrize("batch_size", [3, 64])
def test_a_permutation_of_the_rows_changes_no_bit(tiny, batch_size):
    straight = vectors_of(tiny, range(8), batch_size=batch_size)
    order = [5, 2, 7, 0, 1, 6, 4, 3]
    process_memory.clear()
    other = vectors_of(tiny, order, batch_size=batch_size)
    for ours, theirs in zip(straight, other, strict=True):
        for i, row in enumerate(order):
            np.testing.assert_array_equal(ours[row], theirs[i])


@pytest.mark.parametrize("batch_size", [1, 3])
def test_the_batch_size_hardly_matters(tiny, batch_size):
    straight = vectors_of(tiny, range(8))
    process_memory.clear()
    other = vectors_of(tiny, range(8), batch_size=batch_size)
    for ours, theirs in zip(straight[:4], other[:4], strict=True):
        np.testing.assert_allclose(unit(ours), unit(theirs), rtol=0, atol=1e-6)


def test_projection_rounds_a_row_the_same_wherever_it_stands(tiny):
    rows = np.random.default_rng(2).standard_normal((37, 64)).astype(np.float32)
    order = np.random.default_rng(3).permutation(37)
    np.testing.assert_array_equal(tiny.project(rows, "text")[order], tiny.project(rows[order], "text"))
    assert tiny.project(np.concatenate([rows, rows]), "text").shape == (74, 32)
    with_nan = rows.copy()
    with_nan[4] = np.nan
    projected = tiny.project(with_nan, "text")
    assert np.isnan(projected).any(axis=1).tolist() == [i == 4 for i in range(37)]


def test_duplicates_are_seen_once_and_share_their_bits(tiny, tmp_path):
    copy = tmp_path / "copy.png"
    copy.write_bytes((IMAGES / "syn_rgb.png").read_bytes())
    same = [IMAGES / "syn_rgb.png", copy, copy.read_bytes()]
    images = [WholeImage(image_cell(image, "x"), "x") for image in same]
    hidden = tiny.image_hidden(images)
    texts = tiny.text_hidden(["A dog", "a  DOG ", "a dog", "a cat"])
    assert tiny.forwards == {"image": 1, "text": 2}
    assert (hidden == hidden[0]).all()
    assert (texts.end[:3] == texts.end[0]).all()


def test_a_second_metric_makes_no_forward_pass(tiny, weights):
    tiny.image_hidden(lazy_images_of())
    first = tiny.text_hidden(["a dog", "a cat"], prompt=PROMPT)
    before = dict(tiny.forwards)
    again = clip_encoder(TINY, weights=weights, device="cpu")
    again.image_hidden(lazy_images_of("multi"))
    np.testing.assert_array_equal(again.text_hidden([PROMPT + "a cat"]).end[0], first.end[1])
    assert again.forwards == before
    again.text_hidden(["a cat"])
    assert again.forwards["text"] == before["text"] + 1


def test_early_and_late_images_are_told_apart(tiny):
    late, early = tiny.image_hidden(lazy_images_of()), tiny.image_hidden(lazy_images_of(convert="early"))
    changed = abs(late - early).max(axis=1) > 1e-4
    names = INPUTS["edge"]["images"]
    assert changed[names.index("syn_rgba.png")]
    assert changed[names.index("syn_palette.png")]
    assert not changed[names.index("syn_rgb.png")]


def test_crops_of_known_images_leave_nothing_decoded(tiny):
    boxes = [(0, 0, 20, 20), (5, 5, 40, 40), (0, 0, 20, 20)]
    for _ in range(2):
        whole = SharedImage(image_cell(IMAGES / "syn_rgb.png", "x"), "x", 3)
        hidden = tiny.image_hidden([ImageCrop(whole, box, "x") for box in boxes])
        assert whole._image is None
    assert tiny.forwards["image"] == 2
    np.testing.assert_array_equal(hidden[0], hidden[2])
    assert (hidden[0] != hidden[1]).any()


def test_nothing_gives_no_rows(tiny):
    assert tiny.image_hidden([]).shape == (0, 128)
    hidden = tiny.text_hidden([], tokens=True)
    assert hidden.end.shape == (0, 64)
    assert (hidden.tokens, hidden.ids, hidden.truncated.shape) == ([], [], (0,))
    assert tiny.project(np.zeros((0, 64), np.float32), "text").shape == (0, 32)


def test_truncated_texts_are_told(tiny):
    assert tiny.text_hidden(["dog", "dog " * 100]).truncated.tolist() == [False, True]


# ----------------------------------------------------------------------------------------------------------------------
# Failures, threads, memory
# ----------------------------------------------------------------------------------------------------------------------
def test_threads_end_with_an_error_that_somebody_keeps(tiny, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"none")
    bad = WholeImage(image_cell(tmp_path / "bad.png", "x"), "x")
    with pytest.raises(ValueError, match=r"^`x`") as kept:
        tiny.image_hidden([bad])
    assert not [one for one in threading.enumerate() if one.name.startswith("vlgauge-decode")]
    assert kept.value.__traceback__ is not None  # its references are not garbage yet


def test_an_unreadable_image_raises_or_is_nan(tiny, tmp_path):
    for name in ("bad.png", "gone.png"):
        (tmp_path / name).write_bytes(b"no image")
    bad = [WholeImage(image_cell(tmp_path / n, "x"), f"images[{n}]") for n in ("bad.png", "gone.png")]
    (tmp_path / "gone.png").unlink()
    images = [lazy_images_of()[0], bad[0], bad[1], lazy_images_of()[1], bad[0]]
    hidden = tiny.image_hidden(images, on_error="nan")
    assert np.isnan(hidden).all(axis=1).tolist() == [False, True, True, False, True]
    assert not np.isnan(hidden[[0, 3]]).any()
    for image in bad:
        with pytest.raises(ValueError, match=r"`images\[(bad|gone)\.png\]` must be a readable image"):
            tiny.image_hidden([image])
    assert np.isnan(tiny.image_hidden([bad[0]], on_error="nan")).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.image_hidden([], on_error="skip"), r"^`on_error`.*got 'skip'"),
        (lambda e: e.image_hidden([], batch_size=0), r"^`batch_size`.*at least 1.*got 0"),
        (lambda e: e.text_hidden([], batch_size=True), r"^`batch_size`.*at least 1.*got True"),
        (lambda e: e.project(np.zeros((2, 64)), "image"), r"^`hidden`.*128.*64"),
        (lambda e: e.project(np.zeros(64), "text"), r"^`hidden`.*\(n, 64\), got \(64,\)"),
        (lambda e: e.project(np.zeros((2, 64)), "both"), r"^`side`.*got 'both'"),
    ],
)
def test_messages(tiny, call, message):
    with pytest.raises(ValueError, match=message):
        call(tiny)


def test_threads_get_what_one_thread_gets(tiny, weights):
    results = []
    threads = [threading.Thread(target=lambda: results.append(vectors_of(tiny, range(8)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        # Embeddings cached by one call are not in the batches of another.
        for ours, theirs in zip(result[:4], results[0][:4], strict=True):
            np.testing.assert_allclose(unit(ours), unit(theirs), rtol=0, atol=1e-6)


def test_progress_counts_what_is_new(tiny):
    calls = []
    tiny.image_hidden(lazy_images_of("multi"), batch_size=2, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (7, 7)
    assert len(calls) == 4
    tiny.text_hidden(["a", "b", "a"], progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (2, 2)


def test_unloading_frees_what_was_remembered(weights):
    pool.unload()
    encoder = clip_encoder(TINY, weights=weights, device="cpu")
    encoder.image_hidden(lazy_images_of())
    scope, model = encoder._scope, weakref.ref(encoder.model)
    assert [key[0] for key in process_memory._values].count(scope) == 8
    pool.unload()
    assert model() is not None
    del encoder
    gc.collect()
    assert model() is None
    assert scope not in [key[0] for key in process_memory._values]


def test_the_encoder_fits_the_protocol(tiny):
    assert isinstance(tiny, ImageTextEncoder)
