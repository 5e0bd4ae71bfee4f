"""`vlgauge`, and `python -m vlgauge`."""

import sys
from importlib import import_module


def main() -> int:
    """Run the command; an interruption is one line too while the command itself is imported."""
    try:
        code: int = import_module("vlgauge.cli").main()
    except KeyboardInterrupt:
        sys.stderr.write("vlgauge: interrupted\n")
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
