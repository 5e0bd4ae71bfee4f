"""Video files whose frames are counted without decoding, and decoded once in order up to the last selected frame.

Decoded frames wait in a bounded cache until they are fetched, because all frames of many videos would not fit into
memory. An evicted frame is decoded again. If frames are fetched in ascending order, this costs one more pass over the
file, in a worker too, which waits after each frame.
"""

import hashlib
import math
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from vlgauge.core.errors import UsageError
from vlgauge.core.lru_cache import LRUCache
from vlgauge.core.optional_dependencies import importing
from vlgauge.inputs.images.cells import media_digest
from vlgauge.inputs.images.large_images import decode_alone_if_large
from vlgauge.inputs.images.sandboxed import check_file_size
from vlgauge.inputs.limits import MAX_CLIP_PIXELS, MAX_FRAME_PIXELS, MAX_FRAMES
from vlgauge.inputs.sandbox import MEGABYTE, EvictedError, Part, SandboxError, is_sandboxed, run, stream
from vlgauge.inputs.sandbox.workers import MOST_SECONDS, SECONDS

# Part of the key of every frame. Change it whenever the decoder or the rules below change.
DECODER = b"pyav-2"

# Video containers only, because FFmpeg would open files and URLs that a playlist names.
CONTAINERS = "mov,mp4,matroska,webm,avi,mpeg,mpegts,mpegvideo,m4v,h264,hevc,flv,ogg,asf,gif,ivf,yuv4mpegpipe,dv"

STORE_BYTES = 256 * 2**20
# Untrusted files may add 200 MB to the main process, including frames that are resized. Ten frames of 1920 x 1080 fit.
SANDBOXED_STORE_BYTES = 96 * 2**20

# Time of a worker. One second is enough for about 4 Mbit of a video with few changes, and for more of other videos.
_BYTES_PER_SECOND = 500_000

# Fraction of the frames below which a file counts as truncated, because a few packets may contain no image.
COMPLETE = 0.9


decoded_frames: LRUCache[bytes, np.ndarray] = LRUCache(STORE_BYTES, lambda frame: frame.nbytes)
"""Cache of decoded frames that were not fetched yet, by key."""

sandboxed_frames: LRUCache[bytes, np.ndarray] = LRUCache(SANDBOXED_STORE_BYTES, lambda frame: frame.nbytes)
"""Cache of frames that workers decoded."""


class ChangedVideoError(UsageError):
    """Raised if a video file is not the one whose digest was computed."""


@dataclass(frozen=True)
class Extent:
    """Number of frames and duration of a video, according to its packets.

    Attributes:
        n_frames: Number of complete packets of the video stream, one per frame.
        is_complete: Whether all packets are complete and their number is close to the number stated in the file.
        seconds: Duration in seconds. None if the file has no timestamps.
        pixels: Number of pixels of each frame.
    """

    n_frames: int
    is_complete: bool
    seconds: float | None
    pixels: int


