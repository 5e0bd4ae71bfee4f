"""The setting that selects the tokenizer of captions: a name, or a function of the user.

A metric stores the name, so that worker processes open the tokenizer themselves. All named tokenizers lowercase. The
tokens of "13a" and "intl" contain punctuation, and the others do not.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.torch_runtime import missing_packages
from vlgauge.core.errors import MissingExtraError, UsageError, as_setting
from vlgauge.core.optional_dependencies import importing, version
from vlgauge.core.pool import pool
from vlgauge.core.signatures import signature_value
from vlgauge.core.validation import short_repr, suggest_word, warn
from vlgauge.inputs.text.ptb.tokens import PTB, coco_tokens
from vlgauge.inputs.text.segmenters import open_characters, open_jieba, open_kiwi, open_mecab, open_mteval, open_newmm
from vlgauge.inputs.text.treebank_tokens import treebank_tokens

Tokenizer: TypeAlias = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class _Kind:
    """Tokenizer with a name.

    Attributes:
        open: Returns the tokenizer.
        packages: Packages that it needs, by the name of their module. Signatures contain their versions.
        extra: Extra that installs the packages.
    """

    open: Callable[[], Tokenizer]
    packages: tuple[tuple[str, str], ...] = ()
    extra: str = ""

    def describe_missing(self, user: str) -> str:
        """Return an error message about packages that are not installed. Empty if all are."""
        return missing_packages(user, [module for module, _ in self.packages], self.extra)


_SACREBLEU = (("sacrebleu", "sacrebleu"),)
_KINDS = {
    "ptb": _Kind(lambda: coco_tokens),
    "treebank": _Kind(lambda: treebank_tokens),
    "13a": _Kind(partial(open_mteval, "13a"), _SACREBLEU, "mteval"),
    "intl": _Kind(partial(open_mteval, "intl"), _SACREBLEU, "mteval"),
    "char": _Kind(open_characters),
    "zh": _Kind(open_jieba, (("jieba", "jieba"),), "zh"),
    "ja": _Kind(open_mecab, (("fugashi", "fugashi"), ("unidic_lite", "unidic-lite")), "ja"),
    "th": _Kind(open_newmm, (("pythainlp", "pythainlp"),), "th"),
    "ko": _Kind(open_kiwi, (("kiwipiepy", "kiwipiepy"), ("kiwipiepy_model", "kiwipiepy-model")), "ko"),
}
DEFAULT, TREEBANK = "ptb", "treebank"
NAMES = tuple(_KINDS)
"""Names of the tokenizers: "ptb", the tokens of the COCO caption evaluation, and so on."""
WORD_TOKENIZERS = (DEFAULT, TREEBANK, "13a", "intl")
"""Names of the tokenizers that find words only between spaces and punctuation."""

_OWN_FUNCTIONS = ((DEFAULT, coco_tokens), (TREEBANK, treebank_tokens))
_OWN = {DEFAULT: PTB, TREEBANK: "treebank-1", "char": "char-1"}  # names of our own tokenizers in signatures

# Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese.
_OF_UNPARTED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
_LONG_WORD = 6  # letters; few words have that many such letters, and few captions have fewer
# Names by letters that only one of the languages uses. Japanese comes before Chinese, whose letters it also uses.
_BY_LETTERS = (
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")),
)


def tokenizer_setting(tokenizer: Any, default: str = DEFAULT) -> Tokenizer | str:
    """Check the setting ``tokenizer`` of a metric.

    Args:
        tokenizer: None, a name, or a function from a string to a list or tuple of strings.
        default: Name that None stands for.

    Returns:
        The name or the function.

    Raises:
        UsageError: If it is none of these.
    """
    if tokenizer is None:
        return default
    if callable(tokenizer):
        own: Tokenizer = tokenizer
        return own
    if not (isinstance(tokenizer, str) and tokenizer in NAMES):
        raise UsageError.about(
            "tokenizer",
            f"must be one of {', '.join(map(repr, NAMES))}, or a function from str to list of str, got "
            f"{short_repr(tokenizer)}",
            suggest_word(tokenizer, NAMES) or None if isinstance(tokenizer, str) else None,
        )
    return tokenizer


def check_english(tokenizer: Tokenizer | str, user: str, instead: str) -> None:
    """Check that a tokenizer is not for another language than English. Functions are not checked.

    Args:
        tokenizer: The setting, as `tokenizer_setting` returns it.
        user: Component whose rules or lists are English.
        instead: Imperative that names an alternative.

    Raises:
        UsageError: If it is a tokenizer for another language, or of characters.
    """
    if isinstance(tokenizer, str) and tokenizer in NAMES and tokenizer not in WORD_TOKENIZERS:
        raise UsageError.about(
            "tokenizer",
            f"must be one of {', '.join(map(repr, WORD_TOKENIZERS))} or a function for {user}, which supports English "
            f"only, got {tokenizer!r}",
            instead,
        )


def open_tokenizer(tokenizer: Tokenizer | str) -> Tokenizer:
    """Return the function of a tokenizer. A name is opened once per process.

    Raises:
        MissingExtraError: If a package is not installed.
    """
    if not isinstance(tokenizer, str):
        return tokenizer
    check_installed(tokenizer)
    kind = _KINDS[tokenizer]
    packages = ", ".join(package for _, package in kind.packages)
    with importing(
        f'{as_setting("tokenizer", tokenizer)} requires {packages}; run: pip install "vlgauge[{kind.extra}]"'
    ):
        found: Tokenizer = pool.get(("tokenizer", tokenizer), kind.open)
    return found


def check_installed(tokenizer: Tokenizer | str) -> None:
    """Check that the packages of a tokenizer are installed, without importing them.

    Raises:
        MissingExtraError: If one is not. The message names all of them.
    """
    kind = _KINDS.get(tokenizer) if isinstance(tokenizer, str) else None
    if kind and (problem := kind.describe_missing(as_setting("tokenizer", tokenizer))):
        raise MissingExtraError(problem)


def is_installed(tokenizer: str) -> bool:
    """Return whether the packages of a named tokenizer are installed, without importing them."""
    return not _KINDS[tokenizer].describe_missing("")


def look_for_tokenizer(found: Preflight, tokenizer: Tokenizer | str) -> None:
    """Add the packages of a tokenizer to a preflight check."""
    found.look(lambda: check_installed(tokenizer))


def tokens_name(tokenizer: Tokenizer | str) -> str:
    """Return the name of the tokens in signatures, such as "ptb-3.4.1" or "zh+jieba-0.42.1".

    Raises:
        MissingExtraError: If a package of the tokenizer is not installed.
    """
    if not isinstance(tokenizer, str):
        own = next((name for name, function in _OWN_FUNCTIONS if tokenizer is function), "")
        return _OWN[own] if own else str(signature_value(tokenizer))
    check_installed(tokenizer)
    packages = [f"{package}-{version(package)}" for _, package in _KINDS[tokenizer].packages]
    return _OWN.get(tokenizer) or "+".join((tokenizer, *packages))


def setting_of_tokens(name: str) -> str:
    """Return the name of the tokenizer whose tokens have this name in signatures. Empty if it is not a named one."""
    return next((one for one in NAMES if name in (_OWN.get(one), one) or name.startswith(f"{one}+")), "")


def warn_of_unparted(captions: Iterable[str], names: Collection[str] = NAMES) -> None:
    """Warn if more than one in ten captions is a long single token in a script without spaces between words.

    Args:
        captions: Captions that are split at spaces.
        names: Names of the tokenizers that the metric supports.
    """
    n_captions, unparted = 0, []
    for caption in captions:
        n_captions += 1
        if not caption.isascii() and len(caption.split()) == 1 and len(_OF_UNPARTED.findall(caption)) >= _LONG_WORD:
            unparted.append(caption)
    if 10 * len(unparted) > n_captions:
        ((name, _),) = Counter(map(_language_of, unparted)).most_common(1)
        setting = as_setting("tokenizer", name)
        split = f"set {setting}, " if name in names else ""
        other = "" if not name or split else f", or bleu, cider or rouge_l with {setting}"
        warn(
            f"{len(unparted)} of {n_captions} captions have no spaces between their words, such as "
            f"{short_repr(unparted[0])}, and count as one word each; {split}insert spaces, pass a function that splits "
            f"them as `tokenizer`, or choose chrf{other}"
        )


def _language_of(caption: str) -> str:
    """Return the name of the tokenizer for the script of a caption. Empty if there is none."""
    return next((name for name, letters in _BY_LETTERS if letters.search(caption)), "")


def check_tokenizer(tokenizer: Tokenizer | str) -> Callable[[str], tuple[str, ...]]:
    """Open a tokenizer, and wrap one of the user in a check of its results.

    Returns:
        Function from a caption to its tokens. It raises `UsageError` if the tokenizer does not return a list or tuple
        of strings.
    """
    split = open_tokenizer(tokenizer)

    def tokens(caption: str) -> tuple[str, ...]:
        found = split(caption)
        try:
            # A generator would be exhausted by the check. Joining is the fastest check of the types.
            right = isinstance(found, (list, tuple)) and "".join(found) is not None
        except TypeError:
            right = False
        if not right:
            raise UsageError.about(
                "tokenizer", f"must return a list of str, got {short_repr(found)} for {short_repr(caption)}"
            )
        return tuple(found)

    return tokens
