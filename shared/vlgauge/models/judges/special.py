"""Special tokens that are spelled in captions, split so that a caption cannot end a turn or insert an image."""

import re
from collections.abc import Sequence
from typing import Any

from vlgauge.core.errors import UsageError

# Template tokens that are not declared as special in the files, such as "<tool_call>".
_MARKED = re.compile(r"<.+>|\[.+\]", re.DOTALL)


class SpecialTokens:
    """Special tokens of a tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        special = set(tokenizer.all_special_ids)
        self._ids = {
            number
            for number, token in tokenizer.added_tokens_decoder.items()
            if token.special or number in special or _MARKED.fullmatch(token.content)
        } | special
        spelled = {tokenizer.convert_ids_to_tokens(number) for number in self._ids}
        unknown = tokenizer.unk_token_id
        if unknown not in (tokenizer.bos_token_id, tokenizer.eos_token_id):
            self._ids.discard(unknown)  # T5 also uses it for unknown characters, such as emojis
        longest_first = sorted((re.escape(token) for token in spelled if token and token.strip()), key=len)[::-1]
        self._spelled = re.compile("|".join(longest_first)) if longest_first else re.compile(r"(?!)")

    def are_in(self, text: str) -> bool:
        """Return whether a text spells a special token."""
        return self._spelled.search(text) is not None

    def escape_special_tokens(self, text: str) -> str:
        """Return the text with a space after the first character of each special token.

        Raises:
            ValueError: If the text still contains a special token.
        """
        safe = text
        while (found := self._spelled.search(safe)) is not None and len(found.group()) > 1:
            at = found.start() + 1
            safe = f"{safe[:at]} {safe[at:]}"
        if self._ids.intersection(self.plain_ids(safe)):
            raise UsageError(
                f"a caption must not contain a special token of the model, got {text[:80]!r}; remove it from the "
                "caption"
            )
        return safe

    def plain_ids(self, text: str) -> Sequence[int]:
        """Return the token ids of a text, without the tokens that the tokenizer adds around it."""
        return self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
