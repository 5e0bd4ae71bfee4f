"""Regions from files: the table and the crops of the authors of GROOViST, JSON."""

import numpy as np
import pytest
from PIL import Image

from vlgauge.models import detectors


def image(seed, size):
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


ROWS = """image_name,image_id,bbox,object,score
a.jpg,a,"[0, 0, 4, 4]",dog,0.3
b.jpg,b,"[1, 1, 3, 3]",cat,0.9
a.jpg,a,"[2.5, 2, 9, 9]",tree,0.8
a.jpg,a,"[5, 5, 9, 9]",sky,0.3
"""


@pytest.fixture
def authors(tmp_path):
    (tmp_path / "regions.csv").write_text(ROWS, encoding="utf-8")
    for seed, name in enumerate(["a_[0, 0, 4, 4]", "a_[2.5, 2, 9, 9]", "a_[5, 5, 9, 9]", "b_[1, 1, 3, 3]"]):
        image(seed, (4, 4)).save(tmp_path / f"{name}.jpg")
    return tmp_path


def test_authors_layout(authors):
    entries = detectors.read_authors_regions(authors / "regions.csv", authors)
    assert entries["a"]["boxes"] == [[2.5, 2, 9, 9], [0, 0, 4, 4], [5, 5, 9, 9]]
    assert entries["a"]["scores"] == [0.8, 0.3, 0.3]
    story = detectors.arrange_regions(entries, [["b", "a"]])
    first, second = detectors.regions_of([None], [story[0]], top_k=2)[0]
    assert (len(first), [region.box for region in second]) == (1, [(2, 2, 9, 9), (0, 0, 4, 4)])
    assert second[0].image.open().size == (4, 4)
    assert "crops" not in detectors.read_authors_regions(authors / "regions.csv")["a"]


def test_missing_crop_is_told(authors):
    (authors / "a_[5, 5, 9, 9].jpg").unlink()
    with pytest.raises(ValueError, match=r"^`crops`.*a_\[5.*'a'"):
        detectors.read_authors_regions(authors / "regions.csv", authors)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("image_id,bbox", "image,bbox", r"columns image_name.*image_id"),
        ("0.9", "high", r"^`table`.*got 'high'.*line 3"),
        ("[1, 1, 3, 3]", "[1, 1, 3]", r"^`table`.*\[x1.*got '\[1, 1, 3\]'"),
        ("[1, 1, 3, 3]", "none", r"^`table`.*got 'none'.*line 3"),
    ],
)
def test_broken_authors_table(authors, old, new, message):
    (authors / "regions.csv").write_text(ROWS.replace(old, new), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        detectors.read_authors_regions(authors / "regions.csv")


def test_an_image_that_the_file_lacks():
    with pytest.raises(ValueError, match=r"got none.*'c'.*\[0\]\[1\]"):
        detectors.arrange_regions({"a": {"boxes": [[0, 0, 1, 1]]}}, [["a", "c"]])


def test_a_table_in_another_encoding(authors):
    (authors / "regions.csv").write_bytes(ROWS.replace("sky", "caf\xe9").encode("latin-1"))
    with pytest.raises(ValueError, match=r"^`table`.*UTF-8"):
        detectors.read_authors_regions(authors / "regions.csv")
