"""Time METEOR 1.5 against the Java program of pycocoevalcap, and compare the values.

Each side runs in a separate process, timed from its start: a first call, and a second one with other captions of the
same words. The captions are generated, or read from FILE, a JSON file with "candidates" (a list of captions) and
"references" (a list of lists). The exit status is 1 if a value differs, or ours is less than three times as fast or
uses more than 400 MB.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from generated import generated_captions

N_ROWS, N_REFERENCES = 1_000, 5
LEAST_RATIO, MOST_MB = 3.0, 400.0


def run_ours(calls: list[tuple[list[str], list[list[str]]]]) -> list[float]:
    """Score with this package and return the corpus values of the calls."""
    import vlgauge

    metric = vlgauge.load("meteor", tokenizer=str.split, keep_in_memory=True, progress=False)
    return timed(lambda own, theirs: (metric.compute(predictions=own, references=theirs) or {})["meteor"], calls)


def run_java(calls: list[tuple[list[str], list[list[str]]]]) -> list[float]:
    """Score with the Java program and return the corpus values of the calls."""
    program: Any = import_module("pycocoevalcap.meteor.meteor").Meteor()

    def score(own: list[str], theirs: list[list[str]]) -> float:
        return program.compute_score(dict(enumerate(theirs)), {row: [caption] for row, caption in enumerate(own)})[0]

    found = timed(score, calls)
    program.meteor_p.kill()
    program.meteor_p.wait()
    return found


def timed(score: Any, calls: list[tuple[list[str], list[list[str]]]]) -> list[float]:
    """Return the values of the calls, and print the seconds since the start of the process and of the later calls."""
    values, seconds, begun = [], [], STARTED
    for own, theirs in calls:
        values.append(score(own, theirs))
        seconds.append(time.time() - begun)
        begun = time.time()
    print(json.dumps(seconds))
    return values


def child(side: str, file: Path) -> None:
    """Run one side on the captions in a file, and print seconds, values and memory."""
    calls = json.loads(file.read_text("utf-8"))
    values = {"ours": run_ours, "java": run_java}[side](calls)
    # Java is a child process.
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    print(json.dumps(values))
    used = list(map(resource.getrusage, who))
    print(json.dumps([sum(one.ru_utime + one.ru_stime for one in used), sum(one.ru_maxrss for one in used) / unit]))


def measured(side: str, file: Path) -> tuple[list[float], list[float], list[float]]:
    """Return seconds and values of the calls of one side, and its CPU time in seconds and memory in MB."""
    command = [sys.executable, __file__, "--child", side, "--started", repr(time.time()), str(file)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    seconds, values, used = map(json.loads, out[-3:])
    return seconds, values, used


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark."""
    global STARTED
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="captions and references")
    parser.add_argument("--smoke", action="store_true", help="few captions; nothing is required of the times")
    parser.add_argument("--child", choices=("ours", "java"), help=argparse.SUPPRESS)
    parser.add_argument("--started", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        STARTED = options.started
        child(options.child, options.file)
        return 0
    if options.file:
        given = json.loads(options.file.read_text("utf-8"))
        own, theirs = given["candidates"], given["references"]
    else:
        made = generated_captions(20 if options.smoke else N_ROWS, 1 + N_REFERENCES)
        texts = [list(map(" ".join, captions)) for captions in made]
        own, theirs = [one[0] for one in texts], [one[1:] for one in texts]
    # In the second call every reference list is compared with the caption of the next row.
    calls = [(own, theirs), ([*own[1:], own[0]], theirs)]
    with tempfile.TemporaryDirectory(prefix="vlgauge-meteor-") as folder:
        file = Path(folder) / "calls.json"
        file.write_text(json.dumps(calls), "utf-8")
        print(f"{len(own)} captions against {sum(map(len, theirs))} references; start of the process included")
        (first, second), values, (cpu, memory) = measured("ours", file)
        print(f"ours: first call {first:.1f} s, second {second:.1f} s, CPU {cpu:.1f} s, {memory:.0f} MB")
        if shutil.which("java") is None or find_spec("pycocoevalcap") is None:
            print("Java or pycocoevalcap is not installed, so the program is left out")
            return 0
        (java_first, java_second), java_values, (java_cpu, java_memory) = measured("java", file)
    print(
        f"Java: first call {java_first:.1f} s, second {java_second:.1f} s, CPU {java_cpu:.1f} s, {java_memory:.0f} MB"
    )
    ratios = f"{java_first / first:.1f}x, second call {java_second / second:.1f}x, CPU {java_cpu / cpu:.1f}x"
    print(f"METEOR {values[0]:.5f}, ratio {ratios}; same values: {values == java_values}")
    fast = options.smoke or (java_first / first >= LEAST_RATIO and memory <= MOST_MB)
    return int(not (fast and values == java_values))


STARTED = 0.0

if __name__ == "__main__":
    sys.exit(main())
