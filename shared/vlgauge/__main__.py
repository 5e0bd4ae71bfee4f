"""`python -m vlgauge` is the `vlgauge` command."""

import sys

from vlgauge.cli import main

sys.exit(main())
