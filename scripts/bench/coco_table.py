"""Time the table of the COCO caption evaluation without SPICE against pycocoevalcap, each in a separate process.

pycocoevalcap requires Java. If either is missing, only vlgauge is timed.
"""

# Both programs read the same files of generated captions. The output has seconds, CPU seconds, memory, ratios and the
# largest difference of a value.

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generated import generate_captions

N_REFERENCES = 5
TOLERANCE = 1e-12
KEYS = {"Bleu_1": "bleu_1", "Bleu_2": "bleu_2", "Bleu_3": "bleu_3", "Bleu_4": "bleu_4", "METEOR": "meteor"}
KEYS |= {"ROUGE_L": "rouge_l", "CIDEr": "cider"}
THEIRS = """
import contextlib, io, json, sys
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
results, annotations = (json.load(open(path)) for path in sys.argv[1:])
res = {one["image_id"]: [one] for one in results}
gts = {}
for one in annotations["annotations"]:
    gts.setdefault(one["image_id"], []).append(one)
values = {}
with contextlib.redirect_stdout(io.StringIO()):
    gts, res = (PTBTokenizer().tokenize(side) for side in (gts, res))
    scorers = [(Bleu(4), [f"Bleu_{n}" for n in (1, 2, 3, 4)]), (Meteor(), ["METEOR"])]
    for scorer, names in [*scorers, (Rouge(), ["ROUGE_L"]), (Cider(), ["CIDEr"])]:
        found = scorer.compute_score(gts, res)[0]
        values |= dict(zip(names, found if isinstance(found, list) else [found]))
print(json.dumps({name: float(value) for name, value in values.items()}))
"""


def write_files(folder: Path, n_images: int, seed: int = 0) -> tuple[str, str]:
    """Write results and annotations of generated captions, with the capitals and punctuation of human captions."""
    rng = random.Random(seed)
    results: list[dict[str, object]] = []
    annotations: list[dict[str, object]] = []
    for image, captions in enumerate(generate_captions(n_images, 1 + N_REFERENCES, seed)):
        first, *others = (" ".join(tokens).capitalize() + rng.choice([".", "", " .", "!"]) for tokens in captions)
        results.append({"image_id": image, "caption": first})
        annotations += [{"image_id": image, "id": len(annotations) + i, "caption": one} for i, one in enumerate(others)]
    images = [{"id": image} for image in range(n_images)]
    paths = folder / "results.json", folder / "annotations.json"
    for path, content in zip(paths, (results, {"images": images, "annotations": annotations}), strict=True):
        path.write_text(json.dumps(content))
    return str(paths[0]), str(paths[1])


def run_process(words: list[str]) -> tuple[float, float, float, str]:
    """Run a program and its children, and return seconds, CPU seconds, peak memory in MB (Linux) and its output."""
    with tempfile.TemporaryFile("w+") as out:
        begin = time.perf_counter()
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        if status:
            raise SystemExit(f"{words[:3]} ended with status {status}")
        out.seek(0)
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read()


def main(arguments: list[str] | None = None) -> int:
    """Run both and print.

    Returns:
        0, or 1 if a value differs by more than 1e-12.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args(arguments)
    has_theirs = find_spec("pycocoevalcap") is not None and shutil.which("java") is not None
    most_apart = 0.0
    with tempfile.TemporaryDirectory() as folder:
        results, annotations = write_files(Path(folder), options.images)
        ours = [sys.executable, "-m", "vlgauge", "score", "coco", results, "--annotations", annotations]
        ours += ["--without", "spice", "--format", "json", "--no-progress"]
        for _ in range(options.repeats):
            seconds, cpu, memory, printed = run_process(ours)
            found = json.loads(printed)
            print(f"vlgauge        {seconds:6.1f} s, CPU {cpu:6.1f} s, {memory:6.0f} MB")
            if not has_theirs:
                print("pycocoevalcap is not installed, or there is no Java")
                continue
            their_seconds, their_cpu, their_memory, printed = run_process(
                [sys.executable, "-c", THEIRS, results, annotations]
            )
            theirs = json.loads(printed)
            apart = max(abs(theirs[name] - found[key]) for name, key in KEYS.items())
            most_apart = max(most_apart, apart)
            print(f"pycocoevalcap  {their_seconds:6.1f} s, CPU {their_cpu:6.1f} s, {their_memory:6.0f} MB")
            ratios = f"{their_seconds / seconds:.1f}, CPU {their_cpu / cpu:.1f}"
            print(f"ratio {ratios}, largest difference of a value {apart:.1e}")
    return int(most_apart > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
