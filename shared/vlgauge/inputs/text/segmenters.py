"""Tokenizers that other packages implement, and characters. Each is opened once per process."""

import logging
import tempfile
import threading
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

Segmenter = Callable[[str], list[str]]


def open_mteval(name: str) -> Segmenter:
    """Return the tokenization of mteval as sacrebleu computes it with ``lowercase=True``.

    Args:
        name: "13a" (mteval-v13a) or "intl" (mteval-v14 with international tokenization).
    """
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International

    split = Tokenizer13a() if name == "13a" else TokenizerV14International()
    # sacrebleu removes whitespace at the end before it tokenizes.
    return lambda text: split(text.rstrip().lower()).split()


def open_characters() -> Segmenter:
    """Return a function that splits a text into its characters in form NFC."""
    return lambda text: _words(unicodedata.normalize("NFC", text))


def open_jieba() -> Segmenter:
    """Return the words of jieba with its bundled dictionary, in accurate mode and with new words."""
    import jieba

    # An own instance has no words that the user added to the shared one.
    tokenizer = jieba.Tokenizer()
    logger = logging.getLogger("jieba")
    level = logger.level
    # By default jieba reads and writes a file of a fixed name in the common temporary folder, and logs each step.
    with tempfile.TemporaryDirectory(prefix="vlgauge-jieba-") as folder:
        tokenizer.tmp_dir = folder
        try:
            jieba.setLogLevel(logging.CRITICAL)
            tokenizer.initialize()
        finally:
            jieba.setLogLevel(level)
    return partial(_segment, tokenizer.cut)


def open_mecab() -> Segmenter:
    """Return the short unit words of MeCab (fugashi) with the dictionary unidic-lite."""
    import fugashi
    import unidic_lite

    # Without these arguments fugashi prefers the package unidic, if it is installed.
    tagger = fugashi.Tagger(f'-d "{unidic_lite.DICDIR}" -r "{unidic_lite.DICDIR}/mecabrc"')
    lock = threading.Lock()  # a tagger holds the state of one sentence

    def surfaces(text: str) -> list[str]:
        with lock:
            return [node.surface for node in tagger(text)]

    return partial(_segment, surfaces)


def open_newmm() -> Segmenter:
    """Return the words of pythainlp's newmm with its bundled dictionary."""
    from pythainlp.tokenize import word_tokenize

    return partial(_segment, partial(word_tokenize, engine="newmm", keep_whitespace=False))


def open_kiwi() -> Segmenter:
    """Return the morphemes of Kiwi (kiwipiepy) with its bundled model."""
    import kiwipiepy

    with warnings.catch_warnings():
        # Kiwi warns that 0 meant something else before 0.21. A forked process would wait for ever for the threads of
        # another number.
        warnings.simplefilter("ignore", DeprecationWarning)
        kiwi = kiwipiepy.Kiwi(num_workers=0)
    lock = threading.Lock()

    def morphemes(text: str) -> list[str]:
        with lock:
            return [token.form for token in kiwi.tokenize(text)]

    return partial(_segment, morphemes)


def _segment(segment: Callable[[str], Iterable[str]], text: str) -> list[str]:
    # MeCab reads a text up to its first zero byte.
    return _words(segment(unicodedata.normalize("NFC", text.replace("\0", " "))))


def _words(tokens: Iterable[str]) -> list[str]:
    """Return lowercase tokens without whitespace, and without punctuation at their ends."""
    return [word for token in tokens for piece in token.lower().split() if (word := _without_marks(piece))]


@lru_cache(2**16)
def _without_marks(token: str) -> str:
    """Return a token without punctuation and invisible characters at its ends. Empty if it has no others."""
    kept = [place for place, character in enumerate(token) if unicodedata.category(character)[0] not in "PCZ"]
    return token[kept[0] : kept[-1] + 1] if kept else ""
