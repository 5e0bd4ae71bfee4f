"""Cases of this metric for the tests of all metrics."""

from signature_cases import by_line, each_of


def changes(files):
    own = {"checkpoint": files.grounding(0), "glove_path": files.vectors(0), "idf": None, "regions": "whole"}
    named = {name: value for name, value in own.items() if name != "regions"}
    return {
        **each_of(own, checkpoint=(files.grounding(0), files.grounding(1))),
        **each_of(own, glove_path=(files.vectors(0), files.vectors(1)), idf=({"dog": 1.0}, {"dog": 2.0})),
        **each_of(own, oov=(None, "skip"), aggregate=(None, "mean"), scale=(None, True), nouns=("one", "two")),
        **each_of(own, sentences=(None, by_line), placeholders=(None, "all"), regions=("whole", "grid")),
        **each_of(own, top_k=(None, 1), min_score=(None, 0.5)),
        **each_of(named, detector_weights=("one", "two")),
    }


def named(files):
    own = {"checkpoint": files.grounding(0), "glove_path": files.vectors(0), "idf": {"dog": 1.0}}
    return {"profile": "embedded", **own}
