"""Judge model of the transformers library, which answers questions about captions and images."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from PIL import Image, ImageOps

from vlgauge.checkpoints.torch_runtime import check_fork, exact
from vlgauge.core.errors import UsageError, short_reason
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.models.judges.image_features import ImageFeatureCache
from vlgauge.models.judges.questions import Answer, Floats, PromptTemplate, Question
from vlgauge.models.judges.special import SpecialTokens
from vlgauge.models.padding import pad_rows

if TYPE_CHECKING:
    import torch

Result = TypeVar("Result")

# Inputs with one number per token.
_BY_TOKEN = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids")
_IMAGE = "<image>"
_THOUGHT = "<think>"
# Padding color of images, for models whose image processor has no mean. It is the mean of CLIP.
_CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)


@dataclass(frozen=True)
class Parts:
    """Model, tokenizer and processor of a judge.

    Attributes:
        kind: "llava" and "clip_t5" use the opening of the method, "chat" and "text" use their chat templates, and
            "paligemma" has no template and uses the question only.
        model: The model in evaluation mode, on its device.
        tokenizer: The tokenizer.
        processor: Processor of text and images. None for a text-only model.
        embedded: For CLIP-FlanT5: function that returns the encoder inputs for the two halves of a prompt and the
            encoded image.
    """

    kind: str
    model: Any
    tokenizer: Any
    processor: Any = None
    embedded: Callable[[Sequence[int], torch.Tensor | None, Sequence[int]], torch.Tensor] | None = None


@dataclass
class _Prepared:
    """Model inputs of one question, as tensors with one row.

    Attributes:
        inputs: The tensors by name.
        answer: Token ids of an answer to be scored.
        image: Key of the image. Empty without an image, or if gradients are needed.
    """

    inputs: dict[str, torch.Tensor]
    answer: list[int] = field(default_factory=list)
    image: bytes = b""  # key of the image, or empty

    @property
    def length(self) -> int:
        return int(self.inputs["attention_mask"].shape[1]) + len(self.answer)

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Shapes that must be equal for questions in the same batch."""
        others = {name: tuple(value.shape[1:]) for name, value in self.inputs.items() if name not in _BY_TOKEN}
        return tuple(sorted((name, shape) for name, shape in others.items() if name != "inputs_embeds"))


