"""Print the versions that an install of vlgauge changes next to common packages, for docs/versions.md.

Nothing is installed, but the package index is required.
"""

# For each package, the versions of a fresh install are resolved, and then the versions with vlgauge in addition,
# keeping every version that may be kept. The differences are the changes of `pip install vlgauge`.

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEIGHBOURS = ("trl", "lm-eval", "torchmetrics", "lmms-eval", "vllm", "verl", "unsloth", "ms-swift", "llamafactory")
METRICS = sorted(path.parent.name.replace("_", "-") for path in ROOT.glob("metrics/*/README.md"))
JUDGES = ("clair", "dsg", "fleur", "vqascore")  # require a newer transformers than the others
INSTALLS = {
    "vlgauge": "",
    "the other metrics": ",".join(name for name in METRICS if name not in JUDGES),
    "the judges": ",".join(JUDGES),
}
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


def resolve(requirements: Sequence[str], python: str, known: Path | None = None) -> dict[str, str] | str:
    """Resolve requirements.

    Args:
        requirements: Requirements to resolve.
        python: Version of Python.
        known: File of versions that are kept if possible.

    Returns:
        Versions by name, or the error message if there is no solution.
    """
    with tempfile.TemporaryDirectory() as folder:
        wanted, output = Path(folder, "in.txt"), Path(folder, "out.txt")
        wanted.write_text("\n".join(requirements))
        if known is not None:
            output.write_text(known.read_text())
        command = [sys.executable, "-m", "uv", "pip", "compile", "-q", "--no-header", "--no-annotate"]
        command += ["--python-version", python, str(wanted), "-o", str(output)]
        finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if finished.returncode:
            return " ".join(finished.stderr.split())
        return dict(_PIN.findall(output.read_text()))


def changes(neighbour: str, python: str) -> list[str]:
    """Return a row of the table: the resolved package, and the changes of each install of vlgauge."""
    alone = resolve([neighbour], python)
    if isinstance(alone, str):
        return [neighbour, "not resolved here", *("" for _ in INSTALLS), alone]
    version = alone[neighbour]
    cells, why = [], []
    for extras in INSTALLS.values():
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as known:
            known.write("".join(f"{name}=={one}\n" for name, one in alone.items()))
            known.flush()
            ours = f".[{extras}]" if extras else "."
            together = resolve([f"{neighbour}=={version}", ours], python, Path(known.name))
        if isinstance(together, str):
            cells.append("**cannot be installed with it**")
            why.append(together)
        else:
            cells.append(describe_change(alone, together))
    return [neighbour, version, *cells, "; ".join(dict.fromkeys(why))]


def describe_change(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Describe the changes of an install."""
    changed = [f"{name} {one} to {after.get(name, 'none')}" for name, one in before.items() if after.get(name) != one]
    return ", ".join(changed) or "nothing"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table.

    Returns:
        0, or 1 if an install conflicts with a package.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "neighbours", nargs="*", default=list(NEIGHBOURS), help="packages (default: the packages of the table)"
    )
    parser.add_argument("--python", default="3.11", help="version of Python (default: 3.11)")
    options = parser.parse_args(arguments)
    print(f"| package | version | {' | '.join(f'{name} changes' for name in INSTALLS)} |")
    print("|---|---|" + "---|" * len(INSTALLS))
    failed = False
    for neighbour in options.neighbours:
        *cells, why = changes(neighbour, options.python)
        print(f"| {' | '.join(cells)} |", flush=True)
        if why:
            failed = True
            print(f"{neighbour}: {why[:600]}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
