"""Large images are decoded one at a time, and small ones in parallel."""

import contextlib
import io
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from vlgauge.inputs.images import large_images
from vlgauge.inputs.images.cells import check_image, open_image
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.models.clip import pixels
from vlgauge.models.clip.architectures import TABLE


def most_at_a_time(decode, n_threads=4):
    """Return the maximum number of threads in `decode` at the same time, if each waits there for the others."""
    inside, most, lock, together = 0, 0, threading.Lock(), threading.Barrier(n_threads)

    def work():
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        with contextlib.suppress(threading.BrokenBarrierError):
            together.wait(0.2)
        with lock:
            inside -= 1

    with ThreadPoolExecutor(n_threads) as executor:
        for future in [executor.submit(decode, work) for _ in range(n_threads)]:
            future.result()
    return most


@pytest.mark.parametrize(("size", "expected"), [(25, 4), (26, 1)])
def test_only_large_ones_wait(size, expected):
    def decode(work):
        with large_images.decode_alone_if_large(size, 100):
            work()

    assert most_at_a_time(decode) == expected


def test_the_turn_is_kept_until_done():
    def decode(work):
        with large_images.keep_large_until_done():
            with large_images.decode_alone_if_large(1, 1), large_images.decode_alone_if_large(1, 1):
                pass
            work()

    assert most_at_a_time(decode) == 1


def test_an_error_gives_the_turn_back():
    for around in (large_images.keep_large_until_done, threading.Lock):
        with pytest.raises(KeyError), around(), large_images.decode_alone_if_large(1, 1):
            raise KeyError
    assert ThreadPoolExecutor(1).submit(large_images._lock.acquire, blocking=False).result()
    large_images._renew_lock()


def test_blocks_of_pillow_are_as_before():
    usual = Image.core.get_block_size()
    with large_images.keep_large_until_done():
        with large_images.decode_alone_if_large(1, 1):
            assert Image.core.get_block_size() == 2**26
        assert Image.core.get_block_size() == 2**26
    assert Image.core.get_block_size() == usual


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_has_a_turn_of_its_own():
    held, done = threading.Event(), threading.Event()

    def hold():
        with large_images.decode_alone_if_large(1, 1):
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    child = os.fork()
    if not child:
        os._exit(0 if large_images._lock.acquire(timeout=5) else 1)
    assert os.waitpid(child, 0)[1] == 0
    done.set()
    thread.join()


@pytest.mark.parametrize("decode", [open_image, check_image])
@pytest.mark.parametrize(("size", "is_alone"), [(100, False), (3700, True)])
def test_large_images_of_workers_keep_the_turn(size, is_alone, decode):
    stream = io.BytesIO()
    Image.new("1", (size, size)).save(stream, "PNG")

    def is_free():
        free = large_images._lock.acquire(blocking=False)
        if free:
            large_images._lock.release()
        return free

    with use_sandbox(), large_images.keep_large_until_done():
        image = decode({"bytes": stream.getvalue(), "path": None}, "x")
        assert decode is check_image or image.size == (size, size)
        assert ThreadPoolExecutor(1).submit(is_free).result() != is_alone


def test_large_images_are_made_small_one_at_a_time(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    Image.new("RGB", (100, 100)).save(path)
    image = WholeImage({"bytes": None, "path": str(path)}, "images[0]")
    row = next(iter(TABLE.values()))
    for share, expected in ((1 / 4, 3), (0, 1)):

        def decode(work):
            monkeypatch.setattr(pixels, "square", lambda *_: work())
            pixels._prepare_or_error(image, row)

        monkeypatch.setattr(large_images, "_LARGE", share)
        assert most_at_a_time(decode, 3) == expected
