"""Fixtures of the tests of onlystyle."""

import pytest
from style_definition import golden_tables

import vlgauge


@pytest.fixture(scope="session")
def tables():
    """Tables of the golden corpora, keyed by name."""
    return golden_tables()


@pytest.fixture(scope="session")
def load():
    """Function `load(config, **settings)` that loads onlystyle."""
    return lambda config=None, **settings: vlgauge.load("onlystyle", config, keep_in_memory=True, **settings)
