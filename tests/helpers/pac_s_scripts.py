"""The parts of the training of pac_s."""

from vlgauge.training.pac_s import batches
from vlgauge.training.pac_s import command
from vlgauge.training.pac_s import drawn
from vlgauge.training.pac_s import evaluation
from vlgauge.training.pac_s import heads
from vlgauge.training.pac_s import losses
from vlgauge.training.pac_s import material
from vlgauge.training.pac_s import rows
from vlgauge.training.pac_s import towers

__all__ = ["batches", "command", "drawn", "evaluation", "heads", "losses", "material", "rows", "towers"]
