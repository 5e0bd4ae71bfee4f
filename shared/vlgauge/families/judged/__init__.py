"""Family of the metrics that ask a judge model: base class and settings."""

from vlgauge.families.judged.metric import (
    IMAGE_COLUMNS,
    TEXT_COLUMNS,
    JudgeMetric,
    check_model,
    describe_answer,
    lazy_images_of,
)
from vlgauge.families.judged.question_graphs import (
    QuestionGraph,
    QuestionTable,
    apply_dependencies,
    dsg_score,
    graph_of,
)
from vlgauge.families.judged.question_writing import PROMPT_VERSION, WRITING, parse_graph, writing_prompt
from vlgauge.families.judged.scene_questions import SCENE_RULES, scene_graph_questions

__all__ = [
    "IMAGE_COLUMNS",
    "PROMPT_VERSION",
    "SCENE_RULES",
    "TEXT_COLUMNS",
    "WRITING",
    "JudgeMetric",
    "QuestionGraph",
    "QuestionTable",
    "apply_dependencies",
    "check_model",
    "describe_answer",
    "dsg_score",
    "graph_of",
    "lazy_images_of",
    "parse_graph",
    "scene_graph_questions",
    "writing_prompt",
]
