"""Judge model on a server with OpenAI's chat completions API, such as vLLM. It is used only if it is passed explicitly.

The weights behind the server are unknown. Scores are therefore reproducible only as long as the server is unchanged.
"""

import base64
import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np

from vlgauge.checkpoints.hub import host_of
from vlgauge.checkpoints.hub.judge_server import check_url, complete
from vlgauge.core.errors import NetworkError, UsageError
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.validation import check_float, short_repr, warn
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.models.judges.completions import MAX_UNLISTED, Completion, InvalidResponseError, digits_of, read_completion
from vlgauge.models.judges.questions import Answer, Floats, PromptTemplate, Question

Result = TypeVar("Result")

N_LIKELIEST = 20  # maximum of OpenAI, and default maximum of vLLM
# Extensions of vLLM, needed because the files of a model may set a repetition penalty, and its template may enable
# thinking.
VLLM_FIELDS: Mapping[str, Any] = {"repetition_penalty": 1.0, "chat_template_kwargs": {"enable_thinking": False}}
_OURS = ("model", "messages", "logprobs", "top_logprobs", "temperature", "seed", "max_tokens", "stream", "n")
# Text that resembles a special token. A server does not report the special tokens of its model.
_LOOKS_SPECIAL = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{2,20}\]")
_NO_NAME = re.compile(r"[^\w./:-]", re.ASCII)


