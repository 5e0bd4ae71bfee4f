"""METEOR 1.5: golden pairs, small resource files, and the statistics by which pairs are compared."""

import gzip
import json
import zipfile
from importlib.util import find_spec

import numpy as np
import pytest
from folders import GOLDEN, ROOT

from vlgauge.families.ngram.meteor15.formula import STAGES
from vlgauge.families.ngram.meteor15.lists import EXCEPTIONS, FUNCTION_WORDS, PREFIXES, SYNSETS

ORACLE = ROOT.parent / "shared" / "oracles" / "meteor15" / "oracle.json.gz"  # next to the checkout, not part of it
needs_oracle = pytest.mark.skipif(not ORACLE.exists(), reason="needs the reference material next to the checkout")
needs_wheel = pytest.mark.skipif(find_spec("pycocoevalcap") is None, reason="needs pycocoevalcap")


def golden():
    return json.loads(gzip.decompress((GOLDEN / "meteor15.json.gz").read_bytes()))


def write_lists(path, *, function_words=(), prefixes=(), synsets=None, exceptions=None):
    """Write a file in the layout of the jar."""
    lists = {
        FUNCTION_WORDS: function_words,
        PREFIXES: prefixes,
        SYNSETS: [line for pair in (synsets or {}).items() for line in pair],
        EXCEPTIONS: [line for pair in (exceptions or {}).items() for line in pair],
    }
    with zipfile.ZipFile(path, "w") as jar:
        for name, lines in lists.items():
            # Omit the time, which would change the digest.
            jar.writestr(zipfile.ZipInfo(name), "".join(f"{line}\n" for line in lines))
    return path


def write_table(path, pairs):
    """Write a file in the format of the paraphrase table."""
    path.write_bytes(gzip.compress("".join(f"0.5\n{phrase}\n{other}\n" for phrase, other in pairs).encode(), mtime=0))
    return path


def toy_files(folder):
    """Return the paths of the lists and the table of the golden file."""
    toy = golden()["toy"]
    given = {name: toy[name] for name in ("function_words", "synsets", "exceptions")}
    return write_lists(folder / "toy.jar", **given), write_table(folder / "toy.gz", toy["pairs"])


def program_statistics(pair):
    """Return the 23 statistics of the program, which ends with the sums over both sides."""
    counts = np.array(pair.statistics[4:20]).reshape(len(STAGES), 2, 2).sum(axis=(0, 1))
    return [*pair.statistics, *counts.tolist()]


def program_alignment(pair):
    return " ".join(":".join(map(str, match)) for match in pair.matches)
