"""Style tables that the tests of this folder share."""

import pytest
from style_definition import TOY, columns_of, golden_tables

from vlgauge.families.style import StyleTable


@pytest.fixture(scope="session")
def tables():
    """Load the tables of the golden corpora, keyed by name."""
    return golden_tables()


@pytest.fixture(scope="session")
def toy():
    """Return the corpus `toy` with a name, a source and a license."""
    about = {"name": "toy", "source": "ours", "licence": "Apache-2.0"}
    return StyleTable.fit(*columns_of(TOY["corpus"]), **about)


@pytest.fixture
def saved(toy, tmp_path):
    """Its file."""
    path = tmp_path / "toy.parquet"
    toy.save(path)
    return path
