"""Count lines of code per folder, without blank lines, comments and docstrings.

    python scripts/count_code.py                    # metrics, shared, spaces, scripts and their sum, then tests
    python scripts/count_code.py shared/vlgauge/*   # each path by itself

A line counts if a code token begins on it or a multi-line string covers it. Templates and scripts in other languages
are not counted.
"""

import argparse
import ast
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
COUNTED = ("metrics", "shared", "spaces", "scripts")
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(path: Path) -> int:
    """Return the number of lines with code in the Python file at `path`."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines: set[int] = set()
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type not in SILENT:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def python_files(path: Path) -> list[Path]:
    """Return the Python files at or below `path`, sorted."""
    return [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))


def main() -> None:
    """Print one line per path."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders; default: the packages and the tests")
    paths = parser.parse_args().paths
    if paths:
        for path in paths:
            print(f"{sum(map(code_lines, python_files(path))):7,}  {path}")
        return
    counts = {name: sum(map(code_lines, python_files(ROOT / name))) for name in (*COUNTED, "tests")}
    for name in COUNTED:
        print(f"{counts[name]:7,}  {name}")
    print(f"{sum(counts[name] for name in COUNTED):7,}  together")
    print(f"{counts['tests']:7,}  tests")


if __name__ == "__main__":
    main()
