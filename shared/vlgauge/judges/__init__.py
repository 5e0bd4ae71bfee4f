"""Models of pictures and text as judges: what they are asked, and what they answer with which probability."""

from vlgauge.judges.questions import Answer, Judge, Opening, Question
from vlgauge.judges.served import ServedJudge
from vlgauge.judges.sources import EXPERT_HINT

__all__ = [
    "EXPERT_HINT",
    "Answer",
    "Judge",
    "Opening",
    "Question",
    "ServedJudge",
]
