"""HAT and nocaps-FOIL: average precision by definition, and invalid files."""

import json
import math

import numpy as np
import pytest
from protocol_tasks import evaluated

from vlgauge.research.protocols import read_hat, read_nocaps_foil
from vlgauge.research.protocols.hallucination import DOMAINS, average_precision

HAT = [
    {"caption": "A  dog .", "references": ["a dog runs"], "image_path": "1.jpg", "contains_hallucination": False},
    {"caption": "a cat", "references": ["a dog runs", "a pup"], "image_path": "1.jpg", "contains_hallucination": True},
    {"caption": "a bus", "references": ["a red bus"], "image_path": "2.jpg", "contains_hallucination": False},
]
FOIL = [
    {"baseline": "a shirt", "foil": "a skirt", "references": ["a white shirt"], "image_path": "3.jpg", "domain": one}
    for one in DOMAINS
]


def write(folder, name, content):
    (folder / name).write_text(json.dumps(content), "utf-8")
    return folder / name


def plain_ap(scores, wrong):
    """Return the mean of the precision at each wrong caption, with equal scores taken together."""
    at = [
        sum(other for score, other in zip(scores, wrong, strict=True) if score <= own)
        / sum(score <= own for score in scores)
        for own, is_wrong in zip(scores, wrong, strict=True)
        if is_wrong
    ]
    return 100 * sum(at) / len(at) if at else math.nan


def test_average_precision_by_hand():
    # Lowest first: wrong; right; wrong and right together: (1/1 + 2/4) / 2.
    assert average_precision(np.array([[1, 0], [0, 1], [1, 1]])) == 75.0
    assert average_precision(np.array([[0, 1], [1, 0]])) == 50.0
    assert math.isnan(average_precision(np.array([[0, 1]])))


def test_hat(tmp_path):
    task = read_hat([write(tmp_path, "hat-trainval.json", HAT)])
    assert task.columns["predictions"] == ["A dog .", "a cat", "a bus"]
    assert task.columns["references"][1] == ["a dog runs", "a pup"]
    assert evaluated(task, [0.9, 0.1, 0.5], resamples=0).figures["AP"].value == 100.0
    assert evaluated(task, [0.1, 0.5, 0.9], resamples=0).figures["AP"].value == 50.0
    assert task.groups == ["1.jpg", "1.jpg", "2.jpg"]
    assert read_hat([tmp_path], references=1).columns["references"][1] == ["a dog runs"]


def test_nocaps_foil_by_domain(tmp_path):
    rng = np.random.default_rng(0)
    rows = [FOIL[int(rng.integers(3))] | {"image_path": f"{i}.jpg"} for i in range(60)]
    task = read_nocaps_foil([write(tmp_path, "nocaps-val-foil.json", rows)])
    scores = rng.integers(0, 12, size=120) / 10
    scores[3] = np.nan
    found = evaluated(task, scores.tolist(), resamples=50)
    wrong = [text == "a skirt" for text in task.columns["predictions"]]
    for domain in (None, *DOMAINS):
        own = [i for i in range(120) if i != 3 and domain in (None, rows[i // 2]["domain"])]
        figure = found.figures["AP" if domain is None else f"AP, {domain}"]
        assert figure.value == pytest.approx(plain_ap([scores[i] for i in own], [wrong[i] for i in own]), abs=1e-9)
        assert figure.low <= figure.value <= figure.high
    assert (found.n, found.undefined) == (119, 1)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("caption", 3, r"row 0.*'caption'.*got int"),
        ("contains_hallucination", 1, r"row 0.*'contains_hallucination'.*got int"),
        ("references", "a dog", r"row 0.*'references'.*got str"),
        ("references", [3], r"row 0.*strings"),
    ],
)
def test_other_files(tmp_path, key, value, message):
    path = write(tmp_path, "hat-trainval.json", [HAT[0] | {key: value}, *HAT[1:]])
    with pytest.raises(ValueError, match=message):
        read_hat([path])


def test_other_domains(tmp_path):
    path = write(tmp_path, "nocaps-val-foil.json", [FOIL[0] | {"domain": "else"}])
    with pytest.raises(ValueError, match=r"'domain'.*got 'else'"):
        read_nocaps_foil([path])
    with pytest.raises(ValueError, match="must have 'foil'"):
        read_nocaps_foil(
            [write(tmp_path, "nocaps-val-foil.json", [{key: FOIL[0][key] for key in FOIL[0] if key != "foil"}])]
        )
