"""Judge models of images and text: the protocol, the questions, and the answers with their probabilities."""

from vlgauge.models.judges.questions import Answer, Judge, PromptTemplate, Question
from vlgauge.models.judges.served import ServedJudge
from vlgauge.models.judges.sources import EXPERT_HINT

__all__ = [
    "EXPERT_HINT",
    "Answer",
    "Judge",
    "PromptTemplate",
    "Question",
    "ServedJudge",
]
