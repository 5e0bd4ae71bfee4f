"""Compare the tokens of the PTB tokenizer with the tokens of the Java program on generated lines of all scripts.

The comparison requires pycocoevalcap and Java. An unrelated line follows each line.
"""

import argparse
import json
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

# Phrases, words and characters of the lines, and the code points of the scripts.
PARTS = json.loads(Path(__file__).with_name("ptb_parts.json").read_text("utf-8"))


def generate_lines(n: int) -> Iterator[str]:
    """Yield distinct lines of words, numbers, symbols and characters of all scripts, with and without spaces."""
    rng = random.Random(0)
    seen: set[str] = set()

    def number() -> str:
        head, tail = (str(rng.randrange(10 ** rng.randint(1, 5))) for _ in range(2))
        return f"{head}{rng.choice('.,:/-x% ')}{tail}{rng.choice(('', 'ft', '%', 'th', '-inch', ' 1/2', 'p.m.'))}"

    def foreign() -> str:
        first, last = rng.choice(PARTS["scripts"])
        return "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 6)))

    def word() -> str:
        return rng.choice(PARTS["words"])

    def mark() -> str:
        return rng.choice(PARTS["marks"])

    def edited() -> str:
        subject, verb, thing, end = map(rng.choice, PARTS["phrases"])
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
