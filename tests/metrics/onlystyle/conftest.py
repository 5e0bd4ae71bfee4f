"""What the tests of onlystyle share."""

import pytest
from style_definition import golden_tables

import vlgauge


@pytest.fixture(scope="session")
def tables():
    """The tables of the golden corpora, by name."""
    return golden_tables()


@pytest.fixture(scope="session")
def load():
    """`load(config, **settings)` loads onlystyle."""
    return lambda config=None, **settings: vlgauge.load("onlystyle", config, keep_in_memory=True, **settings)
