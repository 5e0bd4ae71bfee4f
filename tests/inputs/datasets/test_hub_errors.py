"""Messages about datasets that cannot be opened."""

import os

import pytest

from vlgauge.core.errors import NetworkError, UsageError
from vlgauge.inputs.datasets.hub_errors import in_words


def test_a_missing_data_file_is_named_without_the_folder_of_the_worker():
    with pytest.raises(UsageError, match=r"got 'me/x' \(FileNotFoundError: no data file at me/x\)$"), in_words("me/x"):
        raise FileNotFoundError(f"no data file at {os.getcwd()}/me/x")


@pytest.mark.parametrize("error", [ConnectionError, ConnectionResetError, TimeoutError])
def test_a_broken_connection_is_no_damaged_file(monkeypatch, error):
    monkeypatch.setattr("vlgauge.checkpoints.hub.offline", lambda: False)
    with pytest.raises(NetworkError, match="cannot be reached"), in_words("me/x"):
        raise error("server disconnected")
