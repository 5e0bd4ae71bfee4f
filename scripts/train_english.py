"""Train the small English pipeline of the profile "embedded", or measure the one that is shipped.

DIR holds train, dev and test of UD English EWT (https://github.com/UniversalDependencies/UD_English-EWT) as
train.conllu, dev.conllu and test.conllu, perhaps packed by gzip. Tagger, parts of speech and parser share one small
network; the trees are those of `english_trees`. The same seed gives the same pipeline on the same machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from english_scenes import scene_trees
from english_stories import story_trees
from english_trees import Tree
from english_trees import find_split
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed

from vlgauge.english import FOLDER
from vlgauge.english import PIPELINE
from vlgauge.english import RECORD
from vlgauge.english import english_pipeline
from vlgauge.english import packed
from vlgauge.english import unpacked
from vlgauge.progress import progress_bar
from vlgauge.scenes import scenes
from vlgauge.scenes import stories
from vlgauge.scenes.wording import statement

WIDTH = 96
# Chunks of sentences about scenes that are right beside those of objects and backgrounds.
ALSO_RIGHT = frozenset({"a picture", "the left", "the right", "that", "this", "all"})
ROWS = {"NORM": 3000, "PREFIX": 800, "SUFFIX": 1600, "SHAPE": 400}
BATCH_WORDS = (200, 1000)  # in the first epoch and from the last third on


def gold_doc(nlp: Language, tree: Tree) -> Doc:
    """The tree as a document of spaCy."""
    return Doc(
        nlp.vocab,
        words=tree.words,
        spaces=tree.spaces,
        tags=tree.tags,
        pos=tree.parts,
        heads=tree.heads,
        deps=tree.labels,
    )


def example(nlp: Language, tree: Tree) -> Example:
    """What the tokenizer makes of the text, beside the tree; tokens that differ are aligned."""
    gold = gold_doc(nlp, tree)
    return Example(nlp.make_doc(gold.text), gold)


def varied(tree: Tree, rng: np.random.Generator) -> Tree:
    """The tree as a caption might spell it: perhaps in lower case, with spaces around every token, without its stop."""
    lower, spaced, open_ended = rng.random(3) < (0.3, 0.2, 0.25)
    last = len(tree.words) - 1
    if open_ended and tree.labels[last] == "punct" and last not in tree.heads:
        tree = Tree(*(values[:-1] for values in vars(tree).values()))
    if lower:
        tree = replace(tree, words=[word.lower() for word in tree.words])
    return replace(tree, spaces=[True] * len(tree.words)) if spaced else tree


def new_pipeline(examples: Sequence[Example]) -> Language:
    """An untrained pipeline whose labels are those of the examples."""
    nlp = spacy.blank("en")
    encode = {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": WIDTH, "window_size": 1, "maxout_pieces": 3}
    embed = {"@architectures": "spacy.MultiHashEmbed.v2", "width": WIDTH, "include_static_vectors": False}
    nlp.add_pipe(
        "tok2vec",
        config={
            "model": {
                "@architectures": "spacy.Tok2Vec.v2",
                "embed": {**embed, "attrs": list(ROWS), "rows": list(ROWS.values())},
                "encode": {**encode, "depth": 4},
            }
        },
    )
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH}
    for name in ("tagger", "morphologizer"):
        nlp.add_pipe(name, config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}})
    nlp.add_pipe("parser", config={"model": {**_PARSER, "tok2vec": listener}})
    nlp.initialize(lambda: examples)
    return nlp


_PARSER = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "parser",
    "extra_state_tokens": False,
    "hidden_width": 64,
    "maxout_pieces": 2,
    "use_upper": True,
}


def word_batches(trees: Sequence[Tree], n_words: int, rng: np.random.Generator) -> Iterator[list[Tree]]:
    """The trees in a new order, in batches of about so many words."""
    batch: list[Tree] = []
    for i in rng.permutation(len(trees)):
        batch.append(trees[i])
        if sum(len(tree.words) for tree in batch) >= n_words:
            yield batch
            batch = []
    if batch:
        yield batch


def train(trees: Sequence[Tree], dev: Sequence[Tree], *, epochs: int, seed: int) -> Language:
    """Train a pipeline; the epoch with the best noun chunks on the development trees is kept."""
    fix_random_seed(seed)  # thinc draws its weights and dropout from the global generators
    blank = spacy.blank("en")
    nlp = new_pipeline([example(blank, tree) for tree in trees])
    optimizer = nlp.create_optimizer()
    rng = np.random.default_rng(seed)
    best, kept = -1.0, nlp.to_bytes()
    with progress_bar(epochs * len(trees), "Training") as advance:
        for epoch in range(epochs):
            started = time.monotonic()
            share = min(1.0, 1.5 * epoch / max(epochs - 1, 1))
            optimizer.learn_rate = 1e-3 * (1 - 0.9 * epoch / epochs)
            for batch in word_batches(trees, round(BATCH_WORDS[0] + share * (BATCH_WORDS[1] - BATCH_WORDS[0])), rng):
                nlp.update([example(nlp, varied(tree, rng)) for tree in batch], sgd=optimizer, drop=0.15)
                advance(len(batch))
            with nlp.use_params(optimizer.averages):
                scores = evaluate_pipeline(nlp, dev)
                if scores["noun_chunks_f"] > best:
                    best, kept = scores["noun_chunks_f"], nlp.to_bytes()
            seconds = time.monotonic() - started
            print(f"epoch {epoch + 1}: {_line(scores)} ({seconds:.0f} s)", flush=True)
    return nlp.from_bytes(kept)


def chunk_spans(doc: Doc) -> set[tuple[int, int]]:
    """Noun chunks as (first, end) characters."""
    return {(chunk.start_char, chunk.end_char) for chunk in doc.noun_chunks}


def evaluate_pipeline(nlp: Language, trees: Sequence[Tree]) -> dict[str, float]:
    """Accuracy on raw text.

    Returns:
        Accuracy of Penn tags (`tag`), of universal parts of speech (`pos`), share of right heads (`uas`) and of right
        heads with right labels (`las`), and F1 of noun chunks (`noun_chunks_f`, by characters, with `_p` and `_r`) and
        of nouns (`nouns_f`).
    """
    gold = [gold_doc(nlp, tree) for tree in trees]
    predicted = list(nlp.pipe(doc.text for doc in gold))
    scores = _token_scores(nlp, predicted, gold)
    chunks = [(chunk_spans(doc), chunk_spans(true)) for doc, true in zip(predicted, gold, strict=True)]
    nouns = [(noun_spans(doc), noun_spans(true)) for doc, true in zip(predicted, gold, strict=True)]
    precision, recall, f1 = _precision_recall_f1(chunks)
    return {
        **scores,
        "noun_chunks_p": precision,
        "noun_chunks_r": recall,
        "noun_chunks_f": f1,
        "nouns_f": _precision_recall_f1(nouns)[2],
    }


def noun_spans(doc: Doc) -> set[tuple[int, int]]:
    """Tokens tagged as nouns, as (first, end) characters."""
    return {(token.idx, token.idx + len(token)) for token in doc if token.tag_.startswith("NN")}


def _token_scores(nlp: Language, predicted: Sequence[Doc], gold: Sequence[Doc]) -> dict[str, float]:
    examples = [Example(doc, true) for doc, true in zip(predicted, gold, strict=True)]
    found: dict[str, Any] = {}
    for name in ("tagger", "morphologizer", "parser"):
        pipe: Any = nlp.get_pipe(name)
        found |= pipe.score(examples)
    return {"tag": found["tag_acc"], "pos": found["pos_acc"], "uas": found["dep_uas"], "las": found["dep_las"]}


def _precision_recall_f1(pairs: Sequence[tuple[set[Any], set[Any]]]) -> tuple[float, float, float]:
    right = sum(len(found & true) for found, true in pairs)
    n_found, n_true = sum(len(found) for found, _ in pairs), sum(len(true) for _, true in pairs)
    return right / max(n_found, 1), right / max(n_true, 1), 2 * right / max(n_found + n_true, 1)


def _line(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * value:.2f}" for name, value in scores.items())


def in_lower_case(trees: Sequence[Tree]) -> list[Tree]:
    """The trees with all words in lower case and spaces between them, as in published story corpora."""
    return [
        replace(tree, words=[word.lower() for word in tree.words], spaces=[True] * len(tree.words)) for tree in trees
    ]


def measured(nlp: Language, test: Sequence[Tree], n_scenes: int) -> dict[str, dict[str, float]]:
    """Scores on the test trees, as they are and in lower case, rounded to four digits."""
    found = {
        "test": evaluate_pipeline(nlp, test),
        "test_lower_case": evaluate_pipeline(nlp, in_lower_case(test)),
        "scenes": {"noun_phrases_exact": scene_accuracy(nlp, n_scenes)},
        "told": {"noun_phrases_exact": told_accuracy(nlp, 2 * n_scenes)},
    }
    return {name: {key: round(value, 4) for key, value in scores.items()} for name, scores in found.items()}


def scene_accuracy(nlp: Language, n: int, seed: int = 7) -> float:
    """Share of sentences about drawn scenes of the test split whose noun phrases are all right."""
    pairs = scene_sentences(n, seed, "test")
    docs = nlp.pipe(text for text, _ in pairs)
    right = 0
    for doc, (_, phrases) in zip(docs, pairs, strict=True):
        chunks = [chunk.text.lower() for chunk in doc.noun_chunks]
        right += [chunk for chunk in chunks if chunk not in ALSO_RIGHT] == phrases
    return right / len(pairs)


def told_accuracy(nlp: Language, n: int, seed: int = 7) -> float:
    """Share of other sentences of the grammar of `english_stories` whose noun phrases are all right."""
    gold = [gold_doc(nlp, tree) for tree in story_trees(n, seed)]
    docs = nlp.pipe(doc.text for doc in gold)
    return sum(chunk_spans(doc) == chunk_spans(true) for doc, true in zip(docs, gold, strict=True)) / n


def scene_sentences(n: int, seed: int, split: str) -> list[tuple[str, list[str]]]:
    """So many captions and as many stories of five sentences, each with its noun phrases."""
    rng = np.random.default_rng(seed)
    said = [statement(scene, rng, complete=i % 2 == 0) for i, scene in enumerate(scenes(n, seed, split))]
    said += [each for story in stories(n // 5, seed, split) for each in story.statements]
    return [(each.text, [phrase.lower() for phrase in each.phrases]) for each in said]


def write_pipeline(nlp: Language, folder: Path, trained: dict[str, Any], test: Sequence[Tree], n_scenes: int) -> None:
    """Write the packed pipeline, and its record with the accuracy of what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    data = packed(nlp)
    (folder / PIPELINE).write_bytes(data)
    record = {
        "name": "vlgauge-english",
        "sha256": hashlib.sha256(data).hexdigest(),
        "spacy": ">=3.8,<4",
        "treebank": "UD English EWT, https://github.com/UniversalDependencies/UD_English-EWT",
        "licence": "CC BY-SA 4.0",
        "trained": trained,
        "accuracy": measured(unpacked(data), test, n_scenes),
    }
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"{folder / PIPELINE}: {len(data)} bytes, sha256 {record['sha256']}")


