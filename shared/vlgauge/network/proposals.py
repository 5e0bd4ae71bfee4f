"""What is sent to the Hub: pull requests, which people look at before they count."""

from __future__ import annotations

from collections.abc import Mapping

from vlgauge.network import hub_requests
from vlgauge.network.answers import NetworkError, offline


def refuse_offline() -> None:
    """NetworkError if an offline switch is set; nothing is asked then."""
    if offline():
        raise NetworkError("an offline switch is set: unset HF_HUB_OFFLINE and HF_EVALUATE_OFFLINE to send something")


def open_pull_request(kind: str, repository: str, files: Mapping[str, bytes], message: str) -> str:
    """Propose files for a repository; returns the address of the pull request.

    The token is the one that the Hub's client finds.

    Args:
        kind: "model" or "dataset".
        repository: Its id.
        files: Content by path.
        message: Title of the pull request.

    Raises:
        NetworkError: If an offline switch is set, or the Hub refuses.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    refuse_offline()
    operations = [CommitOperationAdd(path_in_repo=path, path_or_fileobj=content) for path, content in files.items()]
    with hub_requests():
        commit = HfApi().create_commit(repository, operations, commit_message=message, repo_type=kind, create_pr=True)
    return commit.pr_url or commit.commit_url
