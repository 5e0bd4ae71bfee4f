"""The parts of the training of rovist_vg."""

from vlgauge.training.rovist_c import loop as saved
from vlgauge.training.rovist_vg import command, drawn, function_words, held_out, loop, pairs, report

__all__ = ["command", "drawn", "function_words", "held_out", "loop", "pairs", "report", "saved"]
