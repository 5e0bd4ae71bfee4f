"""METEOR by other programs, where numbers must be theirs: NLTK, and METEOR 1.5, which is written in Java."""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from vlgauge.distances.meteor import VARIANT, Floats, Tokenizer, Tokens, computed_once, meteor_matrices, tokenized
from vlgauge.errors import MissingExtraError, MissingFileError, WeightsNotFoundError
from vlgauge.installed import importing
from vlgauge.text.coco_tokens import coco_tokens
from vlgauge.weights.files import sha256_of
from vlgauge.weights.preflight import Preflight

BACKENDS = ("own", "nltk", "meteor-1.5")

Examples: TypeAlias = Iterable[Sequence[str]]

# The separator of the protocol, and what Java's readers take for the end of a line.
_UNSENDABLE = re.compile(r"\|\|\||[\r\n]")


@dataclass(frozen=True)
class Meteor:
    """One way to compute METEOR.

    Attributes:
        variant: What the numbers depend on, such as ``meteor-2007+wn3.0``, for signatures.
        matrices: Makes from the captions of each example a matrix of directed distances, as
            `vlgauge.distances.meteor.meteor_matrices` does.
    """

    variant: str
    matrices: Callable[[Examples], Iterator[Floats]]


@contextmanager
def open_meteor(
    backend: str = "own",
    *,
    jar: str | Path | None = None,
    tokenizer: Tokenizer = coco_tokens,
    workers: int = 1,
) -> Iterator[Meteor]:
    """Context with one way to compute METEOR; a Java process ends with it.

    Args:
        backend: "own" (`vlgauge.distances.meteor`), "nltk" (an installed NLTK with its WordNet data; the same numbers,
            slower) or "meteor-1.5" (Java and a jar; other numbers).
        jar: The file meteor-1.5.jar; by default that of an installed pycocoevalcap.
        tokenizer: Splits a caption into tokens; METEOR 1.5 gets them joined by spaces.
        workers: Number of processes of "own"; the others compute in one.
    """
    if backend == "own":
        yield Meteor(VARIANT, lambda texts: meteor_matrices(texts, tokenizer=tokenizer, workers=workers))
    elif backend == "nltk":
        variant, score = nltk_meteor()
        yield Meteor(variant, lambda texts: _matrices(texts, tokenizer, lambda captions: _scores(captions, score)))
    else:
        preflight = Preflight("METEOR 1.5", "trm")
        preflight.look(lambda: meteor_jar(jar))
        preflight.look(_java)
        preflight.end()
        file = meteor_jar(jar)
        # Any jar can be given; that of pycocoevalcap is known.
        variant = "meteor-1.5" if jar is None else f"meteor-1.5@{sha256_of(file)[:8]}"
        with MeteorProcess(file) as process:
            yield Meteor(variant, lambda texts: _matrices(texts, tokenizer, process.scores))


def nltk_meteor() -> tuple[str, Callable[[Tokens, Tokens], float]]:
    """The variant of the METEOR of an installed NLTK, and its function of reference and hypothesis."""
    with importing("`backend='nltk'` needs NLTK, which cannot be imported here; run pip install nltk"):
        import nltk
        from nltk.corpus import wordnet
        from nltk.translate.meteor_score import single_meteor_score
    try:
        version = wordnet.get_version()
    except LookupError:
        # NLTK's own message is a banner of twenty lines.
        raise WeightsNotFoundError(
            "`backend='nltk'` needs NLTK's data set wordnet, found in no folder that NLTK searches; "
            "run python -m nltk.downloader wordnet or set NLTK_DATA to the folder that has it"
        ) from None
    return f"meteor-2007+nltk{nltk.__version__}+wn{version}", single_meteor_score


def meteor_jar(jar: str | Path | None = None) -> Path:
    """The file meteor-1.5.jar: the given one, or that of an installed pycocoevalcap."""
    if jar is None:
        package = importlib.util.find_spec("pycocoevalcap")
        if package is None or not package.submodule_search_locations:
            raise MissingExtraError(
                "`backend='meteor-1.5'` needs the jar of pycocoevalcap, which is not installed here; "
                "run pip install pycocoevalcap or pass `jar`"
            )
        jar = Path(package.submodule_search_locations[0]) / "meteor" / "meteor-1.5.jar"
    path = Path(jar).resolve()
    if not path.is_file():
        raise MissingFileError(f"`jar` must be the file meteor-1.5.jar, got {str(path)!r}, which is no file")
    return path


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        raise MissingFileError(
            "`backend='meteor-1.5'` needs Java, and no program named java is on the PATH; install a Java runtime"
        )
    return java


class MeteorProcess:
    """A running METEOR 1.5 (Denkowski and Lavie, 2014), as the COCO caption evaluation calls it; close it after use.

    Args:
        jar: The file meteor-1.5.jar, beside its folder data.
    """

    def __init__(self, jar: Path) -> None:
        java = _java()
        # The encoding, because Java before 18 would take that of the locale.
        options = ["-Duser.language=en", "-Duser.country=US", "-Dfile.encoding=UTF-8", "-Xmx2G"]
        self._process = subprocess.Popen(
            [java, *options, "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"],
            cwd=jar.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )

    def __enter__(self) -> "MeteorProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def scores(self, captions: list[Tokens]) -> Floats:
        """METEOR of every ordered pair of tokenized captions, shape ``(N, N)``, the reference first.

        Raises:
            RuntimeError: If the process has ended.
        """
        texts = [_UNSENDABLE.sub(" ", " ".join(tokens)) for tokens in captions]
        pairs = [self._answers(f"SCORE ||| {reference} ||| {text}", 1)[0] for reference in texts for text in texts]
        if not pairs:
            return np.empty((0, 0))
        # One score per pair, and that of all pairs together.
        answers = self._answers(" ||| ".join(["EVAL", *pairs]), len(pairs) + 1)
        return np.array(answers[:-1], dtype=np.float64).reshape(len(texts), len(texts))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            # What was not sent any more is given up.
            with suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]

    def _answers(self, request: str, count: int) -> list[str]:
        """Send one line, read `count` lines."""
        to_java, from_java, errors = self._process.stdin, self._process.stdout, self._process.stderr
        assert to_java is not None
        assert from_java is not None
        assert errors is not None
        with suppress(BrokenPipeError):
            to_java.write(request + "\n")
            to_java.flush()
        answers = [line for _ in range(count) if (line := from_java.readline())]
        if len(answers) < count:
            # Java greets with "Picked up JAVA_TOOL_OPTIONS" where that is set.
            said = (line.strip() for line in errors.read().splitlines() if not line.startswith("Picked up "))
            reason = next(filter(None, said), "without a word")
            raise RuntimeError(f"METEOR 1.5 must answer every pair of captions, but it ended: {reason}")
        return [answer.rstrip("\n") for answer in answers]


def _scores(captions: list[Tokens], score: Callable[[Tokens, Tokens], float]) -> Floats:
    """A score of every ordered pair, shape ``(N, N)``, the reference first."""
    pairs = [score(reference, hypothesis) for reference in captions for hypothesis in captions]
    return np.array(pairs, dtype=np.float64).reshape(len(captions), len(captions))


def _matrices(examples: Examples, tokenizer: Tokenizer, scores: Callable[[list[Tokens]], Floats]) -> Iterator[Floats]:
    """Directed distances of each example."""
    return (1 - computed_once(tokenized(texts, tokenizer), scores) for texts in examples)
