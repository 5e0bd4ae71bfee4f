"""Replacement of Java with spice-1.0.jar: its command line, input and output, without a parser.

It parses "red" and "brown" as attributes of the next word, "near" and "on" as relations between the adjacent words,
and every other word as an object.
"""

import json
import sys
import zipfile
from pathlib import Path

JAVA_11 = 'openjdk version "11.0.13" 2021-10-19'
FILES = (
    *("spice-1.0.jar", "lib/SceneGraphParser-1.0.jar", "lib/Meteor-1.5.jar"),
    *("lib/stanford-corenlp-3.6.0.jar", "lib/stanford-corenlp-3.6.0-models.jar"),
)


def write_java(folder, version=JAVA_11):
    """Write the program, which appends each of its command lines to the file ``runs`` of the folder."""
    (folder / "version").write_text(version, "utf-8")
    path = folder / "java"
    path.write_text(f"#!{sys.executable}\n{Path(__file__).read_text('utf-8')}", "utf-8")
    path.chmod(0o755)
    return path


def write_jars(folder, content="1"):
    """Write the folder of the jars, which contain only a string."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w") as jar:
            jar.writestr(zipfile.ZipInfo("content"), content)
    return folder


def tuples(caption):
    """Return the tuples of the program for a caption, in alphabetical order."""
    words, found = caption.split(), set()
    for i, word in enumerate(words):
        if word in ("red", "brown"):
            found.add((words[i + 1], word))
        elif word in ("near", "on"):
            found.add((words[i - 1], word, words[i + 1]))
        else:
            found.add((word,))
    return [{"tuple": list(parts), "truth_value": False} for parts in sorted(found)]


def failed(*lines):
    """Write the reason to standard error, and return the exit status."""
    sys.stderr.write("\n".join(lines))
    return 1


def main(words):
    """Run as Java with the jar does."""
    here = Path(__file__).parent
    if words == ["-version"]:
        sys.stderr.write((here / "version").read_text("utf-8"))
        return 0
    with (here / "runs").open("a", encoding="utf-8") as runs:
        runs.write(json.dumps(words) + "\n")
    start = words.index("-jar")
    if not set(words[:start]) <= {"-Dfile.encoding=UTF-8", "-Xmx8G"} or not Path(words[start + 1]).is_file():
        return failed(f"Unrecognized option: {words}")
    given, options = Path(words[start + 2]), words[start + 3 :]
    target = options[options.index("-out") + 1]
    if sorted(options) != sorted(["-out", target, "-detailed", "-noSynsets", "-silent"]):
        return failed(f"Unknown option in {options}")
    rows = json.loads(given.read_bytes())
    if any("fail" in row["test"] for row in rows):
        trace = "Parsing test captions", 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space'
        return failed(*trace, "\tat edu.anu.spice.SpiceScorer.main(SpiceScorer.java:60)")
    scores = {"All": {"tp": 0, "fp": 1, "fn": 0, "f": 0, "pr": 0, "re": 0, "numImages": 1}}
    written = [
        {"image_id": row["image_id"], "scores": scores, "test_tuples": tuples(row["test"]), "ref_tuples": []}
        for row in rows
        if "lose" not in row["test"]
    ]
    Path(target).write_text(json.dumps(written, ensure_ascii=False, indent=2), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
