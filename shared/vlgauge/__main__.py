"""Entry point of `vlgauge` and `python -m vlgauge`."""

import gc
import sys
from importlib import import_module


def main() -> int:
    """Run the command and return its exit code.

    An interruption is reported in one line, even while the command is still being imported.
    """
    # Imports and results create many objects but few reference cycles, so the default collection frequency would take a
    # tenth of the run time.
    gc.set_threshold(50_000)
    try:
        code: int = import_module("vlgauge.cli").main()
    except KeyboardInterrupt:
        sys.stderr.write("vlgauge: interrupted\n")
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