class VideoSource:
    """Video file.

    Args:
        path: Path of the file.
        place: Position of the video in the input.
        digest: SHA-256 digest of the file if it is known. Otherwise, it is computed.

    Attributes:
        place: Position of the video in the input, such as ``"videos[3]"``, for error messages.
        digest: SHA-256 digest of the file, 32 bytes.
        path: Path of the file.
        is_sandboxed: Whether a sandbox worker decodes the file.
    """

    def __init__(self, path: str, place: str, digest: bytes | None = None) -> None:
        self.place = place
        self.path = path
        self.is_sandboxed = is_sandboxed()
        self.digest = self._compute_digest() if digest is None else digest

    def _compute_digest(self) -> bytes:
        with self.readable():
            return media_digest(self.path)

    def _check_unchanged(self) -> None:
        if self._compute_digest() != self.digest:
            raise ChangedVideoError.about(
                self.place, f"must not change while it is scored, got changes in {self.path!r}"
            )

    def key(self, index: int) -> bytes:
        """Return the SHA-256 digest of decoder version, file and frame index, 32 bytes."""
        return hashlib.sha256(DECODER + self.digest + index.to_bytes(8, "big")).digest()

    def extent(self) -> Extent:
        """Read the packets to determine the number of frames and the duration, without decoding.

        Raises:
            ValueError: If the file cannot be read, or has too many or too large frames.
        """
        if self.is_sandboxed:
            (part,) = run(most_bytes=MEGABYTE, **self._task("read_extent"))
            return Extent(**part.facts)
        end: float | None = None
        count = cut = 0
        with self._open() as (container, stream):
            for number, packet in enumerate(container.demux(stream)):
                if number > MAX_FRAMES:
                    raise UsageError.about(
                        self.place, f"must have at most {MAX_FRAMES:,} frames, got more in {self.path!r}"
                    )
                cut += packet.is_corrupt
                if packet.size and not packet.is_discard and not packet.is_corrupt:
                    count += 1
                    if packet.pts is not None:
                        own_end = float((packet.pts + (packet.duration or 0)) * packet.time_base)
                        end = own_end if end is None else max(end, own_end)
            start = float((stream.start_time or 0) * stream.time_base)
            stated, stated_frames = _get_stated_seconds(container, stream, start), stream.frames
            pixels = stream.width * stream.height
        reached = None if end is None else end - start
        whole = count >= COMPLETE * stated_frames
        if stated is not None and (reached is not None or not count):
            # Compare durations, because the stated number of frames includes frames that were trimmed.
            whole = (reached or 0) >= COMPLETE * stated
        whole = whole and not cut
        return Extent(count, whole, stated if whole and stated else reached, pixels)

    def frames(self) -> Iterator[tuple[int, Any]]:
        """Decode the video and yield index and frame, an `av.VideoFrame`, in order.

        Raises:
            ValueError: If the file changed, cannot be decoded, or has too many pixels.
        """
        self._check_unchanged()
        with self._open() as (container, stream):
            # Skip corrupt packets, from which decoders produce noise or the previous frame.
            packets = (packet for packet in container.demux(stream) if not packet.is_corrupt)
            n_pixels = 0
            for index, frame in enumerate(frame for packet in packets for frame in packet.decode()):
                n_pixels += frame.width * frame.height  # the frame size may change within a video
                self.check_pixels(n_pixels)
                yield index, frame

    def selected_frames(
        self, wanted: Collection[int], last: int, room: float = math.inf
    ) -> Iterator[tuple[int, npt.NDArray[np.uint8] | None]]:
        """Decode the video up to a frame, in a worker if it is untrusted, and yield the frames that are wanted.

        Args:
            wanted: Indices of frames, which may change before a frame is reached, except in a sandbox.
            last: Index of the last frame to decode.
            room: Maximum total size in bytes. Frames that exceed it are decoded but not returned. Without a limit, a
                worker waits while a frame is consumed.

        Yields:
            Index of a decoded frame, and None. After that, index and pixels of the same frame if it is wanted, upright
            RGB of shape ``(height, width, 3)``. In a sandbox, None only for the last decoded frame, and with `room` the
            iterator must be consumed completely.

        Raises:
            ValueError: If the file changed, cannot be decoded, or has too many pixels.
            EvictedError: If a worker waited too long without `room`.
        """
        if self.is_sandboxed:
            for (index, *shape), body in self._decode_in_worker(sorted(wanted), room):
                yield index, np.frombuffer(body, np.uint8).reshape(shape) if body else None
            return
        for index, frame in self.frames():
            yield index, None
            if index in wanted and (n_bytes := 3 * frame.width * frame.height) <= room:
                with self.readable():
                    pixels = upright_pixels(frame, self.place)
                room -= n_bytes
                yield index, pixels
                del pixels  # not needed while the next frame is decoded
            if index == last:
                return

    def _decode_in_worker(self, indices: list[int], room: float) -> Iterator[Part]:
        if math.isinf(room):
            return stream(most_bytes=3 * MAX_FRAME_PIXELS + MEGABYTE, **self._task("decode_frames", indices=indices))
        return run(most_bytes=int(room) + MEGABYTE, **self._task("decode_frames", indices=indices, room=room))

    def _task(self, function: str, **settings: Any) -> dict[str, Any]:
        """Return the arguments of a task that reads this file."""
        n_bytes = check_file_size(self.path, self.place)
        return {
            "task": f"{__name__}:{function}",
            "settings": {"place": self.place, "path": self.path, "digest": self.digest.hex(), **settings},
            "subject": f"`{self.place}`",
            "seconds": min(SECONDS + n_bytes / _BYTES_PER_SECOND, MOST_SECONDS),
        }

    def check_pixels(self, n_pixels: int) -> None:
        """Check that the number of pixels to decode is within the limit.

        Raises:
            ValueError: If it is not.
        """
        if n_pixels > MAX_CLIP_PIXELS:
            raise UsageError.about(
                self.place,
                f"must have at most {MAX_CLIP_PIXELS:,} pixels in all frames up to the last sampled one, got "
                f"{n_pixels:,} in {self.path!r}",
                "cut it or scale it first",
            )

    @contextmanager
    def _open(self) -> Iterator[tuple[Any, Any]]:
        """Open the container and its video stream, ignoring cover images of music files."""
        av = _av()
        most = str(MAX_FRAME_PIXELS)
        options = {"format_whitelist": CONTAINERS, "protocol_whitelist": "file", "max_pixels": most}
        with self.readable(), av.open(self.path, options=options, metadata_errors="replace") as container:
            cover = av.stream.Disposition.attached_pic
            streams = [stream for stream in container.streams.video if not stream.disposition & cover]
            # A stream of an unknown codec has no context, and no size.
            if not streams or streams[0].codec_context is None:
                raise UsageError.about(
                    self.place, f"must be a video with images, got {self.path!r} without a known video stream"
                )
            width, height = streams[0].width, streams[0].height
            if width * height > MAX_FRAME_PIXELS:
                raise UsageError.about(
                    self.place,
                    f"must have frames of at most {MAX_FRAME_PIXELS:,} pixels, got {width} x {height} in {self.path!r}",
                    "scale it first",
                )
            streams[0].codec_context.options = {"max_pixels": most}
            yield container, streams[0]

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Convert errors of FFmpeg for broken files and files of other formats to ValueError.

        Raises:
            ValueError: If the code inside the context raises OSError or an error of FFmpeg.
        """
        av = _av()
        try:
            yield
        except (av.FFmpegError, OSError) as error:
            # The rest of FFmpeg's message repeats the path and its log.
            why = getattr(error, "strerror", None) or type(error).__name__
            raise UsageError.about(self.place, f"must be a readable video, got {self.path!r} ({why})") from error


# -- In a worker ------------------------------------------------------------------------------------------------------
def read_extent(content: bytes, path: str, place: str, digest: str) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the extent of a video.

    Raises:
        UsageError: If the video cannot be read.
    """
    yield vars(VideoSource(path, place, bytes.fromhex(digest)).extent()), b""


