"""Files with random changes from a fixed seed: no crash and no hang in this process, and one-line error messages."""

import pytest
from changed_files import FORMATS, check, read_changed

from vlgauge.inputs.sandbox import use_sandbox

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*more than one frame"),
    pytest.mark.filterwarnings("ignore:.*ended before their stated end"),
]


def fuzz(name, rounds, folder):
    """Return the observations while changed files of a format are read."""
    made, read = FORMATS[name]
    data = made(folder) if callable(made) else made
    path = folder / f"file.{name.rpartition('.')[2]}"

    def read_written(content):
        path.write_bytes(content)
        read(path)

    with use_sandbox():
        read_written(data)  # a child is there, and the file as it was is read
        found = read_changed(data, rounds, name, read_written)
    check(found, folder)
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_some_changed_files(name, tmp_path):
    fuzz(name, 5, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_two_hundred_changed_files(name, tmp_path):
    assert len(fuzz(name, 200, tmp_path).refused) > 10
