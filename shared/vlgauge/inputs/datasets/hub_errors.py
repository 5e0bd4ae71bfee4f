"""Conversion of errors of `huggingface_hub` and `datasets` into messages about a dataset."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from vlgauge.checkpoints.hub import hub_requests
from vlgauge.core.errors import NetworkError, UsageError


@contextmanager
def in_words(identity: str) -> Iterator[None]:
    """Convert errors about a dataset into one sentence.

    Raises:
        UsageError: If the dataset is invalid or cannot be opened.
        NetworkError: If the Hub or the connection to it fails.
    """
    from huggingface_hub.utils import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except (UsageError, ImportError, MemoryError):
        raise
    except RevisionNotFoundError as error:
        raise UsageError.about("revision", f"must be an existing commit, branch or tag of {identity!r}") from error
    except (GatedRepoError, RepositoryNotFoundError) as error:
        raise _describe_closed(identity, is_gated=isinstance(error, GatedRepoError)) from error
    except Exception as error:
        if type(error).__name__ == "DatasetNotFoundError":  # from `datasets`, which only workers import
            raise _describe_closed(identity, is_gated="is a gated dataset" in str(error)) from error
        if (failed := _network_error(error, identity)) is not None:
            raise failed from error
        # `datasets` names its files by their paths in the folder of the worker.
        why = " ".join(str(error).replace(f"{os.getcwd()}{os.sep}", "").split())[:200]
        problem = f"must be readable, got {identity!r} ({type(error).__name__}: {why})"
        raise UsageError.about("dataset", problem) from error


def _network_error(error: Exception, identity: str) -> NetworkError | None:
    """Return the error of a failed request, or None if the dataset lacks a file, or has a damaged or invalid one."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    if isinstance(error, FileNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
        return None
    if type(error) is OSError:  # pyarrow raises it for a damaged file, and clients of the network raise subclasses
        return None
    try:
        with hub_requests(identity):
            raise error
    except NetworkError as failed:
        return failed
    except Exception:
        is_cut = isinstance(error, ConnectionError)
        return NetworkError(f"the Hub does not respond for {identity!r}") if is_cut else None


def _describe_closed(identity: str, *, is_gated: bool) -> UsageError:
    if is_gated:
        return UsageError.about(
            "dataset",
            f"must be accessible to you, got {identity!r}, which is gated; accept its terms on its page and pass "
            "your token",
        )
    return UsageError.about(
        "dataset",
        f"must exist on the Hub and be accessible to you, got {identity!r}, which is unknown or private; if it "
        "is private, pass a token with read access",
    )
