"""The tables of published numbers in the cards of pac_s and clip_s against the one file that has them."""

import pytest
from folders import METRICS

from vlgauge.research.studies.published import rows

TAUS, VATEX = ("tau_b", "tau_c"), ("tau_b", "spearman")
# Title of a column -> table, protocol, rules, figures; of the table in the card that has a line for each of LINES.
COLUMNS = {
    "Expert": ("Table 1", "flickr8k_expert", {}, TAUS),
    "CF": ("Table 1", "flickr8k_cf", {}, TAUS),
    "Composite": ("Table 2", "composite", {}, TAUS),
    "Pascal-50S": ("Table 4", "pascal50s", {}, ("mean",)),
    "Abstract-50S": ("Table 5", "abstract50s", {}, ("accuracy",)),
    "FOIL": ("Table 6", "foil", {"references": 4}, ("accuracy",)),
}
LINES = ["CIDEr", "MID", "CLIP-S", "PAC-S", "RefCLIP-S", "RefPAC-S"]
BACKBONES = {
    "Expert": ("flickr8k_expert", TAUS),
    "CF": ("flickr8k_cf", TAUS),
    "VATEX": ("vatex_eval", VATEX),
    "Pascal-50S": ("pascal50s", ("mean",)),
    "FOIL": ("foil", ("accuracy",)),
    "ActivityNet-FOIL": ("activitynet_foil", ("accuracy",)),
}


def texts(found, figures):
    return "/".join(found.text(figure) for figure in figures)


def tables_of(name):
    """Return the tables of a card, each with its header in one line and its rows of cells."""
    found = []
    lines = (METRICS / name / "README.md").read_text("utf-8").splitlines()
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            found.append(None)
        elif not found or found[-1] is None:
            found.append((" | ".join(cells), []))
        elif set(cells[0]) != {"-"}:
            found[-1][1].append(cells)
    return [table for table in found if table]


def test_the_table_by_metric():
    wanted = {name: dict.fromkeys(COLUMNS, "-") for name in LINES}
    for title, (table, protocol, rules, figures) in COLUMNS.items():
        for row in rows():
            fits = all(row.rules.get(name) == value for name, value in rules.items())
            if (row.paper, row.table, row.protocol) == ("pac_s", table, protocol) and fits and row.row in wanted:
                wanted[row.row][title] = texts(row, figures)
    ((title, found),) = [table for table in tables_of("pac_s") if table[0].startswith("metric | Expert")]
    assert title == " | ".join(["metric", *COLUMNS])
    assert [(name, dict(zip(COLUMNS, cells, strict=True))) for name, *cells in found] == list(wanted.items())


def published(family, backbone):
    """Return the cells of a row for a backbone. ViT-B/32 uses the tables that contain only this backbone."""
    cells = []
    for protocol, figures in BACKBONES.values():
        found = [row for row in rows() if (row.metric, row.backbone, row.protocol) == (family, backbone, protocol)]
        found = [row for row in found if row.table.startswith("Table") and set(figures) <= set(row.values)]
        cells.append(texts(found[-1], figures))
    return cells


@pytest.mark.parametrize("family", ["clip_s", "pac_s"])
def test_the_tables_by_backbone(family):
    ((_, found),) = [table for table in tables_of(family) if table[0].startswith("backbone | Expert")]
    names = ["ViT-B/32", "ViT-B/16", "ViT-L/14", "laion/ViT-B-32", "laion/ViT-L-14", "RN50", "RN101", "RN50x4"]
    assert [name for name, *_ in found] == names
    for name, *cells in found:
        both = zip(published(family, name), published(f"ref_{family}", name), strict=True)
        assert cells == [f"{alone} ({referenced})" for alone, referenced in both]
