"""Tokenizer of SigLIP 2, which lowercases texts and pads them to the context."""

from pathlib import Path

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.lean_imports import lean_import
from vlgauge.core.optional_dependencies import importing
from vlgauge.models.clip.tokens import Tokens

PADDING, END = 0, 1
_SPECIAL = {"<pad>": PADDING, "<eos>": END}


class SiglipTokenizer(Tokens):
    """Tokenizer of a file of the model: the ids of the text, the end token, and padding up to the context."""

    def __init__(self, file: Path, context: int, n_rows: int, *, canonical: bool = False) -> None:
        with importing('SigLIP 2 requires more packages; run: pip install "vlgauge[clip]"'):
            from tokenizers import Tokenizer

        super().__init__(context)
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

    def _ids(self, text: str) -> list[int]:
        return [*self._tokenizer.encode(self._clean(text), add_special_tokens=False).ids, END]

    def _row(self, ids: list[int]) -> np.ndarray:
        kept = super()._row(ids)
        return np.pad(kept, (0, self.context - len(kept)), constant_values=PADDING)

    def _clean(self, text: str) -> str:
        # The tokenizer does not accept lone surrogates.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not self._canonical:
            return text.lower()
        lean_import("open_clip")
        from open_clip.tokenizer import get_clean_fn

        return get_clean_fn("canonicalize")(text)
