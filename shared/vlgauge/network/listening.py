"""Whether anybody listens at an address, asked before a library that would try for minutes."""

import socket

from vlgauge.network import answer_seconds


def check_listening(host: str, port: int) -> None:
    """Open a connection and close it.

    Raises:
        OSError: If nobody takes it in time.
    """
    socket.create_connection((host, port), timeout=answer_seconds()).close()
