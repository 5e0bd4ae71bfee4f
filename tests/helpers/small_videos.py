"""Small generated videos in several containers, with noisy gray frames that are identified by their mean level."""

import hashlib
import tempfile
from pathlib import Path

import av
import numpy as np
import pytest

from vlgauge.inputs.video.cells import video_cell
from vlgauge.inputs.video.frames import video_images

WIDTH, HEIGHT = 64, 48
CODECS = {"mp4": "mpeg4", "mkv": "libx264", "webm": "libvpx-vp9", "avi": "mpeg4"}
_FOLDER = tempfile.TemporaryDirectory()
COLOURS = {"mjpeg": "yuvj420p"}  # others take yuv420p


def grey(index):
    """Return the encoded gray level of a frame."""
    return 30 + 6 * index


def noisy(index):
    """Return a frame with this mean level and with noise, which limits its compression."""
    noise = np.random.default_rng(index).integers(-14, 15, (HEIGHT // 4, WIDTH // 4, 1)).repeat(4, 0).repeat(4, 1)
    noise[:, WIDTH // 2 :] = -noise[:, : WIDTH // 2]
    return (grey(index) + noise.repeat(3, 2)).astype(np.uint8)


def write_video(path, n_frames=30, codec=None, image=None, sound=False, every=1):
    """Write a video of noisy frames with increasing brightness, or of one image, every `every` tenths of a second."""
    codec = codec or CODECS[path.suffix[1:]]
    if codec not in av.codec.codecs_available:
        pytest.skip(f"this FFmpeg has no {codec}")
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, COLOURS.get(codec, "yuv420p")
        if codec == "libx264":
            stream.options = {"preset": "ultrafast", "crf": "10", "bf": "2"}
        stream.bit_rate = 2_000_000
        silence = container.add_stream("mp2", rate=16_000) if sound else None
        for index in range(n_frames):
            pixels = noisy(index) if image is None else image
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts = index * every
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
        if silence:
            write_silence(container, silence, seconds=2 * n_frames / 10)
    return path


def write_shifted(source, path, seconds):
    """Write the same frames some seconds later. A negative shift trims the first ones, which remain in the file."""
    with av.open(str(source)) as old, av.open(str(path), "w", options={"avoid_negative_ts": "disabled"}) as new:
        stream = old.streams.video[0]
        copied, offset = new.add_stream_from_template(stream), round(seconds / stream.time_base)
        for packet in old.demux(stream):
            if packet.dts is not None:
                packet.pts, packet.dts, packet.stream = packet.pts + offset, packet.dts + offset, copied
                new.mux(packet)
    return path


def write_silence(container, stream, seconds):
    for start in range(0, int(16_000 * seconds), 1_152):
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1_152), np.int16), format="s16", layout="mono")
        frame.sample_rate, frame.pts = 16_000, start
        container.mux(stream.encode(frame))
    container.mux(stream.encode())


def video_frames(video, n_frames=10, **segment):
    """Return the frames of one video file, or of its bytes."""
    if isinstance(video, bytes):
        content, video = video, Path(_FOLDER.name) / hashlib.sha256(video).hexdigest()
        video.write_bytes(content)
    cell = video_cell({"path": video, **segment}, "videos[0]")
    (images,) = video_images([cell], n_frames=n_frames)
    return images


def levels(images):
    """Return the frame indices that match the mean levels."""
    return [round((np.asarray(image.open()).mean() - 30) / 6) for image in images]


def indices(images):
    return [image.index for image in images]
