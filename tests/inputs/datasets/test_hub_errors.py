"""Messages about datasets that cannot be opened."""

import os

import pytest

from vlgauge.core.errors import UsageError
from vlgauge.inputs.datasets.hub_errors import in_words


def test_a_missing_data_file_is_named_without_the_folder_of_the_worker():
    with pytest.raises(UsageError, match=r"got 'me/x' \(FileNotFoundError: no data file at me/x\)$"), in_words("me/x"):
        raise FileNotFoundError(f"no data file at {os.getcwd()}/me/x")
