"""Selection of the noun phrases that are scored: no repetitions, and no pronouns or similar phrases."""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from vlgauge.inputs.text.word_lists import word_list

# Word list of the authors' code, 122 entries, case-sensitive.
NEVER_SCORED = word_list("never_scored_by_groovist")


@dataclass(frozen=True)
class StoryPhrases:
    """Phrases of one story.

    Attributes:
        kept: Scored phrases, in the order of the story.
        dropped: (phrase, reason) of the other phrases. The reason is "pronoun" or "repeated".
        sentences: Distinct phrases of each sentence, without pronouns.
    """

    kept: list[str] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    sentences: list[list[str]] = field(default_factory=list)


def story_phrases(
    sentences: Sequence[Sequence[str]], *, deduplicate: bool = True, drop_pronouns: bool = True
) -> StoryPhrases:
    """Apply the two filters of the authors' code to the phrases of each sentence.

    A phrase is dropped if it is a repetition within the story (exact string), or if the whole phrase is in
    `NEVER_SCORED`.

    Args:
        sentences: Phrases of each sentence.
        deduplicate: Whether to drop repetitions.
        drop_pronouns: Whether to drop pronouns and similar phrases.
    """
    story = StoryPhrases(
        sentences=[[phrase for phrase in dict.fromkeys(of) if phrase not in NEVER_SCORED] for of in sentences]
    )
    seen: set[str] = set()
    for phrase in (phrase for of in sentences for phrase in of):
        if drop_pronouns and phrase in NEVER_SCORED:
            story.dropped.append((phrase, "pronoun"))
        elif deduplicate and phrase in seen:
            story.dropped.append((phrase, "repeated"))
        else:
            story.kept.append(phrase)
        seen.add(phrase)
    return story
