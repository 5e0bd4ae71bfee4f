"""The parts of the training of rovist_vg."""

from vlgauge.training.rovist_c import loop as saved
from vlgauge.training.rovist_vg import command
from vlgauge.training.rovist_vg import drawn
from vlgauge.training.rovist_vg import function_words
from vlgauge.training.rovist_vg import held_out
from vlgauge.training.rovist_vg import loop
from vlgauge.training.rovist_vg import pairs
from vlgauge.training.rovist_vg import report

__all__ = ["command", "drawn", "function_words", "held_out", "loop", "pairs", "report", "saved"]
