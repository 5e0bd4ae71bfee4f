"""External files of each metric, in its card and in the table of the documentation."""

import ast
import re

import asset_tables as tables
import pytest
from folders import ROOT

import vlgauge
from vlgauge.api.prefetch.assets import HubFiles, about, assets_of
from vlgauge.core.catalog import metric_folder, metric_names
from vlgauge.core.files import DATA
from vlgauge.core.validation import setting_names
from vlgauge.inputs.text.concreteness import PACKAGE, PACKAGE_VERSION, SHA256
from vlgauge.inputs.text.noun_phrases import INSTALL_PAPER, NOT_BY_PIP, PAPER_PIPELINE, PAPER_VERSION
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.files import RELEASES
from vlgauge.models.grounding.model import AUTHORS_FILE as GROUNDING_FILE
from vlgauge.models.grounding.model import AUTHORS_IDF as GROUNDING_IDF
from vlgauge.models.judges.sources import LLAVA, SMALL
from vlgauge.models.pairs.models import AUTHORS_FILE, BASE, PINNED_BASE
from vlgauge.models.rated.models import RELEASED
from vlgauge.models.rated.models import TEXT_ENCODER as POLOS_TEXTS
from vlgauge.models.sentences.model import MINILM, MINILM_REVISION, MINILM_SHA256
from vlgauge.models.token_encoders import ROBERTA


@pytest.mark.parametrize("name", metric_names())
def test_every_card_has_the_section_as_it_is_made(name):
    card = (metric_folder(name) / "README.md").read_text("utf-8")
    assert tables.with_section(card, name) == card, "run: make format"
    assert tables.section(name) in card


def test_a_card_has_no_folder_of_a_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path))
    assert "they go to ~/.cache/vlgauge/adapters/" in tables.table()
    for made in (tables.table(), *map(tables.section, metric_names())):
        assert str(tmp_path) not in made


def test_a_section_is_put_before_the_inputs_and_then_replaced():
    card = "## How to Use\n\nSo.\n\n### Inputs\n\nColumns.\n"
    made = tables.with_section(card, "cider")
    assert made == card.replace("### Inputs", tables.section("cider") + "### Inputs")
    old = made.replace("no model", "an old word")
    assert tables.with_section(old, "cider") == made


def test_rows_tell_commit_and_digest_of_what_is_pinned():
    row = TABLE["ViT-B/32"]
    told = tables.table()
    for part in (row.repository, row.revision, row.sha256, "605 MB", "MIT by OpenAI"):
        assert part in told
    for part in (MINILM, MINILM_REVISION, MINILM_SHA256, "vlgauge prefetch", "Apache-2.0"):
        assert part in told


def test_a_card_tells_size_and_licence_and_who_fetches():
    minilm = f"| [{MINILM}](https://huggingface.co/{MINILM}) | 91.6 MB | Apache-2.0 | vlgauge |\n"
    for name in ("mmd_bert", "soft_spice", "capture", "aloha"):
        assert minilm in tables.section(name)  # whether MiniLM's package is installed or not
    told = tables.section("pac_s")
    assert " | 605 MB | Apache-2.0 there, MIT by OpenAI | vlgauge |\n" in told
    assert " | about 605 MB | none stated, so redistribution is not permitted | you |\n" in told
    assert f"({tables._BY_HAND})" in told
    assert tables._BY_HAND.endswith("/howto/manual_downloads.html")


def test_the_facts_name_the_files_and_versions_of_the_code():
    facts = (DATA / "assets.json").read_text("utf-8").replace('\\"', '"')
    for part in (
        *(AUTHORS_FILE, GROUNDING_FILE, GROUNDING_IDF, RELEASED, PINNED_BASE, LLAVA.partition("@")[2]),
        *(MINILM, BASE, POLOS_TEXTS, ROBERTA.partition("@")[0], TABLE["ViT-B/32"].repository),
        *(
            INSTALL_PAPER,
            NOT_BY_PIP,
            f"{PAPER_PIPELINE}-{PAPER_VERSION}",
            f"{PACKAGE}=={PACKAGE_VERSION}",
            SHA256,
            SMALL,
        ),
    ):
        assert f"{part}" in facts


@pytest.mark.parametrize("name", metric_names())
def test_nothing_that_a_metric_needs_is_untold(name):
    for asset in tables.list_assets(name):
        told = about(asset)
        assert "not known" not in (told.size, told.licence, told.known_by)
        assert told.origin.startswith("https://")
        assert not isinstance(asset, HubFiles) or told.size != "printed by `vlgauge prefetch`"


def test_the_table_has_each_asset_once_with_its_metrics():
    lines = tables.table().splitlines()
    rows = [line for line in lines if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) == len({row.split(" | ", 1)[1] for row in rows})
    named = {name for row in rows for name in row[2:].split(" | ")[0].split(", ")}
    without = set(lines[-1].removeprefix("Nothing from outside: ").rstrip(".").split(", "))
    assert named | without == set(metric_names())
    assert named == {name for name in metric_names() if assets_of(name)}


BY_HAND = (ROOT / "docs" / "howto" / "manual_downloads.md").read_text("utf-8")


def test_the_documentation_shows_the_table():
    assert "{include} ../metrics/files.md" in BY_HAND


def test_the_page_has_the_links_and_the_versions_of_the_code():
    releases = [release for kind in RELEASES.values() for release in kind.values()]
    links = (AUTHORS_FILE, GROUNDING_FILE, GROUNDING_IDF, *(release.link for release in releases))
    for part in (*links, *(release.file for release in releases), INSTALL_PAPER, BASE):
        assert part in BY_HAND


def test_the_calls_of_the_page_have_settings_that_there_are():
    calls = re.findall(r"^\w+ = (vlgauge\.load\(.*?\))$", BY_HAND, re.MULTILINE | re.DOTALL)
    assert {ast.literal_eval(ast.parse(call).body[0].value.args[0]) for call in calls} == {
        *("clip_s", "fleur", "groovist", "mmd_bert", "pac_s", "polos", "rovist", "rovist_c", "rovist_vg", "specs")
    }
    for call in calls:
        code = ast.parse(call).body[0].value
        name, settings = code.args[0].value, [word.arg for word in code.keywords]
        assert set(settings) <= set(setting_names(type(vlgauge.load(name))))
