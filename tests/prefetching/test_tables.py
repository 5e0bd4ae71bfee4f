"""What each metric needs from outside, in its card and in the table of the documentation."""

import pytest
from folders import ROOT

from vlgauge.catalog import metric_folder, metric_names
from vlgauge.encoders.clip.architectures import TABLE
from vlgauge.encoders.sentences.model import MINILM, MINILM_REVISION, MINILM_SHA256
from vlgauge.prefetching import tables
from vlgauge.prefetching.assets import HubFiles, about, assets_of


@pytest.mark.parametrize("name", metric_names())
def test_every_card_has_the_section_as_it_is_made(name):
    card = (metric_folder(name) / "README.md").read_text("utf-8")
    assert tables.with_section(card, name) == card, "run: make format"
    assert tables.section(name) in card


def test_a_section_is_put_before_the_inputs_and_then_replaced():
    card = "## How to Use\n\nSo.\n\n### Inputs\n\nColumns.\n"
    made = tables.with_section(card, "cider")
    assert made == card.replace("### Inputs", tables.section("cider") + "### Inputs")
    old = made.replace("no model", "an old word")
    assert tables.with_section(old, "cider") == made


def test_rows_tell_commit_and_digest_of_what_is_pinned():
    row = TABLE["ViT-B/32"]
    told = tables.section("clip_s")
    for part in (row.repository, row.revision, row.sha256, "605 MB", "MIT by OpenAI"):
        assert part in told
    for name in ("mmd_bert", "soft_spice", "capture", "aloha"):
        told = tables.section(name)  # whether MiniLM's package is installed or not
        for part in (MINILM, MINILM_REVISION, MINILM_SHA256, "vlgauge prefetch", "Apache-2.0"):
            assert part in told


@pytest.mark.parametrize("name", metric_names())
def test_nothing_that_a_metric_needs_is_untold(name):
    for asset in tables.declared(name):
        told = about(asset)
        assert "not known" not in (told.size, told.licence, told.known_by)
        assert told.origin.startswith("https://")
        assert not isinstance(asset, HubFiles) or told.size != "told by `vlgauge prefetch`"


def test_the_table_has_each_asset_once_with_its_metrics():
    lines = tables.table().splitlines()
    rows = [line for line in lines if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) == len({row.split(" | ", 1)[1] for row in rows})
    named = {name for row in rows for name in row[2:].split(" | ")[0].split(", ")}
    without = set(lines[-1].removeprefix("Nothing from outside: ").rstrip(".").split(", "))
    assert named | without == set(metric_names())
    assert named == {name for name in metric_names() if assets_of(name)}


def test_the_documentation_shows_the_table():
    assert "{include} ../metrics/files.md" in (ROOT / "docs" / "howto" / "weights_by_hand.md").read_text("utf-8")
