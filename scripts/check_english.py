"""Count odd English in docstrings and comments; exit with 1 above the limit per 1,000 words.

python scripts/check_english.py            # the packages and the scripts: the check of `make check`
python scripts/check_english.py --list     # every hit, as path:line: pattern: text
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("shared", "metrics", "spaces", "scripts")
LIMIT = 1.0  # hits per 1,000 words
# Patterns with few false alarms; CONTRIBUTING has the rules behind them.
PATTERNS = {
    "where for if": r"\bwhere (?:there|it|they|no|none|nobody|this|that) ",
    "beside": r"\bbeside\b",
    "is no": r"(?<!there )\b(?:is|are|was) (?:no|none)\b(?! (?:longer|more|way|need))",
    "that of": r"\b(?:those of|those that|those which|(?:is|as|by|than) that of)\b",
    "vague agent": r"\b(?:nobody|somebody|anybody|whoever|strangers?)\b",
    "archaic": r"\b(?:anew|meanwhile|nought|mends?|mended|parted|likeness|for ever)\b",
    "of ours": r"\bof (?:ours|yours|the user's|the caller's)\b",
    "so many": r"\bso many\b",
    "term": r"\b(?:pictures?|toys?|data sets?|truth values?|whole numbers?)\b",
}
_PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in PATTERNS.items()}
_START = re.compile(r"(?:What|Which|How|Where|Of|As|Those|That|Without)\b")
_CODE = re.compile(r"``.*?``|`[^`]*`|https?://\S+|^\s*(?:>>>|\.\.\.).*$", re.MULTILINE | re.DOTALL)


def texts_of(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text and whether it is a docstring, for each docstring and comment of a Python file."""
    source = path.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text, True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(("#!", "# From:", "# type:", "# noqa")):
            yield token.start[0], token.string.lstrip("# "), False


def hits_of(text: str, is_docstring: bool) -> list[str]:
    """Return the name of the pattern of each hit in a text."""
    plain = _CODE.sub("x", text)
    found = [name for name, pattern in _PATTERNS.items() for _ in pattern.finditer(plain)]
    if is_docstring:
        summary = plain.partition("\n\n")[0]
        found += ["semicolon in a summary"] * (";" in summary) + ["start of a summary"] * bool(_START.match(summary))
    return found


def main() -> int:
    """Print the counts by pattern; return 1 if the rate is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print every hit")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    words = 0
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for line, text, is_docstring in texts_of(path):
            words += len(text.split())
            for name in hits_of(text, is_docstring):
                counts[name] += 1
                if options.list:
                    print(f"{path.relative_to(ROOT)}:{line}: {name}: {' '.join(text.split())[:90]}")
    rate = 1000 * sum(counts.values()) / max(words, 1)
    for name, count in counts.most_common():
        print(f"{count:6,}  {name}")
    print(f"{rate:.1f} odd constructions per 1,000 words ({words:,} words); at most {LIMIT:g}")
    return int(rate > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
