"""Suites name metrics and keys that exist, under names that no metric has."""

import pytest

import vlgauge
from vlgauge.core.catalog import metric_names, score_title
from vlgauge.core.errors import UsageError
from vlgauge.core.suites import SUITES


def test_no_metric_has_the_name_of_a_suite():
    assert not set(SUITES) & set(metric_names())
    assert all(name == suite.name for name, suite in SUITES.items())


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_metrics_exist_and_columns_have_the_titles_of_cards(suite):
    assert set(suite.metrics) <= set(metric_names())
    for column in suite.columns:
        if column.key in (column.metric, f"ref_{column.metric}") and column.key != "cider":  # papers omit the D
            assert column.title == score_title(column.key)
    assert {column.metric for column in suite.columns} >= {*suite.settings, *suite.needs}


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_not_loaded(name):
    with pytest.raises(UsageError, match=f"'{name}'"):
        vlgauge.load(name)
