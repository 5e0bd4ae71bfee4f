"""Requests that another process makes through this one."""

from collections.abc import Mapping
from typing import Any


def hub_answer(method: str, path: str, headers: Mapping[str, str], body: bytes, token: str | bool | None) -> Any:
    """Return an open response of the Hub to a request that its client made in another process.

    Args:
        method: GET, HEAD or POST.
        path: Path at the Hub, from a slash on.
        headers: Headers of the request, without a token.
        body: Body of the request.
        token: Token of a user, None for the token of this machine, False for none.
    """
    from huggingface_hub import constants
    from huggingface_hub.utils import build_hf_headers, get_session

    session = get_session()
    every = {**build_hf_headers(token=token), **headers}
    request = session.build_request(
        method, f"{constants.ENDPOINT.rstrip('/')}{path}", headers=every, content=body or None
    )
    # The headers of a large file are those of the Hub itself.
    return session.send(request, stream=True, follow_redirects=method != "HEAD")
