"""Small images and videos that require much memory or time."""

import io
import struct
import zlib

from PIL import Image

MANY = 2**18
GIF = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff"
GIF_FRAME = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0"
GIF_COMMENT = b"\x21\xfe" + b"\x01a" * 100_000 + b"\0"


def encoded(kind):
    """Return a small image as the bytes of a file."""
    stream = io.BytesIO()
    Image.new("RGB", (2, 2), "red").save(stream, kind)
    return stream.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def inserted(data, at, pieces):
    return data[:at] + pieces + data[at:]


def endless(width, height):
    """Return a PNG with a header of many pixels and without image data."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def strips(order, is_large, number):
    """Return a TIFF with rows of eight gray pixels that share their bytes, each in a separate strip."""
    kind, begin = ("Q", 16) if is_large else ("I", 8)
    offsets, counts = (struct.pack(f"{order}{number}{kind}", *[one] * number) for one in (begin, 8))
    tags = {256: 8, 257: number, 258: 8, 259: 1, 262: 1, 277: 1, 278: 1}
    entries = [
        (tag, 4, 1, struct.pack(order + "I", value).ljust(8 if is_large else 4, b"\0")) for tag, value in tags.items()
    ]
    for tag, at in ((273, begin + 8), (279, begin + 8 + len(offsets))):
        entries.append((tag, 16 if is_large else 4, number, struct.pack(order + kind, at)))
    directory = struct.pack(order + ("Q" if is_large else "H"), len(entries))
    for tag, code, count, value in sorted(entries):
        directory += struct.pack(order + "HH" + kind, tag, code, count) + value
    end = begin + 8 + len(offsets) + len(counts)
    mark = {"<": b"II", ">": b"MM"}[order]
    head = struct.pack(order + "HHHQ", 43, 8, 0, end) if is_large else struct.pack(order + "HI", 42, end)
    return mark + head + bytes(range(8)) + offsets + counts + directory + bytes(8)


IMAGES = {
    "fine": encoded("PNG"),
    "gif": GIF + GIF_COMMENT + GIF_FRAME + b";",
    "gif between": GIF + GIF_FRAME + GIF_COMMENT + GIF_FRAME + b";",
    "ppm": b"P6\n#" + b"9" * MANY + b"\n1 1\n255\n\0\0\0",
    "ppm of text": b"P3\n2 2\n255\n" + b"#9\n" * MANY,
    "jpeg comments": inserted(encoded("JPEG"), 2, b"\xff\xfe\0\3a" * MANY),
    "jpeg exif": inserted(encoded("JPEG"), 2, b"\xff\xe1\0\x0aExif\0\0ab" * MANY),
    "png": inserted(encoded("PNG"), 33, chunk(b"tEXt", b"k\0v") * MANY),
    "tiff": b"II*\0\x08\0\0\0" + struct.pack("<H", 65_000) + struct.pack("<HHII", 30_000, 4, 1, 4) * 65_000 + bytes(4),
    "strips": strips("<", False, 2**20),
    "wide": endless(2**20, 2**20),
    "high": endless(1, 10**9),
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\nquit\n",
}


# -- Videos -----------------------------------------------------------------------------------------------------------
def claiming(data, number):
    """Return the file with metadata that declares `number` frames of one byte each, in one chunk."""
    changed = bytearray(data)
    struct.pack_into(">II", changed, changed.index(b"stsz") + 8, 1, number)
    struct.pack_into(">III", changed, changed.index(b"stts") + 8, 1, number, 512)
    struct.pack_into(">II", changed, changed.index(b"stsc") + 12, 1, number)
    return bytes(changed)


CLIPS = {
    "millions": lambda data: claiming(data, 10**7),
    "milliards": lambda data: claiming(data, 10**9),
    "playlist": lambda data: b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n",
    "list of files": lambda data: b"ffconcat version 1.0\nfile /etc/passwd\n",
    "zeros": lambda data: bytes(10**6),
}
