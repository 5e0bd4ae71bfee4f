"""`vlgauge`, and `python -m vlgauge`."""

import gc
import sys
from importlib import import_module


def main() -> int:
    """Run the command; an interruption is one line too while the command itself is imported."""
    # Imports and results make many objects and few cycles: to look for these often takes a tenth of the time.
    gc.set_threshold(50_000)
    try:
        code: int = import_module("vlgauge.cli").main()
    except KeyboardInterrupt:
        sys.stderr.write("vlgauge: interrupted\n")
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
