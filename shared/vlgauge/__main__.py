"""`python -m vlgauge` is the `vlgauge` command."""

import sys

try:
    from vlgauge.cli import main

    code = main()
except KeyboardInterrupt:  # while the command itself is imported
    sys.stderr.write("vlgauge: interrupted\n")
    code = 130
sys.exit(code)
