"""Build the sdist and the wheel of a release in `build/release` and check them, without uploading anything.

The exit status is 1 if versions differ, the package index would reject the metadata, or, with --dated, the changelog is
undated.
"""

# Compared versions are the version of the package, CHANGELOG.md and the hints of the metric scripts. Sizes and digests
# of the files are printed. Without --dated, which the release uses, an undated changelog is only reported.

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import vlgauge
from vlgauge.families.base.metric import REPOSITORY

ROOT = Path(__file__).resolve().parents[1]
_BECOMES = re.compile(r"^## \[Unreleased\]\n+Becomes (\d\S*)\.$", re.MULTILINE)
_RELEASED = re.compile(r"^## \[(\d[^\]]*)\]", re.MULTILINE)
_HINT = re.compile(r"# From: (.*)")


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    """Build, check and print.

    Returns:
        0, 1 if a check fails, or 2 for unknown options.
    """
    words = list(arguments if arguments is not None else sys.argv[1:])
    if words not in ([], ["--dated"]):
        sys.stderr.write(f"check_release: error: there is one option, --dated, got {' '.join(words)}\n{__doc__}")
        return 2
    faults = version_faults(root)
    becomes = _BECOMES.search((root / "CHANGELOG.md").read_text("utf-8"))
    if not words and becomes and becomes[1] == vlgauge.__version__:
        faults = [fault for fault in faults if not fault.startswith("CHANGELOG.md ")]
        print(f"CHANGELOG.md has no date yet for {becomes[1]}; when it is released: python scripts/date_release.py")
    out = root / "build" / "release"
    shutil.rmtree(out, ignore_errors=True)
    built = _run("build", "--no-isolation", "--outdir", str(out), str(root))
    if built.returncode:
        faults.append(f"the build failed: {built.stderr.strip() or built.stdout.strip()}")
    files = sorted(out.glob("*"))
    for path in files:
        content = path.read_bytes()
        print(f"{path.name}  {len(content) / 1e6:.1f} MB  sha256 {hashlib.sha256(content).hexdigest()}")
    if files:
        checked = _run("twine", "check", "--strict", *map(str, files))
        if checked.returncode:
            faults.append(f"the index would not take it: {checked.stdout.strip() or checked.stderr.strip()}")
    for fault in faults:
        sys.stderr.write(f"check_release: {fault}\n")
    return 1 if faults else 0


def version_faults(root: Path) -> list[str]:
    """Return the files whose version differs from the package: the changelog and the hints of the metric scripts."""
    version = vlgauge.__version__
    faults = []
    released = _RELEASED.search((root / "CHANGELOG.md").read_text("utf-8"))
    if released is None or released[1] != version:
        got = "no release" if released is None else released[1]
        faults.append(f"CHANGELOG.md must have {version} as its newest release, got {got}")
    hint = f"git+{REPOSITORY}@v{version}"
    others = [path for path in sorted(root.glob("metrics/*/*.py")) if _has_other_hint(path, hint)]
    if others:
        names = ", ".join(path.relative_to(root).as_posix() for path in others)
        faults.append(f"each `# From:` must name {hint}, others are in {names}")
    return faults


def _has_other_hint(path: Path, hint: str) -> bool:
    return any(not found.rstrip().endswith(f'{hint}"') for found in _HINT.findall(path.read_text("utf-8")))


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
