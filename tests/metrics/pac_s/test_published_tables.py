"""The tables of published numbers in the cards of pac_s and clip_s against the one file that has them."""

import pytest
from folders import METRICS

from vlgauge.studies.published import rows

TAUS, VATEX = ("tau_b", "tau_c"), ("tau_b", "spearman")
PASCAL = ("HC", "HI", "HM", "MM", "mean")
# Title of a column -> protocol, rules, figures; by the head of the table in the card.
COLUMNS = {
    "metric | Expert": {
        "Expert": ("Table 1", "flickr8k_expert", {}, TAUS),
        "CF": ("Table 1", "flickr8k_cf", {}, TAUS),
        "Composite": ("Table 2", "composite", {}, TAUS),
    },
    "metric | no reference": {
        "no reference": ("Table 3", "vatex_eval", {"references": None}, VATEX),
        "1 reference": ("Table 3", "vatex_eval", {"references": 1}, VATEX),
        "9 references": ("Table 3", "vatex_eval", {"references": 9}, VATEX),
    },
    "metric | HC": {
        **{kind: ("Table 4", "pascal50s", {}, (kind,)) for kind in PASCAL},
        "Abstract-50S": ("Table 5", "abstract50s", {}, ("accuracy",)),
    },
    "metric | FOIL, 1 reference": {
        "FOIL, 1 reference": ("Table 6", "foil", {"references": 1}, ("accuracy",)),
        "FOIL, 4 references": ("Table 6", "foil", {"references": 4}, ("accuracy",)),
        "ActivityNet-FOIL": ("Table 6", "activitynet_foil", {}, ("accuracy",)),
    },
}
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
    """Tables of a card: the head in one line, and rows of cells."""
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


@pytest.mark.parametrize("head", COLUMNS)
def test_a_table_by_metric(head):
    columns = COLUMNS[head]
    wanted: dict = {}
    for title, (table, protocol, rules, figures) in columns.items():
        for row in rows():
            fits = all(row.rules.get(name) == value for name, value in rules.items())
            if (row.paper, row.table, row.protocol) == ("pac_s", table, protocol) and fits:
                wanted.setdefault(row.row, dict.fromkeys(columns, "-"))[title] = texts(row, figures)
    ((title, found),) = [table for table in tables_of("pac_s") if table[0].startswith(head)]
    assert title == " | ".join(["metric", *columns])
    assert {name: dict(zip(columns, cells, strict=True)) for name, *cells in found} == wanted


def published(family, backbone):
    """The cells of a row by backbone; of ViT-B/32 from the tables that have that only."""
    cells = []
    for protocol, figures in BACKBONES.values():
        found = [row for row in rows() if (row.metric, row.backbone, row.protocol) == (family, backbone, protocol)]
        found = [row for row in found if row.table.startswith("Table") and set(figures) <= set(row.values)]
        cells.append(texts(found[-1], figures))
    return cells


@pytest.mark.parametrize(("place", "family"), [(0, "pac_s"), (1, "ref_pac_s")])
def test_the_tables_of_pac_s_by_backbone(place, family):
    tables = [found for title, found in tables_of("pac_s") if title.startswith("backbone | Expert")]
    assert {name: cells for name, *cells in tables[place]} == {
        name: published(family, name)
        for name in ("ViT-B/32", "ViT-B/16", "ViT-L/14", "laion/ViT-B-32", "laion/ViT-L-14", "RN50", "RN101", "RN50x4")
    }


def test_the_table_of_clip_s_by_backbone():
    ((_, found),) = [table for table in tables_of("clip_s") if table[0].startswith("backbone | Expert")]
    names = [cells[0] for cells in found[::2]]
    assert names[:1] == ["ViT-B/32"]
    assert len(names) == 8
    for name, plain, referenced in zip(names, found[::2], found[1::2], strict=True):
        assert plain[1:] == published("clip_s", name)
        assert referenced == ["with references", *published("ref_clip_s", name)]


def test_the_table_of_captioners():
    ((title, found),) = [table for table in tables_of("pac_s") if table[0].startswith("captioner")]
    known = [row for row in rows() if row.protocol == "coco_systems"]
    assert title.split(" | ")[1:] == [row.row for row in known]
    names = [*known[0].values, "Humans"]
    assert found == [[name, *(row.text(name) for row in known)] for name in names]
