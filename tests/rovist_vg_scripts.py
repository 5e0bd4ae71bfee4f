"""The parts of scripts/train_rovist_vg.py, which are in no package."""

import importlib
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"

sys.path.insert(0, str(SCRIPTS))
try:
    command = importlib.import_module("train_rovist_vg")
    drawn = importlib.import_module("region_phrases.drawn")
    function_words = importlib.import_module("region_phrases.function_words")
    held_out = importlib.import_module("region_phrases.held_out")
    loop = importlib.import_module("region_phrases.loop")
    pairs = importlib.import_module("region_phrases.pairs")
    report = importlib.import_module("region_phrases.report")
    saved = importlib.import_module("sentence_order.loop")
finally:
    sys.path.remove(str(SCRIPTS))
