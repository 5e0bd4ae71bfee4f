"""Derive the synonym table of METEOR, and the table of synsets for SPICE, from the files of WordNet 3.0.

DIR contains index.*, data.* and *.exc, such as /usr/share/wordnet of Debian's package wordnet-base.
"""

# Three files are written, identical in every run. Their format is documented in `vlgauge.families.ngram.wordnet` and
# `vlgauge.families.scene_graphs.synsets`, which read them.

import argparse
import hashlib
import lzma
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PARTS = ("noun", "verb", "adj", "adv")
TARGET = Path(__file__).resolve().parents[2] / "shared" / "vlgauge" / "data"
# Syntactic markers after adjectives, such as "galore(ip)".
MARKERS = ("(a)", "(p)", "(ip)")


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a file without the license, which is indented."""
    with path.open(encoding="ascii") as lines:
        yield from (line for line in lines if not line.startswith(" "))


def lowercase_names(fields: list[str]) -> list[str]:
    """Return the names of a synset without capitals or underscores, from the fields of its data line."""
    count = int(fields[3], 16)
    names = []
    for name in fields[4 : 4 + 2 * count : 2]:
        for marker in MARKERS:
            name = name.removesuffix(marker)
        if name == name.lower() and "_" not in name:
            names.append(name)
    return names


def names_by_lemma(folder: Path, part: str) -> dict[str, list[str]]:
    """Return the sorted names of the synsets of every lemma of a part of speech."""
    synsets = {fields[0]: lowercase_names(fields) for fields in map(str.split, lines_of(folder / f"data.{part}"))}
    found = {}
    for fields in map(str.split, lines_of(folder / f"index.{part}")):
        offsets = fields[-int(fields[2]) :]
        found[fields[0]] = sorted({name for offset in offsets for name in synsets[offset]})
    return found


def exceptions_of(folder: Path, part: str) -> dict[str, list[str]]:
    """Return the irregular forms of a part of speech and their lemmas. Forms of several tokens are left out."""
    rows = (line.split() for line in lines_of(folder / f"{part}.exc"))
    return {form: lemmas for form, *lemmas in rows if "_" not in form}


def synonym_lines(tables: list[dict[str, list[str]]], targets: set[str]) -> list[str]:
    """Return one line per lemma that is a single token, or the lemma of an irregular form of one token."""
    kept = sorted(lemma for lemma in set().union(*tables) if "_" not in lemma or lemma in targets)
    return ["\t".join([lemma, *(" ".join(names.get(lemma, [])) for names in tables)]).rstrip("\t") for lemma in kept]


def synsets_by_lemma(folder: Path) -> dict[str, list[list[str]]]:
    """Return the offsets of the synsets of every lemma in each part of speech. Lemmas may have several words."""
    found: dict[str, list[list[str]]] = {}
    for index, part in enumerate(PARTS):
        for fields in map(str.split, lines_of(folder / f"index.{part}")):
            found.setdefault(fields[0], [[] for _ in PARTS])[index] = fields[-int(fields[2]) :]
    return found


def synset_lines(offsets: dict[str, list[list[str]]]) -> list[str]:
    """Return one line per lemma: the numbers of its synsets per part of speech.

    "+2" denotes two synsets that no other lemma has. Synsets are numbered by their first lemma.
    """
    members = Counter((i, offset) for parts in offsets.values() for i, part in enumerate(parts) for offset in part)
    numbers: dict[tuple[int, str], int] = {}
    lines = []
    for lemma in sorted(offsets):
        cells = []
        for i, part in enumerate(offsets[lemma]):
            shared = [(i, offset) for offset in part if members[i, offset] > 1]
            words = [str(numbers.setdefault(synset, len(numbers))) for synset in shared]
            alone = len(part) - len(shared)
            cells.append(" ".join(words + ([f"+{alone}"] if alone else [])))
        lines.append("\t".join([lemma, *cells]).rstrip("\t"))
    return lines


def write_lines(path: Path, lines: list[str]) -> None:
    """Write compressed lines, and print a summary."""
    packed = lzma.compress("".join(f"{line}\n" for line in lines).encode("ascii"), preset=9 | lzma.PRESET_EXTREME)
    path.write_bytes(packed)
    print(f"{path.name}: {len(lines)} lines, {len(packed)} bytes, sha256 {hashlib.sha256(packed).hexdigest()}")


def main(arguments: list[str] | None = None) -> None:
    """Read WordNet and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder with index.noun, data.noun, noun.exc, ...")
    parser.add_argument("--target", type=Path, default=TARGET, help="folder to write to (default: that of the package)")
    options = parser.parse_args(arguments)
    tables = [names_by_lemma(options.folder, part) for part in PARTS]
    exceptions = [exceptions_of(options.folder, part) for part in PARTS]
    targets = {lemma for forms in exceptions for lemmas in forms.values() for lemma in lemmas}
    exception_lines = [
        "\t".join([part, form, " ".join(forms[form])])
        for part, forms in zip(PARTS, exceptions, strict=True)
        for form in sorted(forms)
    ]
    write_lines(options.target / "wordnet_synonyms.txt.xz", synonym_lines(tables, targets))
    write_lines(options.target / "wordnet_exceptions.txt.xz", exception_lines)
    write_lines(options.target / "wordnet_synsets.txt.xz", synset_lines(synsets_by_lemma(options.folder)))


if __name__ == "__main__":
    main()
