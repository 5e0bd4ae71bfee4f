"""The parts of scripts/train_pac_s.py, which are in no package."""

import importlib
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"

sys.path.insert(0, str(SCRIPTS))
try:
    command = importlib.import_module("train_pac_s")
    batches = importlib.import_module("pac_s_training.batches")
    evaluation = importlib.import_module("pac_s_training.evaluation")
    drawn = importlib.import_module("pac_s_training.drawn")
    heads = importlib.import_module("pac_s_training.heads")
    losses = importlib.import_module("pac_s_training.losses")
    material = importlib.import_module("pac_s_training.material")
    rows = importlib.import_module("pac_s_training.rows")
    towers = importlib.import_module("pac_s_training.towers")
finally:
    sys.path.remove(str(SCRIPTS))
