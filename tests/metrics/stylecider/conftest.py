"""Fixtures of the tests of stylecider."""

import pytest
from style_definition import golden_tables

import vlgauge


@pytest.fixture(scope="session")
def tables():
    """Tables of the golden corpora, keyed by name."""
    return golden_tables()


@pytest.fixture(scope="session")
def load():
    """Function `load(config, **settings)` that loads stylecider."""
    return lambda config=None, **settings: vlgauge.load("stylecider", config, keep_in_memory=True, **settings)


@pytest.fixture
def toy_metric(tables, load):
    """The metric with the table of the corpus `toy`."""
    return load(table=tables["toy"])
