"""Scores through `Dataset.map` are bitwise identical to a single call, also those of CIDEr with its own table."""

import apart_cases
import datasets
import pytest

import vlgauge
from vlgauge.families.ngram.cider import DocumentFrequency

ROWS = apart_cases.captioned(12)
SETTINGS = {
    "chrf": {},
    "cider": {"df": DocumentFrequency.from_references(ROWS["references"])},
    "meteor": {},
    "rouge_l": {},
}


@pytest.fixture(autouse=True)
def no_cache_on_disk():
    datasets.disable_caching()
    yield
    datasets.enable_caching()


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore:Parameter 'function'")  # a metric with a table has no fingerprint
def test_batches_of_a_data_set_have_the_scores_of_one_call(name):
    metric = vlgauge.load(name, keep_in_memory=True, progress=False, **SETTINGS[name])

    def scored(batch):
        result = metric.compute(predictions=batch["predictions"], references=batch["references"])
        return {"score": result[f"{name}_scores"]}

    mapped = datasets.Dataset.from_dict(ROWS).map(scored, batched=True, batch_size=5)
    expected = metric.compute(**ROWS)[f"{name}_scores"]
    assert list(map(repr, mapped["score"])) == list(map(repr, expected))
