"""The cards of clip_s and pac_s against the published tables and the table of backbones."""

import json

import pytest
from folders import METRICS

from vlgauge.cli import main
from vlgauge.models.clip.architectures import TABLE

PUBLISHED = {
    "CLIP ViT-B/32": "ViT-B/32",
    "CLIP ViT-B/16": "ViT-B/16",
    "CLIP ViT-L/14": "ViT-L/14",
    "LAION ViT-B-32": "laion/ViT-B-32",
    "LAION ViT-L-14": "laion/ViT-L-14",
    "CLIP RN50": "RN50",
    "CLIP RN101": "RN101",
    "CLIP RN50x4": "RN50x4",
}


def card(name):
    return (METRICS / name / "README.md").read_text("utf-8")


def tables(text, first_cell):
    """Return the rows of every table whose header begins with a cell, each row as a list of cells."""
    found, rows = [], None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith(f"| {first_cell}"):
            rows = []
            found.append(rows)
        elif not line.startswith("|"):
            rows = None
        elif rows is not None and set(cells[0]) != {"-"}:
            rows.append(cells)
    return found


@pytest.fixture
def published(shared_folder):
    """Cells "CLIP-S PAC-S" without and with references, keyed by backbone."""
    text = (shared_folder / "specs" / "pac_s.md").read_text("utf-8")
    found = tables(text, "reference-free") + tables(text, "with references (VATEX 9")
    return [{PUBLISHED[row[0]]: row[1:] for row in rows} for rows in found]


@pytest.mark.parametrize(("name", "place"), [("clip_s", 0), ("pac_s", 1)])
def test_cards_print_the_published_numbers(name, place, published):
    (rows,) = tables(card(name), "backbone | Expert")
    alone, referenced = ({key: [cell.split()[place] for cell in row] for key, row in one.items()} for one in published)
    both = {key: [f"{x} ({y})" for x, y in zip(alone[key], referenced[key], strict=True)] for key in alone}
    assert {row[0]: row[1:] for row in rows} == both


@pytest.mark.parametrize("name", ["clip_s", "pac_s"])
def test_the_backbones_without_a_pinned_commit_are_named(name, capsys):
    (line,) = [line for line in card(name).splitlines() if line.startswith("| `weights` |")]
    assert line.endswith("from the Hub, at the commit that `vlgauge backbones` names |")
    assert main(["backbones", "--json"]) == 0
    told = {row["name"]: row["revision"] for row in json.loads(capsys.readouterr().out)["backbones"]}
    assert told == {row.name: row.revision or "newest" for row in TABLE.values()}
