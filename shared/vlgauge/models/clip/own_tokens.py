"""Tokenizer of SigLIP 2, which lowercases texts and pads them to the context."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.lean_imports import lean_import
from vlgauge.core.optional_dependencies import importing

PADDING, END = 0, 1
_SPECIAL = {"<pad>": PADDING, "<eos>": END}


class SiglipTokenizer:
    """Tokenizer of a file of the model: the ids of the text, the end token, and padding up to the context."""

    def __init__(self, file: Path, context: int, n_rows: int, *, canonical: bool = False) -> None:
        with importing('SigLIP 2 requires more packages; run: pip install "vlgauge[clip]"'):
            from tokenizers import Tokenizer

        self.context = context
        self._canonical = canonical
        try:
            self._tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises only this class
            raise UsageError.about(
                "weights",
                f"must have the tokenizer of the model next to them, got {str(file)!r}, which fails with: {error}",
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        found = {name: self._tokenizer.token_to_id(name) for name in _SPECIAL}
        n_tokens = self._tokenizer.get_vocab_size()
        if found != _SPECIAL or n_tokens > n_rows:
            raise UsageError.about(
                "weights",
                f"must have their tokenizer next to them, with <pad> 0, <eos> 1 and at most {n_rows} tokens, got "
                f"the tokenizer of another model in {str(file)!r}: <pad> {found['<pad>']}, <eos> "
                f"{found['<eos>']}, {n_tokens} tokens",
            )

    def __call__(self, texts: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray]:
        """Tokenize texts.

        Returns:
            Ids of each text, shape ``(context,)``, int32, and whether it was truncated, shape ``(n_texts,)``.
        """
        known = {text: self._ids(text) for text in dict.fromkeys(texts)}
        cut = np.array([len(known[text]) >= self.context for text in texts], dtype=bool)
        rows = {text: self._pad(ids) for text, ids in known.items()}
        return [rows[text] for text in texts], cut

    def too_long(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts have more tokens than the context, including the end token, shape ``(n_texts,)``."""
        return np.array([len(self._ids(text)) >= self.context for text in texts], dtype=bool)

    def contains_special_token(self, text: str) -> bool:
        """Return False, because no special spelling is known that requires a warning."""
        return False

    def _ids(self, text: str) -> list[int]:
        """Return the ids of the words of a text, without the end token."""
        return self._tokenizer.encode(self._clean(text), add_special_tokens=False).ids

    def _clean(self, text: str) -> str:
        # The tokenizer does not accept lone surrogates.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not self._canonical:
            return text.lower()
        lean_import("open_clip")
        from open_clip.tokenizer import get_clean_fn

        return get_clean_fn("canonicalize")(text)

    def _pad(self, ids: list[int]) -> np.ndarray:
        row = np.full(self.context, PADDING, dtype=np.int32)
        kept = [*ids[: self.context - 1], END]
        row[: len(kept)] = kept
        return row
