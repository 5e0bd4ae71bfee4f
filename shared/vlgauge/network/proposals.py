"""What is sent to the Hub: pull requests, which people look at before they count."""

from collections.abc import Iterable, Mapping

from vlgauge.errors import NetworkError
from vlgauge.network import NOT_FOUND, hub_requests, offline


def refuse_offline() -> None:
    """NetworkError if an offline switch is set; nothing is asked then."""
    if offline():
        raise NetworkError("an offline switch is set: unset HF_HUB_OFFLINE and HF_EVALUATE_OFFLINE to send something")


def files_there(kind: str, repository: str) -> list[str]:
    """Paths of the files in a repository; none if the Hub has no such one, which tells whoever sends something.

    Raises:
        NetworkError: If the Hub cannot be asked.
    """
    from huggingface_hub import HfApi

    try:
        with hub_requests():
            return HfApi().list_repo_files(repository, repo_type=kind)
    except NetworkError as error:
        if error.status != NOT_FOUND:
            raise
        return []


def open_pull_request(
    kind: str, repository: str, files: Mapping[str, bytes], message: str, removed: Iterable[str] = ()
) -> str:
    """Propose files for a repository; returns the address of the pull request.

    The token is the one that the Hub's client finds.

    Raises:
        NetworkError: If an offline switch is set, or the Hub refuses.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    refuse_offline()
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        CommitOperationAdd(path_in_repo=path, path_or_fileobj=content) for path, content in files.items()
    ]
    operations += [CommitOperationDelete(path_in_repo=path) for path in removed]
    with hub_requests():
        commit = HfApi().create_commit(repository, operations, commit_message=message, repo_type=kind, create_pr=True)
    return commit.pr_url or commit.commit_url
