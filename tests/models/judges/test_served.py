"""A judge on a server: the same numbers as on this machine, and one sentence for everything that may go wrong."""

import base64
import contextlib
import gzip
import io
import json
import logging
import math
import pickle
import shutil
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from chat_server import ChatServer, Remembering, completion, of_answer, of_chance, row, text_of
from PIL import Image

import vlgauge
from vlgauge.checkpoints.hub import judge_server
from vlgauge.core.errors import NetworkError
from vlgauge.core.signatures import parse_signature
from vlgauge.explain import explain
from vlgauge.models.judges import Judge, PromptTemplate, Question, ServedJudge
from vlgauge.models.judges.demo import demo_judge

KEY = "sk-very-secret-0123456789"
OPENING = PromptTemplate("none", "")
DIGITS = {str(digit): 0.05 for digit in range(10)}


@pytest.fixture
def serving():
    """`serving(reply)`: a server, which is closed in the end."""
    opened = []

    def start(reply):
        opened.append(ChatServer(reply))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


pytest.importorskip("openai")
# The client waits a millisecond before it retries.
AT_ONCE = {"Retry-After-Ms": "1"}


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("JUDGE_KEY", raising=False)


def images(n):
    rng = np.random.default_rng(7)
    return [rng.integers(0, 255, (24, 16 + i, 3), dtype=np.uint8) for i in range(n)]


CAPTIONS = ["a small red circle", "a large blue square", "two green stars", "one small red circle"]
REFERENCES = [["a red circle"], ["one blue square", "a box"], ["a star"], ["a red disc"]]
WAYS = {
    "fleur": ("fleur", {}, {"images": images(4), "references": REFERENCES}),
    "fleur_renormalised": ("fleur", {"variant": "renormalised"}, {"images": images(4)}),
    "fleur_reasons": ("fleur", {"reasons": True}, {"images": images(4)}),
    "clair": ("clair", {}, {"references": REFERENCES}),
    "clair_expected": ("clair", {"variant": "expected"}, {"references": REFERENCES}),
    "vqascore": ("vqascore", {"definition": "v3.1"}, {"images": images(4)}),
}


@pytest.mark.parametrize("way", WAYS)
def test_scores_are_those_of_the_judge_behind_the_server(serving, way):
    name, settings, columns = WAYS[way]
    local = Remembering(demo_judge())
    here = vlgauge.load(name, model=local, **settings).compute(predictions=CAPTIONS, return_details=True, **columns)

    def reply(body):
        if name == "vqascore":
            return of_chance(local.chances_of[text_of(body)])
        return of_answer(local.written[text_of(body)])

    server = serving(reply)
    judge = ServedJudge(server.url, "demo")
    metric = vlgauge.load(name, model=judge, batch_size=3, **settings)
    there = metric.compute(predictions=CAPTIONS, return_details=True, **columns)
    for key in [key for key in here if key.endswith("_scores")]:
        assert there[key] == pytest.approx(here[key], abs=1e-5)
    if name != "vqascore":
        own, other = (
            [[detail[part] for part in ("question", "answer", "number")] for detail in result[f"{name}_details"]]
            for result in (here, there)
        )
        assert own == other
    if way == "fleur_reasons":
        assert there["fleur_details"][0]["reason"].startswith("The demo CLIP believes it by")
        assert [turn["role"] for turn in server.asked[-1]["body"]["messages"]] == ["user", "assistant", "user"]
    for key in [key for key in there if key.endswith("_signature")]:
        fields = parse_signature(there[key])[1]
        assert fields["enc"] == ("served/demo" if name == "vqascore" else "served/demo(f1)")
        assert (fields["dtype"], fields["chat_template"]) == ("served", "chat")


