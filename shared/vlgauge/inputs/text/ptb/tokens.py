"""Tokens of a caption as in the COCO caption evaluation.

COCO runs PTBTokenizer of Stanford CoreNLP 3.4.1 (`-preserveLines -lowerCase`) and drops punctuation. `ptb_tokens`
returns the same tokens without Java, for a caption that is followed by an unrelated line.

A text is split at spaces and the tokens of each piece are cached, because nearly all tokens are independent of the text
after the next space. Pieces with tokens that may depend on it are scanned together.
"""

import re
from collections.abc import Sequence
from itertools import chain

from vlgauge.inputs.text.ptb.characters import DIGIT, STAND_INS
from vlgauge.inputs.text.ptb.far_rules import far_starts
from vlgauge.inputs.text.ptb.rules import ABBREVIATIONS, RULES, Rule

PTB = "ptb-3.4.1"
"""Name of the tokens of the COCO caption evaluation in signatures."""

# Tokens that COCO drops after lowercasing. Its list contains "-LRB-" and similar tokens only in uppercase, so they are
# kept. It also contains "--" and "...", for which the rules print an empty token.
_DROPPED = frozenset(["", "''", "'", "``", "`", ".", "?", "!", ",", ":", "-", ";"])

_FUSED = {
    "cannot": ("can", "not"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "lemme": ("lem", "me"),
    "gimme": ("gim", "me"),
    "wanna": ("wan", "na"),
}
# Letters that form a separate token, except for the fused words above.
_LETTERS_ALONE = re.compile('[A-Za-z]+(?=[ \\n"(){}|<>]|[,;:!?][ \\n])')
_SPACES = frozenset(" \t\xa0\u3000").union(map(chr, range(0x2000, 0x200B)))
_BEYOND_16_BITS = re.compile("[\U00010000-\U0010ffff]")
# Java looks past a hyphen and digits for the end of a Greek word, but Python does not.
_MEDIAL_SIGMA = re.compile("\u03a3(?=(?:[-_\u058a\u2010\u2011]|\\d+)[A-Za-z\xc0-\u024f\u0370-\u052f\u1e00-\u1fff])")
_LONG_TEXT = 400  # characters; for longer texts a lookahead costs more than the pass that avoids it

# Pieces that need no rules: a word with a mark, with 's and a mark, or hyphenated with a mark.
_SIMPLE_PIECE = re.compile(
    "([A-Za-z]+)(?:[,;:!?]?|(\\.)|('s)[,.;:!?]?)|([A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+)[,;:!?]?"
)
# Matches a tag that contains a space, the smiley that extends to "<>]", or whitespace that may be part of a token.
_OPEN = re.compile(
    "<(?![^<>'\"]*>)|\\[\\^|[\\x1c-\\x1f\\t\\r\\x0b\\x0c\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]"
)
_BEFORE_LTD = re.compile("(?i:pt)[EY]\\.\\Z")
# Spaces inside tokens, or in rules that look past a space (phone numbers, fractions, No. 5, ". . ."), and all other
# spaces.
_OVER_A_SPACE = re.compile("[0-9).] [0-9]|\\. \\.")
_BETWEEN_PIECES = re.compile(" (?:(?![0-9.])|(?<![0-9).] )|(?<=[0-9)] )(?=\\.))")
_MAYBE_OVER_A_SPACE = re.compile(" (?:[0-9]|\\..)")  # a faster first check; " ." at the end of a caption does not match
_MOST_HELD = 8  # maximum number of pieces that are scanned together before the whole text is scanned
_KEPT_PIECES = 2**16
_LONGEST_KEPT = 40  # characters


class _LooksPastSpaceError(Exception):
    """Raised if tokens of a piece depend on the next piece."""


class _TokensOfPieces(dict[str, tuple[str, ...]]):
    """Cache of the tokens of pieces between spaces. Pieces longer than the usual length are not cached."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        tokens = _tokens_of_piece(piece)
        if len(piece) <= _LONGEST_KEPT:
            if len(self) >= _KEPT_PIECES:
                self.clear()
            self[piece] = tokens
        return tokens


_tokens_of_pieces = _TokensOfPieces({"": ()})
_of_piece, _flat = _tokens_of_pieces.__getitem__, chain.from_iterable  # bound once for speed
_rules_by_start: dict[str, list[Rule]] = {}


def ptb_tokens(text: str) -> list[str]:
    r"""Split a caption into lowercased tokens without punctuation, as the COCO caption evaluation does.

    The result equals that of `PTBTokenizer` of pycocoevalcap 1.2 for a caption before an unrelated line. "well-known"
    is one token, "dog's" is two, "(" becomes -lrb-, and the single marks . , ; : ? ! and quotes are dropped. Line ends
    separate tokens.

    Returns:
        The tokens, none of them empty. [] for a caption of whitespace and dropped marks. A token may contain "\xa0",
        such as "5\xa07/8", and other unusual whitespace in a URL. BLEU, CIDEr and METEOR of COCO split at such
        whitespace, but ROUGE-L does not.
    """
    text = text.replace("\n", " ")
    crosses = _MAYBE_OVER_A_SPACE.search(text) and _OVER_A_SPACE.search(text)
    pieces = _BETWEEN_PIECES.split(text) if crosses else text.split(" ")
    try:
        return list(_flat(map(_of_piece, pieces)))
    except _LooksPastSpaceError:
        return _scan(text)[0] if _is_open(text) else _find_by_groups(pieces)


def coco_tokens(text: str) -> list[str]:
    """Split a caption into the tokens used by BLEU, CIDEr and METEOR of the COCO caption evaluation.

    These metrics read the tokens of `ptb_tokens` joined by spaces and split them at any whitespace. ROUGE-L splits at
    spaces only and therefore uses `ptb_tokens`.

    Returns:
        The tokens, none of them empty or with whitespace inside. [] for a caption of whitespace and dropped
        punctuation.
    """
    tokens = ptb_tokens(text)
    joined = " ".join(tokens)
    return tokens if joined.isprintable() else joined.split()  # the space is the only printable whitespace


def _is_open(text: str) -> bool:
    """Return whether a token of a text may extend past any space, or depend on the text before one."""
    return _OPEN.search(text) is not None or (not text.isascii() and DIGIT in text.translate(STAND_INS))


def _find_by_groups(pieces: Sequence[str]) -> list[str]:
    """Return the tokens of pieces, and scan each piece that depends on the next one together with it."""
    tokens: list[str] = []
    held: list[str] = []
    for number, piece in enumerate(pieces):
        held.append(piece)
        try:
            tokens += _of_piece(" ".join(held))
            held = []
        except _LooksPastSpaceError:
            if len(held) > _MOST_HELD:
                return tokens + _scan(" ".join([*held, *pieces[number + 1 :]]))[0]
    return tokens + _scan(" ".join(held))[0]


def _tokens_of_piece(piece: str) -> tuple[str, ...]:
    """Return the tokens of a piece, if they are independent of the text after the next space.

    Raises:
        _LooksPastSpaceError: If they may depend on it.
    """
    simple = _SIMPLE_PIECE.fullmatch(piece)
    if simple:
        letters, period, clitic, hyphenated = simple.groups()
        if hyphenated:
            return (hyphenated.lower(),)
        word = letters.lower()
        if clitic:
            return (word, clitic)
        if not period or (len(word) > 1 and word not in ABBREVIATIONS):
            return _FUSED.get(word, (word,))
    if _is_open(piece) or _BEFORE_LTD.search(piece):
        raise _LooksPastSpaceError
    tokens, last = _scan(piece)
    if len(last) == 2 and last[0].isalpha() and last[1] == "." and piece.rstrip(" ").endswith("."):
        raise _LooksPastSpaceError  # rule letter-stop, "plan B. The man"
    return tuple(tokens)


def _scan(text: str) -> tuple[list[str], str]:
    """Scan a text without line feeds, and return its tokens and the source text of the last one."""
    # Java scans UTF-16 units: a character beyond 16 bits is two units, neither of them a letter.
    in_pairs = _BEYOND_16_BITS.search(text) is not None
    if in_pairs:
        text = "".join(map(chr, memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")))
    text += "\n"
    stand_ins = text if text.isascii() else text.translate(STAND_INS)
    far = far_starts(stand_ins) if len(text) > _LONG_TEXT else {}
    tokens: list[str] = []
    position, last, printed = 0, "", ""
    while position < len(text) - 1:
        character = stand_ins[position]
        if character == " " and stand_ins[position + 1] not in _SPACES:
            position += 1
            continue
        found = _LETTERS_ALONE.match(stand_ins, position)
        if found:
            last = found[0]
            position = found.end()
            word = last.lower()
            tokens += _FUSED.get(word, (word,))
            continue
        longest, best, rule = position, None, None
        for tried in _rules_by_start.get(character) or _rules_from(character):
            if far and tried.name in far and not far[tried.name][position]:
                continue
            found = tried.match(stand_ins, position)
            if found and found.end() > longest:
                longest, best, rule = found.end(), found, tried
        if best is None or rule is None:
            position += 1  # dropped, so it separates tokens
            continue
        end = best.end(1 if best.re.groups else 0) - rule.cut
        last = token = text[position:end]
        position = end
        if rule.printed is not None:
            token = rule.printed(token)
        if in_pairs:
            token = token.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        token = _MEDIAL_SIGMA.sub("\u03c3", token).lower()
        printed = token or printed
        if token not in _DROPPED:
            tokens.append(token)
    # COCO strips whitespace from the end of its output. Only a mail address ends in it.
    if tokens and tokens[-1] is printed:
        tokens[-1] = printed.rstrip()
    return tokens, last


def _rules_from(character: str) -> list[Rule]:
    """Return the rules whose matches can begin with a character, in order."""
    rules = [rule for rule in RULES if re.match(f"[{rule.starts}]", character)]
    _rules_by_start[character] = rules
    return rules
