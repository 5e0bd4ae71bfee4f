"""Datasets of a Hub on this machine, and a local server that must never receive a request."""

import pytest
from hub_data_sets import hub_of_data_sets
from local_hub import serve
from made_data_sets import repositories


@pytest.fixture(scope="session")
def within():
    """Yield the URL of a server on the loopback, and the paths of its requests."""
    from http.server import BaseHTTPRequestHandler

    asked = []

    class Within(BaseHTTPRequestHandler):
        def log_message(self, *arguments):
            """Do not log."""

        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

    server, address = serve(Within)
    yield address, asked
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def made(within):
    return repositories(within[0])


@pytest.fixture(scope="module")
def hub(made, tmp_path_factory):
    """Yield the Hub of a file of tests, with an initially empty cache. Tests of other folders are offline."""
    with hub_of_data_sets(tmp_path_factory.mktemp("home"), **made) as served:
        yield served
