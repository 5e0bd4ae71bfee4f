"""Independent implementation of CLIP's released tokenizer over the table of merges that open_clip ships."""

import gzip
import html
from functools import cache
from importlib.resources import files
from itertools import pairwise

import ftfy
import regex

SPECIAL = {"<|startoftext|>": 49406, "<|endoftext|>": 49407}
WORD = regex.compile(
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+", regex.IGNORECASE
)


@cache
def tables():
    """Return the character of each byte, the rank of each merge, and the id of each piece."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    order = [*shown, *(byte for byte in range(256) if byte not in shown)]
    letters = {byte: chr(byte if byte in shown else 256 + place - len(shown)) for place, byte in enumerate(order)}
    lines = gzip.decompress(files("open_clip").joinpath("bpe_simple_vocab_16e6.txt.gz").read_bytes()).decode()
    merges = [tuple(line.split()) for line in lines.splitlines()[1:48895]]
    single = [letters[byte] for byte in order]
    pieces = [*single, *(letter + "</w>" for letter in single), *map("".join, merges)]
    return letters, {pair: rank for rank, pair in enumerate(merges)}, {piece: i for i, piece in enumerate(pieces)}


def released_ids(text):
    """Return the token ids of a text without start, end and truncation."""
    letters, ranks, numbers = tables()
    clean = html.unescape(html.unescape(ftfy.fix_text(text)))
    found = []
    for word in WORD.findall(" ".join(clean.split()).lower()):
        if word in SPECIAL:
            found.append(SPECIAL[word])
            continue
        pieces = [letters[byte] for byte in word.encode()]
        pieces[-1] += "</w>"
        while ranked := [(ranks[pair], pair) for pair in pairwise(pieces) if pair in ranks]:
            left, right = min(ranked)[1]
            joined, place = [], 0
            while place < len(pieces):
                both = pieces[place : place + 2] == [left, right]
                joined.append(left + right if both else pieces[place])
                place += 1 + both
            pieces = joined
        found += [numbers[piece] for piece in pieces]
    return found
