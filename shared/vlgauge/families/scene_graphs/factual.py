"""Scene graphs by FACTUAL (Li et al., 2023), a T5 model that writes graphs such as "( dog , is , brown )"."""

import re
from collections.abc import Sequence

from vlgauge.checkpoints.torch_runtime import check_torch
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.validation import check_choice, check_int, warn
from vlgauge.families.scene_graphs.graph import Graph, Tuple, facts_in, merge_graphs
from vlgauge.families.scene_graphs.synsets import lemma
from vlgauge.inputs.text.language import split_sentences
from vlgauge.models.model_folders import find_model, look_for_model
from vlgauge.models.seq2seq import EXTRA, PACKAGES, T5, seq2seq

FACTUAL = "factual"
MODEL = "lizhuang144/flan-t5-base-VG-factual-sg"
HINT = 'or parser="factual:FOLDER" with a copy of it, or parser="rules"'
VARIANTS = ("paper", "released")
LONGEST = 64
"""Maximum number of tokens of a sentence in the authors' code by default."""

_PROMPT = "Generate Scene Graph: "
# Marks of verbs and numbers of senses in the output of models for FACTUAL's own format.
_MARKS = re.compile(r"\bp?v:|:\d+")


class FactualParser:
    """Scene graph parser that uses a T5 model, sentence by sentence. Each distinct sentence of a call is parsed once.

    Words of the graphs are replaced with noun lemmas, as in the authors' evaluation.

    Args:
        model: A folder, or an id on the Hub, ``owner/name`` or ``owner/name@commit``.
        variant: "paper" parses sentences separately and without truncation, so that a graph is independent of other
            captions. "released" follows the authors' code: captions are not split and are parsed in batches in the
            order of the call. Each one is truncated to ``longest`` tokens and to the number of tokens of the longest
            caption of its batch without the end token. The longest caption therefore loses its last token.
        beams: Beam width. The authors' tests use 1, and their default is 5.
        longest: Maximum number of input tokens with ``variant="released"``.
        most_tokens: Maximum number of output tokens per sentence.
        device: ``"auto"``, or a PyTorch device.
        batch_size: Number of sentences per forward pass.
        profile: "paper", or "embedded", under which nothing is downloaded.
    """

    def __init__(
        self,
        model: str = MODEL,
        *,
        variant: str = "paper",
        beams: int = 1,
        longest: int = LONGEST,
        most_tokens: int = 512,
        device: str = "auto",
        batch_size: int = 32,
        profile: str = "paper",
    ) -> None:
        self.variant = check_choice("variant", variant, VARIANTS)
        self.beams = check_int("beams", beams, 1)
        self.longest = check_int("longest", longest, 2)
        self.most_tokens = check_int("most_tokens", most_tokens, 2)
        self.batch_size = check_int("batch_size", batch_size, 1)
        self._model, self._device, self._profile = model, device, profile

    @property
    def identity(self) -> str:
        """Model and all settings that affect the graphs, for signatures."""
        found = find_model(self._model, T5, profile=self._profile, setting="parser", hint=HINT)
        cut = f"+released:{self.longest}" if self.variant == "released" else ""
        return f"factual-1+{found.identity}+beams:{self.beams}+tokens:{self.most_tokens}{cut}"

    def graphs(self, captions: Sequence[str], *, progress: Progress = None) -> list[Graph]:
        """Parse captions into graphs. A caption for which the model writes no graph has an empty graph.

        Warns:
            UserWarning: If the model wrote text that is not a graph, or a graph that does not end.
        """
        released = self.variant == "released"
        sentences = [[one.strip()] if released else split_sentences(one.lower()) for one in captions]
        written = self._generate([one for own in sentences for one in own], progress)
        graphs = {one: _graph(text) for one, (text, _) in written.items()}
        if broken := sum(graph is None for graph in graphs.values()):
            example = next(text for one, (text, _) in written.items() if graphs[one] is None)
            warn(
                f"the model of `parser` returned no graph for {broken} of {len(graphs)} sentences, but, for "
                f"example, {example!r:.60}; their graphs are empty"
            )
        if endless := sum(not ended for _, ended in written.values()):
            warn(
                f"{endless} of {len(written)} graphs were cut after {self.most_tokens} tokens; raise "
                "`most_tokens` of the parser, or split the captions into sentences"
            )
        return [merge_graphs(graphs[one] or Graph(()) for one in own) for own in sentences]

    def object_groups(self, captions: Sequence[str], *, progress: Progress = None) -> list[list[list[str]]]:
        """Return the objects of each caption, each as a list with a single name.

        Alternatives ("a dog or a cat") are returned as separate objects.
        """
        return [[[name] for name in graph.objects] for graph in self.graphs(captions, progress=progress)]

    def _generate(self, sentences: Sequence[str], progress: Progress) -> dict[str, tuple[str, bool]]:
        """Return the output of the model for each distinct sentence, and whether it ends."""
        distinct = list(dict.fromkeys(one for one in sentences if one))
        model = seq2seq(self._model, profile=self._profile, device=self._device, setting="parser", hint=HINT)
        ids = dict(zip(distinct, model.token_ids([_PROMPT + one for one in distinct]), strict=True))
        released = self.variant == "released"
        # Batches of sentences of similar length take the least time. A fixed order makes the batches
        # independent of the rows.
        order = distinct if released else sorted(distinct, key=lambda one: (len(ids[one]), one))
        found: dict[str, tuple[str, bool]] = {}
        with progress_bar(len(order), "Parsing sentences", progress) as advance:
            for start in range(0, len(order), self.batch_size):
                batch = order[start : start + self.batch_size]
                tokens = [ids[one] for one in batch]
                if released:
                    tokens = _cut(tokens, self.longest)
                written = model.written(tokens, beams=self.beams, most_tokens=self.most_tokens)
                found.update(zip(batch, written, strict=True))
                advance(len(batch))
        return found


def _cut(batch: Sequence[Sequence[int]], longest: int) -> list[list[int]]:
    """Truncate tokens like the authors' code, to the longest length without the end token, which is kept."""
    length = min(longest, max(len(own) - 1 for own in batch))
    return [list(own) if len(own) <= length else [*own[: length - 1], own[-1]] for own in batch]


def _graph(text: str) -> Graph | None:
    """Parse a graph from the output of a model, without truncated facts. None if there is no graph."""
    graph_text = _MARKS.sub("", text.replace(_PROMPT.strip(), "")).strip()
    if not graph_text:
        return Graph(())
    # If a single fact is truncated, the authors' code keeps its object.
    facts = facts_in(graph_text) or facts_in(f"{graph_text.partition(',')[0]} )" if graph_text.startswith("(") else "")
    return Graph.of(map(_lemmas, facts)) if facts else None


def _lemmas(parts: Tuple) -> Tuple:
    return tuple(" ".join(lemma(word, "noun") for word in part.split()) for part in parts)


def names_factual(parser: object) -> bool:
    """Return whether a setting `parser` selects FACTUAL: "factual", or "factual:" and a folder or an id on the Hub."""
    return isinstance(parser, str) and (parser == FACTUAL or parser.startswith(f"{FACTUAL}:"))


def look_for_factual(parser: str, profile: str) -> None:
    """Check the requirements of the parser of a setting, without downloading or loading anything.

    Raises:
        MissingExtraError: If a package is missing.
    """
    check_torch("`parser`", PACKAGES, EXTRA)
    look_for_model(model_of(parser), T5, profile=profile, setting="parser", hint=HINT)


def model_of(parser: str) -> str:
    """Return the model of a setting that selects FACTUAL."""
    return parser.partition(":")[2] or MODEL