def main(arguments: list[str] | None = None) -> int:
    """Train and write, or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder with train, dev and test of UD English EWT")
    parser.add_argument("--evaluate", action="store_true", help="measure the pipeline in --target, train nothing")
    parser.add_argument("--target", type=Path, default=FOLDER, help="folder to write to (default: that of the package)")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=800, help="sentences made by the grammar of english_scenes")
    parser.add_argument("--told", type=int, default=500, help="sentences made by the grammar of english_stories")
    parser.add_argument("--limit", type=int, help="read only so many trees of each split")
    options = parser.parse_args(arguments)
    test = find_split(options.folder, "test")[: options.limit]
    n_scenes = min(500, options.limit or 500)
    if not options.evaluate:
        trees, dev = (find_split(options.folder, split)[: options.limit] for split in ("train", "dev"))
        made = [*scene_trees(options.scenes, options.seed), *story_trees(options.told, options.seed)]
        nlp = train([*trees, *made], dev, epochs=options.epochs, seed=options.seed)
        trained = {"epochs": options.epochs, "seed": options.seed, "trees": len(trees), "made_by_grammar": len(made)}
        trained["spacy"] = spacy.__version__
        write_pipeline(nlp, options.target, trained, test, n_scenes)
    for name, values in measured(english_pipeline(options.target), test, n_scenes).items():
        print(f"{name}: {_line(values)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
