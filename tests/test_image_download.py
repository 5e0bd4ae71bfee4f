"""Images from addresses: only where a script allows it, from public hosts, bounded in bytes, time and redirects."""

import io
import socket
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer

import pytest
from PIL import Image

from vlgauge import image_download
from vlgauge.image_download import downloaded_image
from vlgauge.image_download import is_public
from vlgauge.images import image_cell
from vlgauge.images import open_image

PLACE = "images[3]"


def png():
    stream = io.BytesIO()
    Image.new("RGB", (3, 2), (1, 2, 3)).save(stream, "PNG")
    return stream.getvalue()


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        status, headers, body = self.server.answers[self.path]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for piece in body:
                self.wfile.write(piece)
                self.wfile.flush()
                if self.server.pause:
                    time.sleep(self.server.pause)
        except OSError:
            pass  # the reader has had enough

    def log_message(self, *arguments):
        pass


class PlainContext:
    """In place of TLS: remembers whose certificate was wanted."""

    def __init__(self):
        self.names = []

    def wrap_socket(self, sock, server_hostname):
        self.names.append(server_hostname)
        return sock


@pytest.fixture
def host(monkeypatch):
    """A server on the loopback that stands for a public one, spoken to without TLS."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.answers, server.asked, server.pause = {}, [], 0
    server.context = PlainContext()
    port = server.server_address[1]
    server.url = f"https://pictures.example:{port}"
    server.looked_up = []

    def look_up(name, port, *_, **__):
        server.looked_up.append(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(image_download.socket, "getaddrinfo", look_up)
    monkeypatch.setattr(image_download, "is_public", lambda address: address == "127.0.0.1")
    monkeypatch.setattr(image_download.ssl, "create_default_context", lambda: server.context)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_address_is_downloaded_where_a_script_allows_it(host):
    data = png()
    host.answers["/a%20b.png?size=1"] = (200, {"Content-Length": str(len(data))}, [data])
    cell = image_cell(f"{host.url}/a%20b.png?size=1", PLACE, allow_urls=True)
    assert cell == {"bytes": data, "path": None}
    assert open_image(cell, PLACE).getpixel((0, 0)) == (1, 2, 3)
    assert host.context.names == ["pictures.example"]
    ((_, headers),) = host.asked
    assert headers["Host"] == host.url.removeprefix("https://")
    assert headers["User-Agent"] == "vlgauge"


def test_nothing_is_downloaded_otherwise(no_sockets):
    with pytest.raises(ValueError, match=r"must be a local file, got the address 'https://a.example/b.png'; download"):
        image_cell("https://a.example/b.png", PLACE)
    with pytest.raises(ValueError, match="must be a local file"):
        image_cell({"path": "https://a.example/b.png"}, PLACE, allow_urls=True)
    assert no_sockets == []


def test_paths_stay_paths_where_addresses_are_allowed(tmp_path):
    (tmp_path / "a.png").write_bytes(png())
    assert image_cell(str(tmp_path / "a.png"), PLACE, allow_urls=True)["path"] == str(tmp_path / "a.png")


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/b.png",
        "file:///etc/passwd",
        "ftp://a.example/b.png",
        "data:image/png;base64,AAAA",
        "https:///b.png",
        "https://user:secret@a.example/b.png",
        "https://a.example:0/b.png",
        "https://a.example:99999/b.png",
        "https://[::1/b.png",
        "https://a.example/a b.png",
        "https://a.example/\u00e4.png",
        "https://a.example/a\r\nHost: b.example",
    ],
)
def test_only_plain_https_addresses(url, no_sockets):
    with pytest.raises(ValueError, match=r"^`images\[3\]` must be an address such as https://host/image.png without"):
        image_cell(url, PLACE, allow_urls=True)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fd00::1",
        "ff02::1",
        "::ffff:8.8.8.8",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::7f00:1",
        "2002:7f00:1::1",
        "2001:0:53aa:64c::1",
    ],
)
def test_private_addresses(address, monkeypatch, no_sockets):
    assert not is_public(address)
    found = [(0, 0, 0, "", ("8.8.8.8", 443)), (0, 0, 0, "", (address, 443))]
    monkeypatch.setattr(image_download.socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(ValueError, match=f"must have a host of the public internet, got .*, which is at {address}; "):
        downloaded_image("https://a.example/b.png", PLACE)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111"])
def test_public_addresses(address):
    assert is_public(address)


def test_unknown_host(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror("no such name")

    monkeypatch.setattr(image_download.socket, "getaddrinfo", unknown)
    with pytest.raises(ValueError, match=r"must have a host that is known, got 'https://a.example/b' \(error: no such"):
        downloaded_image("https://a.example/b", PLACE)


def test_the_checked_address_is_the_one_connected_to(host):
    data = png()
    host.answers["/a.png"] = (200, {}, [data])
    assert downloaded_image(f"{host.url}/a.png", PLACE) == data
    assert host.looked_up == ["pictures.example", "127.0.0.1"]


def test_the_certificate_is_checked(host, monkeypatch):
    monkeypatch.setattr(image_download.ssl, "create_default_context", lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    with pytest.raises(ValueError, match=r"must be an image to download, got .* \(error: SSLError"):
        downloaded_image(f"{host.url}/a.png", PLACE)


def test_the_default_context_wants_a_certificate_of_the_host():
    context = ssl.create_default_context()
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED


def test_a_redirect_to_the_same_host_is_followed(host):
    data = png()
    host.answers["/old"] = (302, {"Location": "/new.png"}, [])
    host.answers["/new.png"] = (200, {}, [data])
    assert downloaded_image(f"{host.url}/old", PLACE) == data


@pytest.mark.parametrize("goal", ["https://other.example/a.png", "https://pictures.example/a.png", "//other.example/a"])
def test_a_redirect_elsewhere_is_refused(host, goal):
    host.answers["/old"] = (301, {"Location": goal}, [])
    with pytest.raises(ValueError, match=r"must be at the host that its address names, got .*, which redirects to"):
        downloaded_image(f"{host.url}/old", PLACE)
    assert len(host.asked) == 1


def test_a_redirect_to_http_is_refused(host):
    host.answers["/old"] = (301, {"Location": host.url.replace("https", "http")}, [])
    with pytest.raises(ValueError, match="must be an address such as https://"):
        downloaded_image(f"{host.url}/old", PLACE)


def test_redirects_in_a_circle_end(host):
    host.answers["/old"] = (307, {"Location": "/old"}, [])
    with pytest.raises(ValueError, match="which redirects 3 times"):
        downloaded_image(f"{host.url}/old", PLACE)
    assert len(host.asked) == 4


def test_another_answer_than_an_image(host):
    host.answers["/a.png"] = (404, {}, [b"no"])
    with pytest.raises(ValueError, match=r"`images\[3\]` must be an image to download, got .*, which answers 404$"):
        downloaded_image(f"{host.url}/a.png", PLACE)


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "2000"}])
def test_too_many_bytes(host, monkeypatch, headers):
    monkeypatch.setattr(image_download, "MAX_BYTES", 1000)
    host.answers["/a.png"] = (200, headers, [b"x" * 2000])
    with pytest.raises(ValueError, match="must be at most 1000 bytes, got more from"):
        downloaded_image(f"{host.url}/a.png", PLACE)
    host.answers["/b.png"] = (200, {}, [b"x" * 1000])
    assert len(downloaded_image(f"{host.url}/b.png", PLACE)) == 1000


def test_an_answer_that_ends_early(host):
    host.answers["/a.png"] = (200, {"Content-Length": "2000"}, [b"x" * 10])
    with pytest.raises(ValueError, match=r"must be an image to download, got .* \(error: IncompleteRead"):
        downloaded_image(f"{host.url}/a.png", PLACE)


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "500"}])
def test_a_host_that_drips(host, monkeypatch, headers):
    monkeypatch.setattr(image_download, "SECONDS", 0.3)
    host.pause = 0.02
    host.answers["/a.png"] = (200, headers, [b"x"] * 500)
    with pytest.raises(ValueError, match=r"must be an image that comes within 0.3 s, got"):
        downloaded_image(f"{host.url}/a.png", PLACE)


def test_no_bytes(host):
    host.answers["/a.png"] = (200, {"Content-Length": "0"}, [])
    with pytest.raises(ValueError, match="must be the bytes of an image file, got no bytes"):
        image_cell(f"{host.url}/a.png", PLACE, allow_urls=True)
