"""Compare the tokens of the PTB tokenizer with the tokens of the Java program on generated lines of all scripts.

The comparison requires pycocoevalcap and Java. An unrelated line follows each line.
"""

import argparse
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from vlgauge.inputs.text.ptb.tokens import ptb_tokens

JAR = "tokenizer/stanford-corenlp-3.4.1.jar"
DROPPED = {"''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"}
NEUTRAL = "neutral"

SUBJECTS = (
    "a man|the woman|two dogs|an old cat|a U.S. soldier|Dr. Smith|Mrs. O'Neil|the boy's mother|a T-shirt-clad kid"
)
VERBS = "rides|is riding|doesn't like|can't see|wouldn't've bought|sits on|cannot reach|is gonna eat|stands near|holds"
OBJECTS = (
    "a well-known bridge|the 10:30 train|a $5 bill|50% of it|a 6ft. pole|No. 5 bus|fig. 3|St. Mary's Ave.|1/2 cup"
    "|5 7/8 inches|an e-mail to bob@x-y.co.uk|http://www.site.com/a_b?c=d|www.Foo.org/x.html|photo.JPG|3.14 km|-5\xb0C"
    "|20 \u20ac|\xa33.50|the '90s|rock 'n' roll|Ph.D. students|AT&T's sign|and/or none|C++ code|#tag5|@user_1"
    "|(555) 123-4567|+1 555 123 4567|12/25/2014|a <b>bold</b> tag|&amp;|caf&eacute;|a red bus|the green grass"
)
ENDS = ".|.|.|.|||!|?|...|\u2026| .|!!|;|:| -|)|\"|''|\u201d|\u2019|.)|.\"| :)"
WORDS = (
    "man dog t-shirt cannot gonna lemme 'tis 'twas don't dog’s o'clock y'all d'oh li'l c'mon rock'n'roll O'Brien c'est "  # noqa: RUF001
    "well-known non-U.S. U.S.-U.K. pro- anti- mid-1990s 8-year-old A B c Mr. The He 5 12 555 1,000 3.5 .5 1/2 10:30 +3 "
    "-4 #1 #tag @me x.com a.b.org http://a.b/c, www.x.net a@b.c :) ;-) =( ^_^ >.< (^_^) <3 <br/> <a b='c'> <!-- --> "
    "``q'' \"q\" (x) [y] {z} ... .. . , ; : ! ? - -- ----- ** \\* / | & % $ US$ C++ F# R&B AT&amp;B w/ w/o a/b/c/d "
    "a.jpg 5a.png Jan. etc. St. no. fig. PTE. Ltd 日本語 дом ελλάς مرحبا हिन्दी ไทย café e\u0301 İstanbul ſtraße 😀 ❤️ ☺ "  # noqa: RUF001
    "٣٫١ ½ x² H₂O 10⁻⁵ ΣΑΣ"  # noqa: RUF001
)
ASCII_MARKS = [character for character in map(chr, range(33, 127)) if not character.isalnum()]
MARKS = [
    *ASCII_MARKS,
    *"aB5‘’‚‛“”„‟‹›«»–—―‒−…·•°²¼½⅓⅛×§®¿¡¢£¤¥€₹′‐⁄→、。「\xa0\xad\u2009\u3000\u200b\ufeff\u202f\x92\x96\t",  # noqa: RUF001
]
SCRIPTS = [
    (0x41, 0x7A),
    (0xC0, 0x24F),
    (0x300, 0x36F),
    (0x370, 0x52F),
    (0x531, 0x7FF),
    (0x900, 0xFFF),
    (0x1000, 0x1FFF),
]
SCRIPTS += [(0x2010, 0x2027), (0x202F, 0x2BFF), (0x2C00, 0x33FF), (0x4E00, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A3)]
SCRIPTS += [(0xF900, 0xFFEF), (0x10000, 0x1FFFF), (0x20000, 0x2FFFF)]


def generate_lines(n: int) -> Iterator[str]:
    """Yield distinct lines of words, numbers, symbols and characters of all scripts, with and without spaces."""
    rng = random.Random(0)
    words = WORDS.split()
    choices = [parts.split("|") for parts in (SUBJECTS, VERBS, OBJECTS, ENDS)]
    seen: set[str] = set()

    def number() -> str:
        head, tail = (str(rng.randrange(10 ** rng.randint(1, 5))) for _ in range(2))
        return f"{head}{rng.choice('.,:/-x% ')}{tail}{rng.choice(('', 'ft', '%', 'th', '-inch', ' 1/2', 'p.m.'))}"

    def foreign() -> str:
        first, last = rng.choice(SCRIPTS)
        return "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 6)))

    def word() -> str:
        return rng.choice(words)

    def mark() -> str:
        return rng.choice(MARKS)

    def edited() -> str:
        subject, verb, thing, end = map(rng.choice, choices)
        characters = list(f"{subject.capitalize()} {verb} {thing}{end} {word()}")
        for _ in range(rng.randint(1, 4)):
            characters[rng.randrange(len(characters))] += mark()
            del characters[rng.randrange(len(characters))]
        return "".join(characters)

    while len(seen) < n:
        joint = rng.choice((" ", " ", "", "-", "'", ".", "/"))
        makers = rng.choice(([word], [word, number, foreign], [mark, word], [number, foreign], None))
        line = edited() if makers is None else joint.join(rng.choice(makers)() for _ in range(rng.randint(1, 10)))
        if line.strip() and line not in seen and not {"\x85", "\u2028", "\u2029"} & set(line):
            seen.add(line)
            yield line


def java_tokens(jar: Path, lines: Sequence[str]) -> list[list[str]]:
    """Return the tokens of each line in the COCO caption evaluation, with an unrelated line after each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lines")
        file.write_bytes("".join(f"{line}\n{NEUTRAL}\n" for line in lines).encode())
        command = ["java", "-Dfile.encoding=UTF-8", "-cp", str(jar), "edu.stanford.nlp.process.PTBTokenizer"]
        command += ["-preserveLines", "-lowerCase", str(file)]
        printed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\n")
    if printed[1::2] != [NEUTRAL] * len(lines):
        raise SystemExit("Java must print a line for each line, and did not")
    return [[token for token in line.rstrip().split(" ") if token and token not in DROPPED] for line in printed[:-1:2]]


def compare_with_java(n: int) -> None:
    """Print the number of lines with different tokens in Java, and the first few of them."""
    package = find_spec("pycocoevalcap")
    folders = package and package.submodule_search_locations
    if not folders or shutil.which("java") is None:
        print("not compared with Java, which needs pycocoevalcap and java")
        return
    lines = list(generate_lines(n))
    unlike = [
        (line, theirs)
        for line, theirs in zip(lines, java_tokens(Path(folders[0]) / JAR, lines), strict=True)
        if ptb_tokens(line) != theirs
    ]
    print(f"{len(unlike)} of {n} lines have other tokens in Java")
    for line, theirs in unlike[:20]:
        print(ascii(line), ascii(theirs), ascii(ptb_tokens(line)))


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000, help="number of lines (default: 100000)")
    compare_with_java(parser.parse_args().lines)


if __name__ == "__main__":
    main()
