"""Quick check whether a server listens at an address, before a library that would retry for minutes."""

import socket

from vlgauge.checkpoints.hub import answer_seconds


def check_listening(host: str, port: int) -> None:
    """Check that a server accepts connections by opening and closing one.

    Raises:
        OSError: If no server accepts the connection before the timeout.
    """
    socket.create_connection((host, port), timeout=answer_seconds()).close()