class ServedJudge:
    """`Judge` on a server: ``vlgauge.load("fleur", model=ServedJudge("http://127.0.0.1:8000/v1", "Qwen/..."))``.

    Requests need the extra ``openai``. Each distinct question is one request, and `batch_size` requests run at once.
    Answers that a failed call has received are reused by the next call.

    Args:
        url: Base URL of the API, such as ``http://127.0.0.1:8000/v1``. Plain http is allowed on this machine and in
            private networks only.
        model: Name of the model on the server.
        key_from: Name of the environment variable that contains the API key. None sends no key. The key is read for
            each request and not stored.
        fields: Additional fields of each request, which replace the default fields for vLLM (`VLLM_FIELDS`). Use ``{}``
            for servers that reject fields unknown to OpenAI.
        answer_seconds: Timeout in seconds of a connection, of each read of a response, and of its whole body.

    Raises:
        ValueError: If a setting is invalid.
    """

    dtype = "served"
    preparation = "own"

    def __init__(
        self,
        url: str,
        model: str,
        key_from: str | None = None,
        fields: Mapping[str, Any] | None = None,
        answer_seconds: float = 300.0,
    ) -> None:
        self._url = check_url(url)
        if not isinstance(model, str) or not model.strip() or not model.isprintable():
            raise UsageError.about("model", f"must be the name of the model on the server, got {short_repr(model)}")
        if key_from is not None and not (isinstance(key_from, str) and key_from.isidentifier()):
            # Do not show the value, because it may be the key itself.
            raise UsageError.about("key_from", "must be the name of an environment variable, not a key")
        self._model, self._key_from = model, key_from
        self._fields = dict(VLLM_FIELDS if fields is None else fields)
        if taken := [name for name in self._fields if name in _OURS]:
            raise UsageError.about(
                "fields", f"must not have fields that the metric sets, got {', '.join(map(short_repr, taken))}"
            )
        try:
            self._body = json.dumps(self._fields, allow_nan=False, sort_keys=True)
        except (TypeError, ValueError):
            raise UsageError.about(
                "fields", "must be serializable as JSON, got a value that is not serializable"
            ) from None
        self._seconds = check_float("answer_seconds", answer_seconds, "a number of seconds above 0", 0.001)
        self._joins_digits = False
        self._names: set[str] = set()
        self._kept: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return f"ServedJudge({self._url!r}, {self._model!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ServedJudge, (self._url, self._model, self._key_from, self._fields, self._seconds)

    @property
    def identity(self) -> str:
        """``served/`` and the name of the model, followed by the names that the server has reported.

        The reported names are in parentheses, together with a digest of custom `fields`. They can be empty before the
        first request.
        """
        others = sorted(self._names - {self._model})
        if self._body != json.dumps(dict(VLLM_FIELDS), sort_keys=True):
            others.append(f"fields-{hashlib.sha256(self._body.encode()).hexdigest()[:8]}")
        more = f"({','.join(_NO_NAME.sub('_', one)[:60] for one in others)})" if others else ""
        return f"served/{self._model}{more}"

    @property
    def reads_digits(self) -> bool:
        """Whether no answer so far has contained a token of several digits.

        A server does not report its tokenizer, so this is only known from its answers.
        """
        return not self._joins_digits

    def opening(self, opening: PromptTemplate) -> str:
        """Return "chat", because the server applies its own template."""
        return "chat"

    def find_altered(self, questions: Sequence[Question]) -> list[bool]:
        """Return which questions have a caption with text that resembles a special token, which is split."""
        return [any(map(_LOOKS_SPECIAL.search, question.captions)) for question in questions]

    def answers(
        self,
        questions: Sequence[Question],
        opening: PromptTemplate,
        *,
        longest: int,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Answer]:
        """Generate one answer per question. See `Judge`.

        The digit probabilities are NaN at positions where the server returns too few of them.

        Raises:
            NetworkError: If the server does not answer.
        """
        keys = [(question.key, longest) for question in questions]
        return self._ask(questions, keys, lambda i: self._answer(questions[i], longest), batch_size, progress)

    def chances(
        self,
        questions: Sequence[Question],
        answers: Sequence[str],
        opening: PromptTemplate,
        *,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Floats]:
        """Return the log-probability of answers of one token, and NaN for the end token, which servers do not return.

        An answer that is not among the most likely tokens has probability 0 if that is too low by at most
        `MAX_UNLISTED`, and NaN otherwise.

        Returns:
            Values of each answer, shape ``(2,)``.

        Warns:
            UserWarning: If there are such answers.

        Raises:
            ValueError: If an answer cannot be a single token. Nothing is requested in this case.
        """
        if several := [one for one in answers if len(one.split()) != 1]:
            raise UsageError.about(
                "answer",
                f"must be one word for {self.identity}, which returns probabilities of one token, got "
                f"{short_repr(several[0])}",
                "pass the model itself as `model` for longer ones",
            )
        keys = [(one.key, word) for one, word in zip(questions, answers, strict=True)]
        found = self._ask(questions, keys, lambda i: self._first_chance(questions[i], answers[i]), batch_size, progress)
        n_low, n_unknown = found.count(-math.inf), sum(map(math.isnan, found))
        if n_low or n_unknown:
            warn(
                f"{n_low + n_unknown} of {len(found)} answers are not among the most likely tokens that "
                f"{host_of(self._url)} returns: {n_low} count as 0, which is too low by at most {MAX_UNLISTED:g}, and "
                f"{n_unknown} are undefined"
            )
        return [np.array([one, math.nan]) for one in found]

    # -- requests ----------------------------------------------------------------------------------------------------
    def _ask(
        self,
        questions: Sequence[Question],
        keys: Sequence[Hashable],
        work: Callable[[int], Result],
        batch_size: int,
        progress: Progress,
    ) -> list[Result]:
        """Request each distinct question once, up to `batch_size` at a time, and return the results in input order."""
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        # Remove them, because another thread may take them at the same time.
        taken = {key: self._kept.pop(key, None) for key in first}
        found: dict[Hashable, Any] = {key: answers for key, answers in taken.items() if answers is not None}
        asked: dict[Future[Result], Hashable] = {}
        pool = ThreadPoolExecutor(batch_size)
        try:
            # Image reading settings are context variables, which new threads do not inherit.
            asked |= {
                pool.submit(copy_context().run, work, i): key
                for key, i in sorted(first.items(), key=lambda pair: pair[1])
                if key not in found
            }
            with progress_bar(len(asked), "Asking the judge", progress) as advance:
                for done in as_completed(asked):
                    found[asked[done]] = done.result()
                    advance(1)
        except BaseException as error:
            # Wait for running requests, except if the user interrupts.
            pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
            answered = [one for one in asked if one.done() and not one.cancelled() and one.exception() is None]
            self._kept |= found | {asked[one]: one.result() for one in answered}
            if not isinstance(error, NetworkError):
                raise
            n_done = len(first.keys() & self._kept.keys())
            raise NetworkError(
                f"the judge {self._model} answered {n_done} of {len(first)} questions ({error}); call the same "
                "metric again to request only the others",
                error.status,
            ) from None
        pool.shutdown()
        return [found[key] for key in keys]

    def _answer(self, question: Question, longest: int) -> Answer:
        completion = self._complete(question, longest)
        at, digits = digits_of(completion.tokens)
        if any(one.joins_digits for one in completion.tokens):
            self._joins_digits = True
        return Answer(completion.text, np.array(at, dtype=np.int64), np.array(digits).reshape(-1, 10), completion.ended)

    def _first_chance(self, question: Question, answer: str) -> float:
        """Return the log-probability of an answer as the first token. See `chances` for NaN and minus infinity."""
        completion = self._complete(question, 1)
        if not completion.tokens:
            raise NetworkError(f"{host_of(self._url)} returned no token, but one was requested")
        try:
            chance = completion.tokens[0].chance_of(answer)
        except InvalidResponseError as error:
            raise self._unreadable(error) from None
        if chance is None:
            return -math.inf if completion.tokens[0].max_unlisted_probability <= MAX_UNLISTED else math.nan
        return math.log(chance) if chance > 0 else -math.inf

    def _complete(self, question: Question, longest: int) -> Completion:
        method = {"logprobs": True, "top_logprobs": N_LIKELIEST, "temperature": 0, "seed": 0, "max_tokens": longest}
        asked = {"model": self._model, "messages": _turns(question), "stream": False, "n": 1}
        body = {**self._fields, **asked, **method}
        response = complete(self._url, body, key_from=self._key_from, seconds=self._seconds)
        try:
            found = read_completion(response, longest)
        except InvalidResponseError as error:
            raise self._unreadable(error) from None
        self._names.update(found.names)
        return found

    def _unreadable(self, error: InvalidResponseError) -> NetworkError:
        return NetworkError(f"{host_of(self._url)} {error}")


def _turns(question: Question) -> list[dict[str, Any]]:
    """Return a question as messages, with the image before the text."""
    text = _read(question)
    content: Any = text
    if question.image is not None:
        image = {"type": "image_url", "image_url": {"url": _data_url(question.image)}}
        content = [image, {"type": "text", "text": text}]
    turns = [{"role": "user", "content": content}]
    if question.again is not None:
        turns.append({"role": "assistant", "content": question.replied})
        turns.append({"role": "user", "content": _read(question.again)})
    return turns


def _read(question: Question) -> str:
    """Return the text of a question, with all text in captions split that resembles a special token."""
    return question.text(
        [_LOOKS_SPECIAL.sub(lambda found: f"{found[0][0]} {found[0][1:]}", caption) for caption in question.captions]
    )


def _data_url(image: LazyImage) -> str:
    """Encode an image as a data URL with lossless PNG in RGB."""
    opened = image.open()
    opened.info.pop("transparency", None)  # avoid Pillow's warning about lost transparency
    stream = io.BytesIO()
    opened.convert("RGB").save(stream, "PNG")
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
