"""What the Hub and `datasets` say of a data set, in words."""

from collections.abc import Iterator
from contextlib import contextmanager

from vlgauge.errors import NetworkError, UsageError
from vlgauge.network import hub_requests, misread


@contextmanager
def in_words(identity: str) -> Iterator[None]:
    """Faults of a data set as one sentence.

    Raises:
        ValueError: If the data set is at fault.
        NetworkError: If the Hub or the way to it is.
    """
    from huggingface_hub.utils import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except (ValueError, NetworkError) as error:
        is_own = str(error).startswith(("`", "a picture or clip "))
        if isinstance(error, ValueError) and (misread(error) or not is_own):
            raise _unreadable(identity, error) from error
        raise
    except RevisionNotFoundError as error:
        raise UsageError.about(
            "revision", f"must be a commit, branch or tag of {identity!r}, which has no such one"
        ) from error
    except (GatedRepoError, RepositoryNotFoundError) as error:
        raise _closed(identity, is_gated=isinstance(error, GatedRepoError)) from error
    except RuntimeError as error:
        if "script" in str(error):
            raise UsageError.about("dataset", f"must have data files, got {identity!r}, which is a script") from error
        raise _unreadable(identity, error) from error
    except ImportError:  # of a version, which is no fault of the data set
        raise
    except Exception as error:
        if type(error).__name__ == "DatasetNotFoundError":  # of `datasets`, which only a child imports
            raise _closed(identity, is_gated="is a gated dataset" in str(error)) from error
        if any(kind.__module__.partition(".")[0] in ("httpx", "httpx2") for kind in type(error).__mro__):
            with hub_requests():  # which says it in words
                raise
        if isinstance(error, ConnectionError):
            raise NetworkError(f"the Hub does not answer for {identity!r}") from error
        raise _unreadable(identity, error) from error


def _closed(identity: str, *, is_gated: bool) -> ValueError:
    if is_gated:
        return UsageError.about(
            "dataset",
            f"must be open to you, got {identity!r}, which is gated; accept its terms on its page and "
            "open it with the token of who did so",
        )
    return UsageError.about(
        "dataset",
        f"must be on the Hub and open to you, got {identity!r}, which is unknown or private; if it is "
        "private, open it with a token that may read it",
    )


def _unreadable(identity: str, error: Exception) -> Exception:
    told = " ".join(str(error).split())[:200]
    unreadable = ValueError(f"`dataset` must be readable, got {identity!r} ({type(error).__name__}: {told})")
    return misread(error, identity) or unreadable