def decode_frames(
    content: bytes, path: str, place: str, digest: str, *, indices: list[int], room: float = math.inf
) -> Iterator[tuple[tuple[int, ...], bytes | memoryview]]:
    """Decode some frames and yield index, shape and pixels of each, then the index of the last decoded frame.

    Raises:
        UsageError: If the video cannot be read up to the last frame.
    """
    source, last = VideoSource(path, place, bytes.fromhex(digest)), -1
    try:
        for last, pixels in source.selected_frames(set(indices), indices[-1], room):
            if pixels is not None:
                yield (last, *pixels.shape), pixels.data.cast("B")
    except ValueError:
        yield (last,), b""
        raise
    yield (last,), b""


# -- Frames -----------------------------------------------------------------------------------------------------------
def upright_pixels(frame: Any, place: str) -> np.ndarray:
    """Convert a decoded frame to pixels, rotated according to the file.

    Returns:
        RGB pixels, shape ``(height, width, 3)``, uint8.

    Raises:
        ValueError: If the rotation is not a multiple of 90 degrees.
    """
    turns, rest = divmod(round(frame.rotation), 90)
    if rest:
        raise UsageError.about(
            place, f"must be rotated by a multiple of 90 degrees, got {frame.rotation}", "rotate it first"
        )
    return np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), turns))


