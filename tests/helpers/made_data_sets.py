"""Datasets as users publish them, and hostile datasets."""

import io
import json
import struct
import tarfile
import zlib
from hashlib import sha1

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
from hub_data_sets import Repository, commit_of
from PIL import Image

COLOURS = ("red", "green", "blue", "yellow", "black", "white")
N_ROWS = 24
COMMITS = [f"{number:040x}" for number in range(1, 3)]

_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_CARD = """---
configs:
- config_name: default
  data_files:
  - split: test
    path: data/test-*.parquet
  - split: train
    path: data/train-*.parquet
- config_name: small
  data_files:
  - split: test
    path: data/train-*.parquet
---
"""


def draw_png(colour, size=(8, 8)):
    """Return an image of one color, as the bytes of a file."""
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, "PNG")
    return stream.getvalue()


def endless_image():
    """Return a PNG header of 1 x 1,000,000,000 pixels without image data."""
    chunks = b""
    for kind, content in ((b"IHDR", struct.pack(">IIBBBBB", 1, 10**9, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b""))):
        chunks += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return b"\x89PNG\r\n\x1a\n" + chunks


def parquet(images, captions, references, *, group=8):
    """Return a Parquet file in the format of `push_to_hub`."""
    table = pa.table({"image": pa.array(images, _IMAGE), "caption": captions, "refs": references})
    text = datasets.Value("string")
    features = datasets.Features({"image": datasets.Image(), "caption": text, "refs": [text]})
    stream = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(features.arrow_schema.metadata), stream, row_group_size=group)
    return stream.getvalue()


def parquet_of_clips(cells, captions):
    """Return a Parquet file of videos and captions in the format of `push_to_hub`."""
    table = pa.table({"video": pa.array(cells, datasets.Video().pa_type), "caption": captions})
    features = datasets.Features({"video": datasets.Video(), "caption": datasets.Value("string")})
    stream = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(features.arrow_schema.metadata), stream)
    return stream.getvalue()


def coloured(n, word="square"):
    """Return a Parquet file of `n` squares with a caption and two references each."""
    colours = [COLOURS[i % len(COLOURS)] for i in range(n)]
    images = [{"bytes": draw_png(colour), "path": f"{colour}.png"} for colour in colours]
    references = [[f"A {colour} picture.", f"All is {colour}."] for colour in colours]
    return parquet(images, [f"A {colour} {word}." for colour in colours], references)


def files(word="square"):
    """Return a repository with two splits and two configurations."""
    return {
        "README.md": _CARD.encode(),
        "data/test-0.parquet": coloured(N_ROWS, word),
        "data/train-0.parquet": coloured(4, word),
    }


def archive(path, members):
    """Write a tar archive of pairs (name, content). Content may be a `tarfile.TarInfo` of another type of member."""
    with tarfile.open(path, "w") as made:
        for name, content in members:
            if isinstance(content, tarfile.TarInfo):
                made.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return str(path)


def _hostile_commit(address):
    """Return the commit of the rows of `hostile_rows`, which contain the address."""
    return sha1(address.encode()).hexdigest()


def hostile_rows(address):
    """Return pairs (image, caption), of which only the first and the last are valid.

    The server at `address` must not receive a request.
    """
    commit, right = _hostile_commit(address), {"bytes": draw_png("red"), "path": "red.png"}
    return [
        (right, "A red square."),
        ({"bytes": None, "path": "/etc/hostname"}, "The name of this machine."),
        ({"bytes": None, "path": f"{address}/inside.png"}, "What the network has within."),
        ({"bytes": None, "path": "file:///etc/hostname"}, "A file by its address."),
        ({"bytes": None, "path": "data/test-0.parquet"}, "A relative path."),
        ({"bytes": None, "path": f"hf://datasets/org/hostile@{commit}/../../org/private@main/x.png"}, "A way out."),
        ({"bytes": None, "path": f"zip://a.png::{address}/inside.zip"}, "An archive elsewhere."),
        ({"bytes": endless_image(), "path": None}, "A billion pixels."),
        ({"bytes": b"GIF89a", "path": None}, "A picture cut short."),
        ({"bytes": b"", "path": None}, "No bytes."),
        (None, "No picture."),
        (right, None),
        (right, "A word. " * 1_250_000),
        (right, "<img src='http://vlgauge.invalid/x.png' onerror='document.title=1'>A red square."),
    ]


def hostile(address):
    """Return a repository with the rows of `hostile_rows`."""
    images, captions = zip(*hostile_rows(address), strict=True)
    return {"data/test-0.parquet": parquet(images, captions, [["A square."]] * len(captions))}


def card_of(path):
    """Return a repository whose card refers to data at another path."""
    data = {"configs": [{"config_name": "default", "data_files": [{"split": "test", "path": path}]}]}
    return {"README.md": f"---\n{json.dumps(data)}\n---\n".encode(), "rows.jsonl": b'{"caption": "x"}\n'}


def repositories(address):
    """Return all repositories, keyed by id. The server at `address` must not receive a request."""
    folder = {f"test/{colour}.png": draw_png(colour) for colour in COLOURS[:3]}
    named = [{"file_name": f"{colour}.png", "text": f"A {colour} square."} for colour in COLOURS[:3]]
    folder["test/metadata.jsonl"] = "".join(json.dumps(row) + "\n" for row in named).encode()
    lines = [{"id": f"s{i}", "story": ["A dog ran.", "A cat slept."], "note": None} for i in range(5)]
    first, elsewhere = COMMITS[0], card_of(f"{address}/inside.jsonl")
    return {
        "org/pictures": Repository({first: files()}),
        "org/folder": Repository({first: folder}),
        "org/lines": Repository({first: {"test.jsonl": "".join(json.dumps(row) + "\n" for row in lines).encode()}}),
        "org/cells": Repository({first: {"test.csv": b"caption,refs\nA dog.,A hound.\nA cat.,\n"}}),
        "org/gated": Repository({first: files()}, gated=True),
        "org/private": Repository({first: files()}, private=True),
        "org/scripted": Repository({first: {"scripted.py": b"raise SystemExit('code of others ran')\n"}}),
        "org/hostile": Repository({_hostile_commit(address): hostile(address)}),
        "org/elsewhere": Repository({commit_of(elsewhere): elsewhere}),
        "org/above": Repository({first: card_of("../../etc/passwd.txt")}),
        "org/server": Repository({first: card_of("/etc/*.txt")}),
        "org/broken": Repository({first: {"data/test-0.parquet": b"PAR1 and no more"}}),
        "org/empty": Repository({first: {"README.md": b"# Nothing\n"}}),
        "org/sounds": Repository({first: {"test/a.wav": b"RIFF"}}),
    }
