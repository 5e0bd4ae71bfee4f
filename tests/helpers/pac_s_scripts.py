"""The parts of the training of pac_s."""

from vlgauge.training.pac_s import batches, command, drawn, evaluation, heads, losses, material, rows, towers

__all__ = ["batches", "command", "drawn", "evaluation", "heads", "losses", "material", "rows", "towers"]