class ChosenFrames:
    """Selected frames of a video, which can be fetched in any order and from any thread."""

    def __init__(self, source: VideoSource, indices: Sequence[int]) -> None:
        self.source = source
        self._store = sandboxed_frames if source.is_sandboxed else decoded_frames
        self._wanted = set(indices)
        self._last = indices[-1] if indices else -1
        self._cursor: Iterator[tuple[int, npt.NDArray[np.uint8] | None]] = iter(())
        self._n_decoded = 0
        self._coming: set[int] = set()  # frames that the cursor yields
        self._lock = threading.Lock()

    def decode_all(self) -> tuple[int, bool]:
        """Decode up to the last selected frame, and cache selected frames as far as they fit.

        Returns:
            Number of decoded frames, and whether decoding ended with an error.

        Raises:
            SandboxError: If the file exceeds the limits of its worker.
            ChangedVideoError: If the file changed.
        """
        count = 0
        try:
            for index, pixels in self.source.selected_frames(self._wanted, self._last, self._store.most):
                count = index + 1
                self._keep(index, pixels)
        except (SandboxError, ChangedVideoError):
            raise
        except ValueError:
            return count, True
        return count, False

    def fetch(self, index: int) -> Image.Image:
        """Return a frame as an RGB image, decoding the file again if it is not cached.

        Raises:
            ValueError: If the frame cannot be decoded.
        """
        with self._lock:
            pixels = self._store.pop(self.source.key(index))
            if pixels is None:
                pixels = self._decode_to(index)
            self._wanted.discard(index)
            # Hold few of the largest frames until they are resized.
            with decode_alone_if_large(pixels.nbytes, 3 * MAX_FRAME_PIXELS):
                return Image.fromarray(pixels)

    def _decode_to(self, index: int) -> npt.NDArray[np.uint8]:
        """Decode up to a frame, continuing or restarting, cache selected frames on the way, and return the frame."""
        self._wanted.add(index)
        while True:
            with suppress(EvictedError):  # the worker was ended in favor of others, so decode from the start
                return self._continue_to(index)

    def _continue_to(self, index: int) -> npt.NDArray[np.uint8]:
        if index not in self._coming or not 0 < self._n_decoded <= index:
            # A worker does not see later changes of this set.
            self._coming = set(self._wanted) if self.source.is_sandboxed else self._wanted
            self._cursor = self.source.selected_frames(self._coming, self._last)
        cursor, self._cursor, self._n_decoded = self._cursor, iter(()), 0
        n_decoded, found = 0, None
        try:
            for position, pixels in cursor:
                n_decoded = position + 1
                if position != index or pixels is None:
                    self._keep(position, pixels)
                    continue
                found = pixels  # not cached, so that later frames cannot evict it
                if self.source.is_sandboxed and index == max(self._coming):
                    continue  # a worker whose result is consumed completely can decode other files
                if index < self._last:  # the file is not needed after the last frame
                    self._cursor, self._n_decoded = cursor, n_decoded
                break
        except (ValueError, EvictedError):
            if found is None:
                raise
        if found is None:
            raise UsageError.about(self.source.place, f"must have the frame {index}, got {n_decoded} frames")
        return found

    def _keep(self, index: int, pixels: npt.NDArray[np.uint8] | None) -> None:
        """Cache a frame until it is fetched."""
        if pixels is not None:
            self._store.put(self.source.key(index), pixels)


def _get_stated_seconds(container: Any, stream: Any, start: float) -> float | None:
    """Return the duration of the video stream stated in the file. Its first frame is at `start`."""
    # AVI states the number of frames, one per tick. FFmpeg only guesses the duration of a truncated file from its size.
    if container.format.name == "avi" and stream.frames:
        return float(stream.frames * stream.time_base)
    if stream.duration:
        return float(stream.duration * stream.time_base)
    # Matroska states the end in a tag per stream, "00:00:06.000000000".
    parts = stream.metadata.get("DURATION", "").split(":")
    if len(parts) == 3:
        try:
            seconds = 3600 * float(parts[0]) + 60 * float(parts[1]) + float(parts[2]) - start
            return seconds if math.isfinite(seconds) else None
        except ValueError:
            pass
    # The container duration is determined by its longest stream, so it is only valid without other streams.
    return container.duration / 1e6 if container.duration and len(container.streams) == 1 else None


def _av() -> Any:
    with importing('video files require PyAV; run: pip install "vlgauge[video]"'):
        import av
    return av
