"""How much of a row is taken: known to a command line before anything that reads rows is imported."""

from dataclasses import dataclass

from vlgauge.errors import UsageError

# A picture of 50 megapixels takes up to eight bytes per pixel while it is decoded: four, and as many again where it is
# turned or has an alpha channel.
MAX_PIXELS = 50 * 2**20

# Of a clip: the pixels of a frame, of which a decoder may keep seventeen; frames; and the pixels of all frames up to
# the last that is looked at, which take some minutes: 8 hours of 640 x 480, 74 minutes of 1920 x 1080 at 30 a second.
MAX_FRAME_PIXELS = 9 * 2**20
MAX_FRAMES = 2**20
MAX_CLIP_PIXELS = 2**38


@dataclass(frozen=True)
class RowLimits:
    """What a row may hold; one that holds more is left out, with the reason.

    Attributes:
        picture_bytes: Bytes of the file of a picture.
        clip_bytes: Bytes of the file of a clip.
        pixels: Pixels of a picture, looked up in its header.
        characters: Characters of a text.
        run_bytes: Bytes of all pictures and clips of a run, which are kept until it is scored.
    """

    picture_bytes: int = 20_000_000
    clip_bytes: int = 100_000_000
    pixels: int = MAX_PIXELS
    characters: int = 20_000
    run_bytes: int = 2**30

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        for name, value in vars(self).items():
            if value < 1:
                raise UsageError(f"`{name}` must be a whole number of at least 1, got {value}")