def test_a_request_is_what_the_protocol_wants_and_shows_the_image_as_it_is(serving):
    server = serving(lambda body: completion("0.5", [row(sign, DIGITS | {sign: 0.5}) for sign in "0.5"]))
    (image,) = images(1)
    metric = vlgauge.load("fleur", model=ServedJudge(server.url, "m", answer_seconds=20), max_new_tokens=9)
    metric.compute(predictions=["a cat", "a cat"], images=[image, image])
    (asked,) = server.asked  # equal questions are one request
    body = asked["body"]
    assert asked["path"] == "/v1/chat/completions"
    wanted = {"model": "m", "logprobs": True, "top_logprobs": 20, "temperature": 0, "seed": 0, "max_tokens": 9}
    wanted |= {"stream": False, "n": 1, "repetition_penalty": 1.0, "chat_template_kwargs": {"enable_thinking": False}}
    assert {name: value for name, value in body.items() if name != "messages"} == wanted
    image_part, text = body["messages"][0]["content"]
    head, _, data = image_part["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))), image)
    assert text["text"].startswith("Your task is to evaluate and rate the caption")
    assert "Authorization" not in asked["headers"]


def test_images_of_strangers_are_decoded_in_a_box(serving, monkeypatch):
    stream = io.BytesIO()
    Image.fromarray(images(1)[0]).save(stream, "PNG")
    server = serving(lambda body: of_chance(0.75))
    rows = {"predictions": CAPTIONS[:1], "images": [stream.getvalue()]}
    monkeypatch.setattr("vlgauge.inputs.images.cells.decode_image", None)
    metric = vlgauge.load("vqascore", model=ServedJudge(server.url, "demo"), definition="v3.1", sandbox=True)
    assert metric.compute(**rows)["vqascore_scores"] == pytest.approx([0.75])
    direct = vlgauge.load("vqascore", model=ServedJudge(server.url, "demo"), definition="v3.1")
    with pytest.raises(TypeError):
        direct.compute(**rows)


def test_it_is_a_judge_and_no_text_makes_one():
    assert isinstance(ServedJudge("http://127.0.0.1:9/v1", "m"), Judge)
    with pytest.raises(FileNotFoundError, match=r"^`model`.*Hub"):
        vlgauge.load("fleur", model="http://127.0.0.1:9/v1").compute(predictions=["a"], images=images(1))


def test_rows_keep_their_order_whoever_is_answered_first(serving):
    def reply(body):
        digit = text_of(body)[-1]
        time.sleep(0.02 * (9 - int(digit)))
        return completion(digit, [row(digit, {digit: 0.9})])

    judge = ServedJudge(serving(reply).url, "m")
    questions = [Question((f"say {digit}",), ()) for digit in range(10)]
    answers = judge.answers(questions, OPENING, longest=3, batch_size=10)
    assert [answer.text for answer in answers] == list("0123456789")


# -- the key ----------------------------------------------------------------------------------------------------------
def ask(judge, text="how?"):
    return judge.answers([Question((text,), ())], OPENING, longest=4)[0]


def test_the_key_is_sent_and_shown_nowhere(serving, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    server = serving(lambda body: completion(KEY, [row(KEY, {KEY: 0.9})], model=KEY, system_fingerprint=KEY))
    judge = ServedJudge(server.url, "m", key_from="JUDGE_KEY")
    answer = ask(judge)
    assert server.asked[0]["headers"]["Authorization"] == f"Bearer {KEY}"
    told = [repr(judge), judge.identity, repr(vars(judge)), repr(answer), repr(pickle.dumps(judge))]
    assert [one for one in told if KEY in one] == []
    again = pickle.loads(pickle.dumps(judge))
    assert repr(again) == repr(judge)
    assert ask(again).text == "***"


def test_the_key_goes_to_the_named_host_alone(serving, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        other = serving(lambda body: completion("x", [row("x", {"x": 0.9})]))
        monkeypatch.setenv(name, other.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "")
        named = serving(lambda body, other=other: (307, {"Location": f"{other.url}/chat/completions"}, b""))
        with pytest.raises(NetworkError, match="status 307"):
            ask(ServedJudge(named.url, "m", key_from="JUDGE_KEY"))
        assert [len(named.asked), len(other.asked)] == [1, 0]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_the_key_is_not_sent_to_a_server_without_a_valid_certificate(serving, monkeypatch, tmp_path):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    monkeypatch.setattr(judge_server, "MAX_RETRIES", 0)
    server = serving(lambda body: completion("x", [row("x", {"x": 0.9})]))
    certificate, secret = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-nodes", "-keyout", secret, "-out", certificate, "-days", "1"]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    server.speak_tls(certificate, secret)
    judge = ServedJudge(server.url, "m", key_from="JUDGE_KEY")
    for _ in range(2):  # the second request uses the certificates that the first one loaded
        with pytest.raises(NetworkError, match="cannot be reached"):
            ask(judge)
    assert server.asked == []


def test_keys_of_the_client_are_not_sent(serving, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    server = serving(lambda body: completion("x", [row("x", {"x": 0.9})]))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://192.0.2.1/v1")
    ask(ServedJudge(server.url, "m"))
    assert KEY not in repr(server.asked)
    assert "Authorization" not in server.asked[0]["headers"]


@pytest.mark.parametrize("status", [200, 400, 503])
def test_no_log_repeats_the_key(serving, monkeypatch, status):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    told = json.dumps(completion("x", [row("x", {"x": 0.9})])).encode()
    server = serving(lambda body: (status, AT_ONCE, told if status == 200 else KEY.encode()))
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with contextlib.suppress(NetworkError):
            ask(ServedJudge(server.url, "m", key_from="JUDGE_KEY"))
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert any(one.name.startswith("openai") for one in records)
    assert KEY not in "".join(f"{one.getMessage()} {one.args!r} {one.exc_text}" for one in records)


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
def test_no_error_repeats_the_key(serving, monkeypatch, status):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    server = serving(lambda body: (status, AT_ONCE, f"the key {KEY} is wrong".encode()))
    with pytest.raises(NetworkError) as caught:
        ask(ServedJudge(server.url, "m", key_from="JUDGE_KEY"))
    shown, one = "", caught.value
    while one is not None:
        shown, one = shown + repr(one), one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    assert KEY not in shown


def test_a_key_that_is_spelled_by_escapes_is_hidden(serving, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    told = json.dumps(completion("THE KEY", [row("THE KEY", {"THE KEY": 0.9})], model="THE KEY"))
    server = serving(lambda body: (200, {}, told.replace("THE KEY", escaped).encode()))
    judge = ServedJudge(server.url, "m", key_from="JUDGE_KEY")
    assert ask(judge).text == "***"
    assert KEY not in judge.identity


@pytest.mark.parametrize(
    "words",
    [
        f"the key {KEY[:10]}... is wrong",
        f"... {KEY[-10:]}",
        " ".join(KEY),
        "\u200b".join(KEY).upper(),
        "".join(f"\\u{ord(letter):04x}" for letter in KEY),
        "".join(f"%{ord(letter):02x}" for letter in KEY),
        "".join(f"&#{ord(letter)};" for letter in KEY),
    ],
)
def test_words_with_a_part_of_the_key_are_not_shown(serving, monkeypatch, words):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    server = serving(lambda body: (400, {}, words.encode()))
    with pytest.raises(NetworkError, match=r"status 400.*shown"):
        ask(ServedJudge(server.url, "m", key_from="JUDGE_KEY"))
    with pytest.raises(NetworkError) as told:
        ask(ServedJudge(server.url, "m"))
    assert "not shown" not in str(told.value)


def test_what_is_no_key_is_refused_unshown(serving, monkeypatch):
    server = serving(lambda body: {})
    judge = ServedJudge(server.url, "m", key_from="JUDGE_KEY")
    with pytest.raises(NetworkError, match=r"environment variable JUDGE_KEY"):
        ask(judge)
    monkeypatch.setenv("JUDGE_KEY", f"{KEY}\r\nX: y")
    with pytest.raises(NetworkError, match=r"JUDGE_KEY.*invalid in a key") as caught:
        ask(judge)
    assert KEY not in str(caught.value)
    with pytest.raises(ValueError, match=r"^`key_from`") as told:
        ServedJudge(server.url, "m", key_from=KEY)
    assert KEY not in str(told.value)
    assert server.asked == []


# -- settings ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8000", "ftp://a/v1", "http://", "http://me:word@a/v1", "http://a/v1?key=word", "http://a:x/", "a b", 3],
)
def test_addresses_that_are_none(url):
    with pytest.raises(ValueError, match=r"^`url`.*//127\.0\.0\.1.*8000/v1") as told:
        ServedJudge(url, "m")
    assert "word@" not in str(told.value)
    assert "=word" not in str(told.value)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"model": " "}, r"^`model`.*got ' '"),
        ({"model": "a\ud800"}, r"^`model`.*server, got"),
        ({"fields": {"seed": 1, "n": 2}}, r"^`fields`.*got 'seed'"),
        ({"fields": {"top_p": math.nan}}, r"^`fields`.*JSON"),
        ({"answer_seconds": 0}, r"^`answer_seconds`.*got 0"),
    ],
)
def test_settings_that_are_refused(settings, part):
    with pytest.raises(ValueError, match=part):
        ServedJudge(**{"url": "http://127.0.0.1:9/v1", "model": "m"} | settings)


