"""polos: the numbers of the authors' code on generated models in the released layout."""

import json

import numpy as np
import pytest
from polos_oracle import Oracle

import vlgauge
from vlgauge.core.pool import pool
from vlgauge.models.rated import models as polos_models

pytestmark = pytest.mark.filterwarnings("ignore:.*captions and references")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    yield tmp_path_factory.mktemp("polos")
    pool.unload()


@pytest.fixture
def oracle(shared_folder, folder):
    return Oracle(shared_folder / "oracles" / "polos", folder)


@pytest.fixture(autouse=True)
def blank_references_count(monkeypatch):
    """Empty references are kept, because the oracle contains one that the authors' code counts."""
    monkeypatch.setattr("vlgauge.families.base.columns.without_blanks", list)


def scores(oracle, ids, **settings):
    metric = vlgauge.load("polos", keep_in_memory=True, **oracle.settings, **settings)
    return metric.compute(**oracle.columns(ids))["polos_scores"]


@pytest.mark.parametrize(
    ("group", "size"), [("five", 1), ("mixed", 8), ("all", 1), ("all", 32), ("all", 64), ("five_permuted", 8)]
)
def test_released(oracle, group, size):
    ids, wanted = oracle.scores["groups"][group], oracle.scores["released"][group][str(size)]
    found = scores(oracle, ids, variant="released", released_batch_size=size)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def test_released_half(oracle):
    ids, wanted = oracle.scores["groups"]["all"], oracle.scores["released_half"]["all"]["8"]
    found = scores(oracle, ids, variant="released", released_batch_size=8, dtype="released_half")
    np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-3)


def test_itemwise(oracle):
    metric = vlgauge.load("polos", keep_in_memory=True, **oracle.settings)
    found = metric.compute(**oracle.columns(oracle.rows), return_details=True)
    np.testing.assert_allclose(found["polos_scores"], oracle.scores["itemwise"], rtol=0, atol=1e-5)
    for note, wanted in zip(found["polos_details"], oracle.scores["itemwise_per_reference"], strict=True):
        np.testing.assert_allclose(note["values"], wanted, rtol=0, atol=1e-5)


def test_texts_over_512_tokens_are_cut(oracle):
    wanted = oracle.scores["too_long_cut_to_512"]["values"]
    rows = oracle.columns([0] * len(wanted))
    rows["predictions"] = [oracle.too_long[size] for size in wanted]
    found = vlgauge.load("polos", keep_in_memory=True, **oracle.settings).compute(**rows)["polos_scores"]
    np.testing.assert_allclose(found, list(wanted.values()), rtol=0, atol=1e-5)


def test_tokens(oracle):
    told = json.loads((oracle.source / "tokens.json").read_text("utf-8"))
    encoder = polos_models.text_encoder_of(str(oracle.text_encoder), profile="paper", device="cpu")
    assert encoder.most_tokens == 512
    found, cut = encoder.token_ids(list(told))
    assert found == [ids[0] if isinstance(ids, list) else ids["roberta"] for ids in told.values()]
    assert not any(cut)
