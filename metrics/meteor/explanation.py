"""METEOR: the words of a caption that match those of its references."""

from collections.abc import Sequence

from vlgauge.explain.marks import Mark
from vlgauge.explain.referenced import ReferencedCaption
from vlgauge.text.porter import porter_stem


class Meteor(ReferencedCaption):
    """Captions with the words marked whose stem a reference has too."""

    name = "meteor"
    reading = (
        "The score is how well the words match those of the best reference: as they are, by stem, or by synonym.",
        "Matches that do not stand side by side cost up to half of it, as the right words in the wrong order do.",
        "This is METEOR of 2007, as NLTK has it: never compare it with METEOR 1.5 of the COCO caption evaluation.",
    )

    match = "match one of a reference by form or stem"

    def mark_alone(self, token: str) -> Mark | None:
        """None: a synonym may match it, which is told by the score alone."""
        return None

    def is_shared(self, token: str, references: Sequence[Sequence[str]]) -> bool:
        """Whether a reference has a word of the same stem."""
        return any(porter_stem(token) in map(porter_stem, tokens) for tokens in references)
