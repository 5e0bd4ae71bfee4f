"""Training captions, with which sampled captions are compared."""

import hashlib
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import TypeAlias

from vlgauge.core.errors import UsageError
from vlgauge.core.files import existing_file
from vlgauge.core.validation import as_list
from vlgauge.core.validation import plain_text
from vlgauge.core.validation import short_repr
from vlgauge.inputs.tables.files import read_rows
from vlgauge.inputs.tables.files import rows_called

Tokens: TypeAlias = tuple[str, ...]

NAME = "training_captions"
# Columns of a file, the first that a row has.
COLUMNS = ("references", "captions", "caption", "predictions")


@dataclass(frozen=True)
class TrainingCaptions:
    """Distinct captions of a training set.

    Attributes:
        tokens: Tokens of each caption.
        identity: Name in signatures.
    """

    tokens: frozenset[Tokens]
    identity: str


def check_training_captions(captions: Any) -> Any:
    """Check the setting ``training_captions``.

    Args:
        captions: None, the path of a file, or a list of captions.

    Returns:
        The setting, a list of plain strings if it is a list.

    Raises:
        UsageError: If it is none of these.
    """
    if captions is None:
        return None
    if isinstance(captions, str | Path):
        return str(
            existing_file(NAME, captions, "an existing file or a list of captions", "give one caption as [caption]")
        )
    texts = as_list(captions)
    if not texts:
        raise UsageError.about(NAME, f"must be a path or a list of at least one caption, got {short_repr(captions)}")
    return [plain_text(text, f"{NAME}[{i}]", "a caption (str)") for i, text in enumerate(texts)]


def training_captions(setting: Any, tokenizer: Callable[[str], Sequence[str]]) -> TrainingCaptions:
    """Tokenize the captions of the setting.

    Args:
        setting: Path or list, validated by `check_training_captions`.
        tokenizer: Splits a caption into tokens.

    Raises:
        UsageError: If a row of the file has no captions, or no caption has a word.
    """
    texts = setting if isinstance(setting, list) else captions_of_file(str(setting))
    tokens = frozenset(tuple(tokenizer(text)) for text in dict.fromkeys(texts))
    if not any(tokens):
        raise UsageError.about(NAME, f"must have a caption with a word, got none in {short_repr(setting)}")
    source = "given" if isinstance(setting, list) else Path(setting).name
    digest = hashlib.sha256("\n".join(sorted(map(" ".join, tokens))).encode("utf-8", "surrogatepass")).hexdigest()
    return TrainingCaptions(tokens, f"{source}@{digest[:8]}")


def captions_of_file(path: str) -> list[str]:
    """Return the captions of a text file with one caption per line, a table, or annotations of COCO."""
    found: list[str] = []
    with rows_called(f"`{NAME}`"):
        rows = read_rows(path)
    for number, row in enumerate(rows):
        title = next((title for title in COLUMNS if title in row), None)
        cell = None if title is None else row[title]
        own: Iterable[Any] = [cell] if isinstance(cell, str) else cell if isinstance(cell, list) else [None]
        if not all(isinstance(text, str) for text in own):
            raise UsageError.about(
                NAME,
                f"must be a file with one caption per line, annotations of COCO, or a table with a column "
                f"{' or '.join(COLUMNS)}, got {short_repr(row)} in row {number} of {path!r}",
            )
        found += own
    return found
