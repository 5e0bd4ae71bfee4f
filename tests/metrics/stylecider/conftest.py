"""What the tests of stylecider share."""

import pytest
from style_definition import golden_tables

import vlgauge


@pytest.fixture(scope="session")
def tables():
    """The tables of the golden corpora, by name."""
    return golden_tables()


@pytest.fixture(scope="session")
def load():
    """`load(config, **settings)` loads stylecider."""
    return lambda config=None, **settings: vlgauge.load("stylecider", config, keep_in_memory=True, **settings)


@pytest.fixture
def toy_metric(tables, load):
    """The metric with the table of the toy corpus."""
    return load(table=tables["toy"])
