"""A tiny German spaCy pipeline with parts of speech and a parser, trained in seconds on twenty sentences."""

from itertools import product

import spacy
from spacy.training import Example

_SUBJECTS = ["Der Hund", "Die Katze", "Ein Kind", "Das Mädchen", "Der Mann"]
_OBJECTS = ["einen Ball", "die Katze", "das Haus", "den Hund"]
_VERBS = ["jagt", "sieht", "findet"]


def _examples(nlp):
    """Yield sentences with the parts of speech, heads and labels of spaCy's German pipelines."""
    for i, (subject, thing) in enumerate(product(_SUBJECTS, _OBJECTS)):
        if i % 2:
            tags, heads = ["PRON", "VERB", "DET", "NOUN", "PUNCT"], [1, 1, 3, 1, 1]
            labels = ["sb", "ROOT", "nk", "oa", "punct"]
            subject = "Er" if i % 4 == 1 else "Es"
        else:
            tags, heads = ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"], [1, 2, 2, 4, 2, 2]
            labels = ["nk", "sb", "ROOT", "nk", "oa", "punct"]
        doc = nlp.make_doc(f"{subject} {_VERBS[i % 3]} {thing}.")
        yield Example.from_dict(doc, {"pos": tags, "morphs": [""] * len(tags), "heads": heads, "deps": labels})


def german_pipeline():
    """Train the pipeline, which finds the noun phrases of sentences such as "Er sieht den Hund."."""
    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("de")
    nlp.meta["name"], nlp.meta["version"] = "tiny", "1.2.3"
    nlp.add_pipe("morphologizer")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    examples = list(_examples(nlp))
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(12):
        nlp.update(examples, sgd=optimizer)
    return nlp