def test_other_fields_are_in_the_signature():
    plain, other = (ServedJudge("http://127.0.0.1:9/v1", "a/b", fields=fields) for fields in (None, {}))
    assert plain.identity == "served/a/b"
    assert other.identity.startswith("served/a/b(fields-")


@pytest.mark.parametrize("address", ["8.8.8.8", "::ffff:8.8.8.8", "2001:4860:4860::8888"])
def test_plain_http_is_spoken_near_only_and_nobody_far_is_asked_offline(monkeypatch, address):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: [(0, 0, 0, "", (address, 80))])
    monkeypatch.setattr("openai.OpenAI", lambda **settings: pytest.fail("asked"))
    with pytest.raises(NetworkError, match=r"far\.example"):
        ask(ServedJudge("http://far.example/v1", "m"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NetworkError, match=r"server.*private network"):
        ask(ServedJudge("https://far.example/v1", "m"))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.1.9", "fe80::1%eth0", "fd00::1"])
def test_near_addresses(address):
    assert judge_server._is_private(address)


# -- unlisted probabilities -------------------------------------------------------------------------------------------
def likely(*tokens):
    return [{"token": token, "logprob": math.log(0.5)} for token in tokens]


def of_digit(digit, chances):
    return completion(f"0.{digit}", [row("0", {"0": 0.9}), row(".", {".": 0.9}), row(str(digit), chances)])


def score(serving, reply, **settings):
    metric = vlgauge.load("fleur", model=ServedJudge(serving(lambda body: reply).url, "m"), **settings)
    return metric.compute(predictions=["a"], images=images(1), return_details=True)


def test_a_digit_that_is_hardly_possible_counts_as_none(serving):
    top = [{"token": token, "logprob": math.log(chance)} for token, chance in (("8", 0.9), ("7", 0.0999), ("x", 5e-5))]
    reply = of_digit(8, DIGITS | {"8": 0.1})
    reply["choices"][0]["logprobs"]["content"][2] = {"token": "8", "logprob": math.log(0.9), "top_logprobs": top}
    assert score(serving, reply)["fleur"] == pytest.approx(0.08 * 9 + 0.07 * 0.999)


def test_a_row_without_enough_of_its_digits_is_undefined_and_counted(serving):
    top = [{"token": token, "logprob": math.log(chance)} for token, chance in (("8", 0.7), ("7", 0.2), ("x", 0.05))]
    reply = of_digit(8, DIGITS | {"8": 0.1})
    reply["choices"][0]["logprobs"]["content"][2] = {"token": "8", "logprob": math.log(0.7), "top_logprobs": top}
    with pytest.warns(UserWarning, match=r"1 of 1 answers.*few"):
        result = score(serving, reply)
    assert math.isnan(result["fleur_scores"][0])
    assert result["fleur_undefined"] == 1
    assert (result["fleur_details"][0]["number"], result["fleur_details"][0]["digits"]) == (0.8, [])


def test_two_tokens_with_one_spelling(serving):
    reply = of_digit(8, {"8": 0.5})
    reply["choices"][0]["logprobs"]["content"][2]["top_logprobs"] = likely("8", "8")
    with pytest.warns(UserWarning, match="answers are undefined"):
        assert math.isnan(score(serving, reply)["fleur"])
    twice = completion("Yes", [row("Yes", {"Yes": 0.5})], "length")
    twice["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = likely("Yes", "Yes")
    with pytest.raises(NetworkError, match="'Yes'"):
        chances(serving, twice)


def test_tokens_of_several_digits_are_refused_where_digits_count(serving):
    reply = completion("0.85", [row("0", {"0": 0.9}), row(".", {".": 0.9}), row("85", {"85": 0.9})])
    with pytest.raises(ValueError, match=r"^`model`.*splits"):
        score(serving, reply)
    told = '{"score": 85, "reason": "x"}'
    joined = completion(told, [row(part, {part: 0.9}) for part in ('{"score": ', "85", ', "reason": "x"}')])
    judge = ServedJudge(serving(lambda body: joined).url, "m")
    columns = {"predictions": ["a"], "references": [["b"]]}
    assert vlgauge.load("clair", model=judge).compute(**columns)["clair"] == 0.85
    with pytest.raises(ValueError, match=r"^`variant='expected'`"):
        vlgauge.load("clair", model=judge, variant="expected").compute(**columns)


def chances(serving, reply, **settings):
    metric = vlgauge.load("vqascore", model=ServedJudge(serving(lambda body: reply).url, "m"), definition="v3.1")
    return metric.compute(predictions=["a"], images=images(1), return_details=True)


def test_an_answer_that_is_not_told(serving):
    with pytest.warns(UserWarning, match=r"1 of 1 answers.*1 count"):
        result = chances(serving, completion("No", [row("No", {"No": 1 - 1e-4})], "length"))
    assert result["vqascore_scores"] == [0.0]
    assert result["vqascore_details"][0]["chances"] == [0.0, None]
    with pytest.warns(UserWarning, match="0 count"):
        assert math.isnan(chances(serving, completion("No", [row("No", {"No": 0.5})], "length"))["vqascore"])


def test_what_a_server_cannot_tell_is_refused_before_it_is_asked(serving):
    server = serving(lambda body: {})
    judge = ServedJudge(server.url, "m")
    rows = {"predictions": ["a"], "images": images(1)}
    with pytest.raises(ValueError, match=r"^`definition`.*got 'v3\.0'"):
        vlgauge.load("vqascore", model=judge).compute(**rows)
    with pytest.raises(ValueError, match=r"^`answer`.*got 'Yes, it does'"):
        vlgauge.load("vqascore", model=judge, definition="v3.1", answer="Yes, it does").compute(**rows)
    assert server.asked == []


@pytest.mark.parametrize(
    ("caption", "read"),
    [
        ("a cat<|im_end|>", "a cat< |im_end|>"),
        ("</s><image>", "< /s>< image>"),
        ("[/INST] x", "[ /INST] x"),
        ("1 < 2 and [a]", "1 < 2 and [a]"),
    ],
)
def test_what_looks_like_a_special_token_is_taken_apart(serving, caption, read):
    server = serving(lambda body: completion("x", [row("x", {"x": 0.9})]))
    judge = ServedJudge(server.url, "m")
    question = Question(("<s>", ""), (caption,))
    assert judge.find_altered([question]) == [caption != read]
    judge.answers([question], OPENING, longest=4)
    assert text_of(server.asked[0]["body"]) == f"<s>{read}"


# -- hostile and broken servers ---------------------------------------------------------------------------------------
def changed(**token):
    return completion("x", [row("x", {"x": 0.9}) | token])


LIKELY = [{"token": "x", "logprob": -0.1}]
BROKEN = {
    "no JSON": ((200, {}, b"<html>"), "returned no JSON although"),
    "deep": ((200, {}, b"[" * 200_000), "returned no JSON although"),
    "list": ([1], "returned JSON that is not a chat completion"),
    "nothing": ({"choices": []}, "returned JSON that is not a chat completion"),
    "no text": (completion(None, []), "returned an answer without text"),
    "filtered": (
        completion("x", [], "content_filter"),
        "returned the finish reason 'content_filter', expected 'stop' or",
    ),
    "no logprobs": (completion("x", None), "returned no log-probabilities; make it return the 20 most likely tokens"),
    "no others": (changed(top_logprobs=[]), "returned no alternative tokens; make it return the 20 most likely"),
    "too long": (completion("x" * 9, [row("x", {"x": 0.9})] * 9), "returned 9 tokens, but at most 4 were requested"),
    "spelling": (completion("xy", [row("x", {"x": 0.9})]), "returned tokens that do not spell the answer; disable"),
    "nan": (changed(logprob=math.nan), "returned an impossible log-probability, nan"),
    "above 0": (changed(logprob=0.5), "returned an impossible log-probability, 0.5"),
    "huge": (changed(logprob=10**400), "returned an impossible log-probability, 1000000000"),
    "text": (changed(logprob="0"), "returned a token without spelling or log-probability"),
    "truth": (changed(top_logprobs=[{"token": "x", "logprob": True}]), "returned a token without spelling or log-prob"),
    "more than 1": (changed(top_logprobs=LIKELY * 2), "returned probabilities of one position that sum to more than 1"),
    "below 1": (
        changed(logprob=-9999.0, top_logprobs=[{"token": "x", "logprob": -9999.0}]),
        "returned probabilities of one position that cannot sum to 1",
    ),
    "drawn": (
        changed(logprob=-3.0, top_logprobs=[{"token": "y", "logprob": -0.1}]),
        "returned 'x' although 'y' was more likely, so it samples or penalizes tokens",
    ),
    "redirect": (
        (302, {"Location": "http://127.0.0.1:1/"}, b""),
        r"redirects to another URL \(status 302\), which is not followed",
    ),
    "refused": (
        (400, {}, b"top_logprobs is too\x00 large"),
        r"rejects the request \(status 400\): top_logprobs is too l",
    ),
    "no key": ((401, {}, b"who?"), r"rejects the key \(status 401\); pass the name of the environment variable"),
    "long wait": ((429, {"Retry-After": "3600"}, b""), r"is busy or has an internal error \(status 429\)"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_one_sentence_for_what_is_no_answer(serving, what):
    reply, words = BROKEN[what]
    server = serving(lambda body: reply)
    with pytest.raises(NetworkError, match=rf"0 of 1 questions.*127\.0\.0\.1.*{words}") as told:
        ask(ServedJudge(server.url, "m"))
    assert str(told.value).endswith("; call the same metric again to request only the others")
    # Older clients ignore a header that requests a long wait, and retry after a short one.
    assert 1 <= len(server.asked) <= (1 + judge_server.MAX_RETRIES if what == "long wait" else 1)
    assert len(str(told.value)) < 500


def test_half_a_letter_in_an_answer_is_replaced(serving):
    told = completion("x\ud800", [row("x", {"x": 0.9})], model="\ud800")
    judge = ServedJudge(serving(lambda body: told).url, "m")
    assert ask(judge).text == "x\N{REPLACEMENT CHARACTER}"
    assert judge.identity == "served/m(_)"


def test_a_silent_server_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(judge_server, "MAX_RETRIES", 0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        with pytest.raises(NetworkError, match=r"0\.3 s"):
            ask(ServedJudge(url, "m", answer_seconds=0.3))


def test_long_and_packed_responses_are_not_read(serving, monkeypatch):
    monkeypatch.setattr(judge_server, "MAX_RETRIES", 0)
    monkeypatch.setattr(judge_server, "MAX_RESPONSE", 10_000)
    for status in (200, 400):
        server = serving(lambda body, status=status: (status, {}, b" " * 20_000))
        with pytest.raises(NetworkError, match="than 10,000 bytes"):
            ask(ServedJudge(server.url, "m"))
    server = serving(lambda body: (200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 10**6)))
    with pytest.raises(NetworkError, match="compressed response"):
        ask(ServedJudge(server.url, "m"))


def test_a_server_that_never_ends_is_left(monkeypatch):
    monkeypatch.setattr(judge_server, "MAX_RETRIES", 0)

    def drip(listening):
        with listening.accept()[0] as one, contextlib.suppress(OSError):
            one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            for _ in range(600):
                one.sendall(b" ")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=drip, args=(listening,), daemon=True).start()
        with pytest.raises(NetworkError, match="1 s"):
            ask(ServedJudge(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", "m", answer_seconds=1.0))


def test_headers_of_the_environment_are_not_sent(serving, monkeypatch):
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leaked\nAuthorization: leaked")
    monkeypatch.setenv("JUDGE_KEY", KEY)
    server = serving(lambda body: completion("x", [row("x", {"x": 0.9})]))
    for key_from in (None, "JUDGE_KEY"):
        ask(ServedJudge(server.url, "m", key_from=key_from))
    assert "leaked" not in str(server.asked)
    assert server.asked[1]["headers"]["Authorization"] == f"Bearer {KEY}"


def test_without_openai_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ImportError, match=r'"vlgauge\[openai\]"'):
        ask(ServedJudge("http://127.0.0.1:9/v1", "m"))


def test_nobody_there(monkeypatch):
    monkeypatch.setattr(judge_server, "MAX_RETRIES", 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NetworkError, match=rf"127\.0\.0\.1.*{port}"):
        ask(ServedJudge(f"http://127.0.0.1:{port}/v1", "m"))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(serving, status):
    turns = iter([(status, AT_ONCE, b"")] * 2)
    server = serving(lambda body: next(turns, completion("x", [row("x", {"x": 0.9})])))
    assert ask(ServedJudge(server.url, "m")).text == "x"
    assert len(server.asked) == 3


def test_the_tries_end(serving):
    server = serving(lambda body: (503, AT_ONCE, b""))
    with pytest.raises(NetworkError, match="status 503"):
        ask(ServedJudge(server.url, "m"))
    assert len(server.asked) == 4


def test_what_was_answered_before_a_fault_is_not_asked_again(serving):
    is_broken = True

    def reply(body):
        if is_broken and text_of(body) == "q3":
            return 400, {}, b"no"
        return completion("x", [row("x", {"x": 0.9})])

    server = serving(reply)
    judge = ServedJudge(server.url, "m")
    questions = [Question((f"q{i}",), ()) for i in range(5)]
    with pytest.raises(NetworkError, match="5 questions"):
        judge.answers(questions, OPENING, longest=4)
    is_broken, n_before = False, len(server.asked)
    assert len(judge.answers(questions, OPENING, longest=4)) == 5
    assert {text_of(one["body"]) for one in server.asked[n_before:]} <= {"q3", "q4"}
    judge.answers(questions[:1], OPENING, longest=4)  # a successful call leaves no cached answers
    assert text_of(server.asked[-1]["body"]) == "q0"


@pytest.mark.filterwarnings("ignore:.*(undefined|not among the most likely)")
def test_explanations_tell_what_a_server_left_out(serving):
    (image,) = images(1)
    reply = of_digit(8, {"8": 0.5})
    reply["choices"][0]["logprobs"]["content"][2]["top_logprobs"] = likely("8", "8")
    result = score(serving, reply)
    columns = {"predictions": ["a"], "images": [image]}
    told = explain("fleur", columns, result)
    assert "and its server did not return alternative answers" in told.explain_undefined(0)
    result = chances(serving, completion("Yes", [row("Yes", {"Yes": 0.75})], "length"))
    body = explain("vqascore", columns, result).body(0)
    assert "0.75" in body
    assert "end of the answer" not in body
    result = chances(serving, completion("No", [row("No", {"No": 0.5})], "length"))
    assert "the server did not return the probability of" in explain("vqascore", columns, result).explain_undefined(0)
