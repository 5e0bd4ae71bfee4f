"""Pull requests on the Hub, which maintainers review before they are merged."""

from collections.abc import Iterable, Mapping

from vlgauge.checkpoints.hub import NOT_FOUND, hub_requests, offline
from vlgauge.core.errors import NetworkError


def check_online() -> None:
    """Check that no offline switch is set, without network access.

    Raises:
        NetworkError: If an offline switch is set.
    """
    if offline():
        raise NetworkError("offline mode is enabled; unset HF_HUB_OFFLINE and HF_EVALUATE_OFFLINE to upload")


def files_there(kind: str, repository: str) -> list[str]:
    """Return the paths of the files in a repository. Empty if the repository does not exist.

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
    """Open a pull request that adds or removes files of a repository, with the token of the Hub's client.

    Args:
        kind: "model", "dataset" or "space".
        repository: Id of the repository.
        files: Content by path.
        message: Commit message.
        removed: Paths of files to remove.

    Returns:
        URL of the pull request.

    Raises:
        NetworkError: If an offline switch is set, or the Hub rejects the request.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    check_online()
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        CommitOperationAdd(path_in_repo=path, path_or_fileobj=content) for path, content in files.items()
    ]
    operations += [CommitOperationDelete(path_in_repo=path) for path in removed]
    with hub_requests():
        commit = HfApi().create_commit(repository, operations, commit_message=message, repo_type=kind, create_pr=True)
    return commit.pr_url or commit.commit_url