class LoadedJudge:
    """Loaded model of the transformers library, which processes each distinct question once per call.

    Attributes:
        forwards: Number of questions processed by the model so far.
    """

    def __init__(self, identity: str, parts: Parts, dtype: str) -> None:
        from transformers import GenerationConfig

        self.identity, self.dtype = identity, dtype
        self.forwards = 0
        self._parts, self._model, self._tokenizer = parts, parts.model, parts.tokenizer
        self._special = SpecialTokens(self._tokenizer)
        self._features = ImageFeatureCache(self._model)
        self._is_decoder = not getattr(self._model.config, "is_encoder_decoder", False)
        old = self._model.generation_config
        stops = old.eos_token_id if isinstance(old.eos_token_id, list) else [old.eos_token_id]
        self._stops = sorted({stop for stop in [*stops, self._tokenizer.eos_token_id] if stop is not None})
        if not self._stops:
            raise UsageError.about("model", f"must have an end token, got none in {identity!r}")
        pad = self._tokenizer.pad_token_id
        self._pad = self._stops[0] if pad is None else pad
        # The files of a model may request sampling, or penalties that change the most likely token.
        self._model.generation_config = GenerationConfig(
            do_sample=False,
            num_beams=1,
            eos_token_id=self._stops,
            pad_token_id=self._pad,
            decoder_start_token_id=getattr(self._model.config, "decoder_start_token_id", None),
        )
        self._digits = [self._special.plain_ids(str(digit))[-1] for digit in range(10)]
        self._digit_of = {token: self._digits.index(token) for token in self._digits}
        # Tokenizers are not thread-safe ("Already borrowed").
        self._lock = threading.Lock()

    @property
    def model(self) -> torch.nn.Module:
        """The torch module. It must not be changed except for training through this judge."""
        return self._model

    @property
    def preparation(self) -> str:
        """Processing of an image before the preprocessing of the model, for signatures.

        "square" for LLaVA and CLIP-FlanT5, which were trained on images padded to a square, and "own" for other models.
        """
        return "square" if self._parts.kind in ("llava", "clip_t5") else "own"

    @property
    def reads_digits(self) -> bool:
        """Whether each digit of a number is a separate token."""
        if len(set(self._digits)) < 10:
            return False
        numbers = " ".join([*(f"0.{decimals:02d}" for decimals in range(100)), "100", "7392"])
        found = [self._digit_of[token] for token in self._special.plain_ids(numbers) if token in self._digit_of]
        return found == [int(sign) for sign in numbers if sign.isdigit()]

    def opening(self, opening: PromptTemplate) -> str:
        """Return the name of the method's opening for models trained with one, or otherwise "chat" or "none"."""
        if self._parts.kind in ("llava", "clip_t5"):
            return opening.name
        return "chat" if self._template is not None else "none"

    def find_altered(self, questions: Sequence[Question]) -> list[bool]:
        """Return which questions have a caption that spells a special token."""
        return [any(map(self._special.are_in, question.captions)) for question in questions]

    def answers(
        self,
        questions: Sequence[Question],
        opening: PromptTemplate,
        *,
        longest: int,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Answer]:
        """Generate one greedy answer per question. See `Judge`.

        Raises:
            ValueError: If an image cannot be read, or a prompt is too long.
        """
        keys, work = [question.key for question in questions], partial(self._generate, longest=longest)
        return self._ask(questions, keys, lambda i: self._prepare(questions[i], opening), work, batch_size, progress)

    def chances(
        self,
        questions: Sequence[Question],
        answers: Sequence[str],
        opening: PromptTemplate,
        *,
        batch_size: int = 1,
        progress: Progress = None,
    ) -> list[Floats]:
        """Compute the log-probability of each token of the answers and of the end token. See `Judge`.

        Returns:
            Natural log-probabilities, shape ``(n_tokens + 1,)`` per question, float64.

        Raises:
            ValueError: If an image cannot be read, or a prompt is too long.
        """

        def scored(batch: Sequence[_Prepared]) -> list[Floats]:
            return [row.double().cpu().numpy() for row in self.log_chances(batch)]

        keys = [(question.key, answer) for question, answer in zip(questions, answers, strict=True)]
        return self._ask(
            questions, keys, lambda i: self._prepare(questions[i], opening, answers[i]), scored, batch_size, progress
        )

    def differentiable_chances(
        self,
        questions: Sequence[Question],
        answers: Sequence[str],
        opening: PromptTemplate,
        pixels: torch.Tensor | None = None,
    ) -> list[torch.Tensor]:
        """Compute `chances` in one forward pass, as tensors that support gradients.

        Args:
            questions: The questions.
            answers: One answer per question.
            opening: Text around each question.
            pixels: Pixels that replace the images, as input of the image tower of LLaVA or CLIP-FlanT5, shape ``(n, 3,
                height, width)``. None to use the images of the questions.

        Returns:
            Log-probabilities of each answer, shape ``(n_tokens + 1,)``.

        Raises:
            ValueError: If pixels are passed to another kind of model.
        """
        if pixels is not None and self._parts.kind not in ("llava", "clip_t5"):
            raise UsageError.about(
                "pixels", f"is not supported for {self.identity!r}, which computes its patches itself"
            )
        rows = [None] * len(questions) if pixels is None else pixels.split(1)
        asked = zip(questions, answers, rows, strict=True)
        return self.log_chances([self._prepare(one, opening, answer, row) for one, answer, row in asked])

    # -- in batches --------------------------------------------------------------------------------------------------
    def _ask(
        self,
        questions: Sequence[Question],
        keys: Sequence[Any],
        prepare: Callable[[int], _Prepared],
        work: Callable[[Sequence[_Prepared]], list[Result]],
        batch_size: int,
        progress: Progress,
    ) -> list[Result]:
        """Process each distinct question once, in batches that do not depend on the order of the questions."""
        check_fork()
        first: dict[Any, int] = {}
        for i, key in enumerate(keys):
            first.setdefault(key, i)
        # Ask all questions about an image in a row, so that its features are still cached.
        seen = {key: questions[i].image_key for key, i in first.items()}
        shortest: dict[bytes, int] = {}
        for key in first:
            shortest[seen[key]] = min(len(str(key)), shortest.get(seen[key], sys.maxsize))
        order = sorted(first, key=lambda key: (shortest[seen[key]], seen[key], len(str(key)), repr(key)))
        found: dict[Any, Result] = {}
        with progress_bar(len(order), "Asking the judge", progress) as advance:
            for start in range(0, len(order), batch_size):
                batch = order[start : start + batch_size]
                with exact(self._model.device):
                    prepared = [self._check_length(prepare(first[key])) for key in batch]
                    for one, key in zip(prepared, batch, strict=True):
                        one.image = seen[key]
                    for rows in _alike(prepared):
                        for row, result in zip(rows, work([prepared[row] for row in rows]), strict=True):
                            found[batch[row]] = result
                self.forwards += len(batch)
                advance(len(batch))
        return [found[key] for key in keys]

    def _generate(self, batch: Sequence[_Prepared], longest: int) -> list[Answer]:
        """Generate the greedy answers of a batch."""
        import torch
        from transformers import LogitsProcessorList

        inputs = self._collate(batch, left=self._is_decoder)
        seen: list[torch.Tensor] = []

        def remember(_: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
            seen.append(torch.softmax(logits.float(), dim=-1)[:, self._digits].cpu())
            return logits

        with self._features.of([one.image for one in batch]):
            written = self._model.generate(
                **inputs, max_new_tokens=longest, logits_processor=LogitsProcessorList([remember])
            )
        # The output begins with the question, except if the model received embeddings instead of it.
        given = written.shape[1] - len(seen)
        digits = torch.stack(seen, dim=1).double().numpy()
        return [self._answer(ids[given:].tolist(), digits[row]) for row, ids in enumerate(written.cpu())]

    def _answer(self, ids: Sequence[int], digits: Floats) -> Answer:
        end = next((i for i, one in enumerate(ids) if one in self._stops), len(ids))
        own = ids[:end]
        text = self._tokenizer.decode(own, skip_special_tokens=False).strip()
        at = np.array([self._digit_of.get(one, -1) for one in own], dtype=np.int64)
        return Answer(text, at, digits[:end], end < len(ids))

    def log_chances(self, batch: Sequence[_Prepared]) -> list[torch.Tensor]:
        """Compute the log-probability of each answer token and of the end token after them, in one forward pass.

        Returns:
            One tensor per question, shape ``(n_tokens + 1,)``.
        """
        import torch

        if self._is_decoder:
            inputs = self._collate([_with_answer(one, self._parts.kind) for one in batch], left=False)
            ends = [one.length for one in batch]
        else:
            inputs = self._collate(batch, left=False)
            start = [self._model.config.decoder_start_token_id]
            decoded = pad_rows([[*start, *one.answer] for one in batch], 0)
            inputs["decoder_input_ids"] = decoded.to(self._model.device)
            ends = [1 + len(one.answer) for one in batch]
        # The logits of a token are at the position before it.
        places = [list(range(end - 1 - len(one.answer), end)) for end, one in zip(ends, batch, strict=True)]
        kept = sorted({place for own in places for place in own})
        # Skip the logits of other positions if the model supports it. An index on the CPU works for any device.
        less = {"logits_to_keep": torch.tensor(kept)} if self._is_decoder and self._takes("logits_to_keep") else {}
        with self._features.of([one.image for one in batch]):
            logits = self._model(**inputs, **less).logits
        logits = logits if less else logits[:, kept]
        found = []
        for row, (own, one) in enumerate(zip(places, batch, strict=True)):
            chances = torch.log_softmax(logits[row, [kept.index(place) for place in own]].float(), dim=-1)
            tokens = [chances[i, token] for i, token in enumerate(one.answer)]
            found.append(torch.stack([*tokens, torch.logsumexp(chances[-1, self._stops], dim=0)]))
        return found

    def _collate(self, batch: Sequence[_Prepared], *, left: bool) -> dict[str, torch.Tensor]:
        """Collate questions into one batch with masked padding."""
        import torch

        found = {}
        for name in batch[0].inputs:
            values = [one.inputs[name] for one in batch]
            if name in _BY_TOKEN or name == "inputs_embeds":
                filler = self._pad if name == "input_ids" else 0
                found[name] = pad_rows([value[0] for value in values], filler, "left" if left else "right")
            else:
                found[name] = torch.cat(values)
        kinds = {name: self._model.dtype if value.is_floating_point() else value.dtype for name, value in found.items()}
        return {name: value.to(self._model.device, kinds[name]) for name, value in found.items()}

    # -- one question ------------------------------------------------------------------------------------------------
    def _prepare(
        self, question: Question, opening: PromptTemplate, answer: str | None = None, pixels: torch.Tensor | None = None
    ) -> _Prepared:
        with self._lock:
            answer = None if answer is None else self._special.escape_special_tokens(answer)
            text = self._read(question)
            again = "" if question.again is None else self._read(question.again)
            image = None if question.image is None else self._image(question)
            if self._parts.kind in ("llava", "clip_t5"):
                seen = {} if image is None else self._pixels(image)
                if pixels is not None:
                    # A gray image of this size has the same number of tokens.
                    grey = Image.new("RGB", (pixels.shape[-1], pixels.shape[-2]), (128, 128, 128))
                    seen = {**self._pixels(grey), "pixel_values": pixels}
                if again:
                    # The code of FLEUR and EXPERT adds an end token to the score, and LLaVA's code adds another one.
                    ends = 2 * str(self._tokenizer.eos_token)
                    text = f"{text} ASSISTANT: {question.replied}{ends}USER: {again}"
                return self._halves(text, seen, opening, answer, b"" if pixels is not None else question.image_key)
            if self._parts.kind == "paligemma" and image is not None and not again:
                found = _Prepared(self._behind_image(text, image))
            else:
                found = _Prepared(self._apply_template(text, image, question.replied, again))
            if answer is not None:
                found.answer = list(self._special.plain_ids(answer))
            return found

    def _check_length(self, one: _Prepared) -> _Prepared:
        """Check that a question fits into the context of the model.

        Raises:
            ValueError: If it has too many tokens.
        """
        text = self._model.config.get_text_config()
        most = getattr(text, "max_position_embeddings", None) if self._is_decoder else None
        if most is not None and one.length > most:
            raise UsageError(
                f"a question must have at most {most} tokens for {self.identity}, got {one.length}; shorten its "
                "captions and references, or choose another `model`"
            )
        return one

    def _image(self, question: Question) -> Image.Image:
        if self._parts.processor is None:
            raise self._unsuitable("be a model of images and text", ", which is text-only")
        assert question.image is not None  # checked by the caller
        opened = question.image.open()
        opened.info.pop("transparency", None)  # avoid Pillow's warning about lost transparency
        image = opened.convert("RGB")
        if self.preparation == "own":
            return image
        mean = getattr(self._parts.processor.image_processor, "image_mean", None) or _CLIP_MEAN
        return pad_to_square(image, mean)

    def _halves(
        self, text: str, inputs: dict[str, torch.Tensor], opening: PromptTemplate, answer: str | None, key: bytes
    ) -> _Prepared:
        """Prepare a question with the opening of the method, split at the image as in LLaVA's code."""
        import torch

        before = f"{opening.system} USER: "
        after = f"\n{text} ASSISTANT:" if inputs else f"{text} ASSISTANT:"
        if self._parts.embedded is not None:
            # Both halves of a T5 prompt have an end token, including the half before the image.
            tokens = [self._tokenizer(half)["input_ids"] for half in (before, after + opening.end)]
            seen = None
            if inputs:
                with self._features.of([key]):
                    seen = self._model.get_image_features(pixel_values=inputs["pixel_values"]).pooler_output
            embeds = self._parts.embedded(tokens[0], seen, tokens[1])
            mask = torch.ones(embeds.shape[:2], dtype=torch.long)
            found = _Prepared({"inputs_embeds": embeds, "attention_mask": mask})
            found.answer = [] if answer is None else list(self._special.plain_ids(answer))
            return found
        start = [self._tokenizer.bos_token_id] if self._tokenizer.bos_token_id is not None else []
        own = self._special.plain_ids
        if not inputs:
            head, second = [*start], before + after
        else:
            (read,) = inputs.pop("input_ids").tolist()
            marks = [one for one in read if one == self._model.config.image_token_id]
            head, second = [*start, *own(before), *marks], after
        tail = list(own(second))
        ids = torch.tensor([[*head, *tail]])
        found = _Prepared({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        found.inputs.update({name: value for name, value in inputs.items() if name not in _BY_TOKEN})
        if answer is not None:
            whole = list(own(f"{second} {answer}"))
            if whole[: len(tail)] != tail:
                raise UsageError.about(
                    "answer", f"must not change how the question is split into tokens, got {answer!r}"
                )
            found.answer = whole[len(tail) :]
        return found

    def _pixels(self, image: Image.Image) -> dict[str, torch.Tensor]:
        if self._parts.kind == "clip_t5":
            return dict(self._parts.processor.image_processor(image, return_tensors="pt"))
        return dict(self._parts.processor(text=[_IMAGE], images=[image], return_tensors="pt"))

    @property
    def _template(self) -> str | None:
        source = self._parts.processor if self._parts.processor is not None else self._tokenizer
        return getattr(source, "chat_template", None) or self._tokenizer.chat_template

    def _behind_image(self, text: str, image: Image.Image) -> dict[str, torch.Tensor]:
        """Prepare a question in the format of PaliGemma's training: image tokens, start token, and one line of text."""
        import torch

        processor, tokenizer = self._parts.processor, self._tokenizer
        marks = [self._model.config.image_token_id] * processor.image_seq_length
        ids = torch.tensor([[*marks, tokenizer.bos_token_id, *self._special.plain_ids(f"{text}\n")]])
        # 0: the tokens of the question attend to each other in both directions.
        by_token = {"attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
        return {"input_ids": ids, **by_token, **processor.image_processor(image, return_tensors="pt")}

    def _read(self, question: Question) -> str:
        """Return the text of a question, with all special tokens in captions split."""
        return question.text([self._special.escape_special_tokens(caption) for caption in question.captions])

    def _apply_template(
        self, text: str, image: Image.Image | None, replied: str, again: str
    ) -> dict[str, torch.Tensor]:
        """Prepare a question with the chat template of the model's files, or without one if they have none."""
        source = self._tokenizer if self._parts.processor is None else self._parts.processor
        prompt, special = text, True
        if again and self._template is None:
            raise self._unsuitable("have a chat template to be asked twice", remedy="omit `reasons`")
        if self._template is not None:
            content: Any = text
            if self._parts.processor is not None:
                content = [{"type": "image"}] * (image is not None) + [{"type": "text", "text": text}]
            turns = [{"role": "user", "content": content}]
            if again:
                for role, words in (("assistant", replied), ("user", again)):
                    said: Any = words if self._parts.processor is None else [{"type": "text", "text": words}]
                    turns.append({"role": role, "content": said})
            # Otherwise, the first token of a thinking model would be part of a thought.
            more = {"enable_thinking": False} if "enable_thinking" in str(self._template) else {}
            with self._template_told():
                prompt = source.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **more)
            if text.strip() not in prompt:
                expected = "have a chat template that does not change the question"
                raise self._unsuitable(expected, ", whose template changes or omits it", "choose another model")
            if prompt.rstrip().endswith(_THOUGHT):
                remedy = "choose an instruction-tuned model without reasoning"
                raise self._unsuitable("be a model that answers directly", ", whose template starts a thought", remedy)
            bos = self._tokenizer.bos_token
            special = self._parts.processor is not None and not (bos is not None and prompt.startswith(bos))
        elif image is not None:
            raise self._unsuitable("have a chat template to be asked about images")
        images = {} if image is None else {"images": [image]}
        with self._template_told():
            found = source(text=[prompt], add_special_tokens=special, return_tensors="pt", **images)
            # Most processors raise an error in this case. Some models have no image token.
            mark = getattr(self._model.config, "image_token_id", None)
            if image is not None and mark is not None and not (found["input_ids"] == mark).any():
                raise UsageError("it omits the image")
        return {name: value for name, value in found.items() if self._takes(name)}

    @contextmanager
    def _template_told(self) -> Iterator[None]:
        """Add the name of the model to errors of its template, which is a program and may raise any exception."""
        try:
            yield
        except Exception as error:
            expected, why = "have a chat template that supports its question", short_reason(error)
            raise self._unsuitable(expected, f", whose template fails with: {why}") from error

    def _unsuitable(self, expected: str, why: str = "", remedy: str | None = None) -> UsageError:
        """Return the error for a model that does not meet an expectation."""
        return UsageError.about("model", f"must {expected}, got {self.identity!r}{why}", remedy)

    def _takes(self, name: str) -> bool:
        return name in ("input_ids", "attention_mask", *inspect.signature(self._model.forward).parameters)


def pad_to_square(image: Image.Image, mean: Sequence[float]) -> Image.Image:
    """Pad an image to the smallest square that contains it, centered, with the color ``int(255 * mean)``.

    Args:
        image: RGB image.
        mean: Color of the padding, three numbers from 0 to 1.
    """
    width, height = image.size
    if width == height:
        return image
    side = max(width, height)
    left, top = (side - width) // 2, (side - height) // 2
    border = (left, top, side - width - left, side - height - top)
    return ImageOps.expand(image, border, fill=tuple(int(255 * value) for value in mean))


def _with_answer(one: _Prepared, kind: str) -> _Prepared:
    import torch

    more = torch.tensor([one.answer], dtype=torch.long).reshape(1, -1)
    tails = {"input_ids": more, "attention_mask": torch.ones_like(more)}
    if kind == "paligemma":  # 1 marks tokens after the question, to which the question does not attend
        tails["token_type_ids"] = torch.ones_like(more)
    inputs = {
        name: torch.cat([value, tails.get(name, torch.zeros_like(more)).to(value.dtype)], dim=1)
        if name in _BY_TOKEN
        else value
        for name, value in one.inputs.items()
    }
    return _Prepared(inputs, one.answer)


def _alike(prepared: Sequence[_Prepared]) -> Iterator[list[int]]:
    """Yield the indices of questions that can be processed in the same batch."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row, one in enumerate(prepared):
        groups.setdefault(one.shapes, []).append(row)
    yield from groups.values()
