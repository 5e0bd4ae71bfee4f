"""Family of the metrics that ask a judge model: base class and settings."""

from vlgauge.families.judged.metric import IMAGE_COLUMNS, TEXT_COLUMNS, JudgeMetric, checked_model, pictures_of
from vlgauge.families.judged.question_graphs import (
    GraphQuestion,
    QuestionGraph,
    QuestionTable,
    counted_answers,
    dsg_score,
    graph_of,
)
from vlgauge.families.judged.question_writing import PROMPT_VERSION, WRITING, parsed_graph, writing_prompt
from vlgauge.families.judged.scene_questions import SCENE_RULES, scene_graph_questions

__all__ = [
    "IMAGE_COLUMNS",
    "PROMPT_VERSION",
    "SCENE_RULES",
    "TEXT_COLUMNS",
    "WRITING",
    "GraphQuestion",
    "JudgeMetric",
    "QuestionGraph",
    "QuestionTable",
    "checked_model",
    "counted_answers",
    "dsg_score",
    "graph_of",
    "parsed_graph",
    "pictures_of",
    "scene_graph_questions",
    "writing_prompt",
]
