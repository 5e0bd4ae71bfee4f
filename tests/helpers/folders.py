"""Where things lie in this checkout."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
GOLDEN = TESTS / "golden"
HELPERS = TESTS / "helpers"
DEMO_METRICS = HELPERS / "demo_metrics"
ROOT = TESTS.parent
EXAMPLES = ROOT / "examples"
METRICS = ROOT / "metrics"
SCRIPTS = ROOT / "scripts"
BUILDER = ROOT / "spaces" / "builder"
