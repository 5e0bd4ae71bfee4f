"""Local server with the chat completions API, which replays the answers of a judge model."""

import json
import math
import re
import ssl
from http.server import BaseHTTPRequestHandler

import numpy as np
from local_hub import serve

OTHERS = [f" other{i}" for i in range(20)]


class Remembering:
    """Judge model that records its answers by question."""

    def __init__(self, judge):
        self.judge, self.written, self.chances_of = judge, {}, {}
        self.identity, self.dtype = judge.identity, judge.dtype
        self.preparation, self.reads_digits = judge.preparation, judge.reads_digits

    def opening(self, opening):
        return self.judge.opening(opening)

    def find_altered(self, questions):
        return self.judge.find_altered(questions)

    def answers(self, questions, opening, **how):
        found = self.judge.answers(questions, opening, **how)
        self.written |= {last_text(question): answer for question, answer in zip(questions, found, strict=True)}
        return found

    def chances(self, questions, answers, opening, **how):
        found = self.judge.chances(questions, answers, opening, **how)
        self.chances_of |= {one.text(): math.exp(own[0]) for one, own in zip(questions, found, strict=True)}
        return found


def last_text(question):
    return question.text() if question.again is None else f"{question.replied} {question.again.text()}"


def row(text, chances):
    """Return one token with the 20 most likely alternatives. The other tokens share the remaining probability."""
    told = {spelled: chance for spelled, chance in chances.items() if chance > 0}
    rest = max(0.0, 1 - sum(told.values()))
    n_others = 20 - len(told)
    told |= dict.fromkeys(OTHERS[:n_others], rest / n_others)
    top = [{"token": spelled, "logprob": math.log(chance)} for spelled, chance in told.items() if chance > 0]
    return {"token": text, "logprob": math.log(chances[text]), "top_logprobs": top}


def completion(text, rows, reason="stop", **more):
    choice = {"message": {"role": "assistant", "content": text}, "logprobs": {"content": rows}, "finish_reason": reason}
    return {"choices": [choice], **more}


def of_answer(answer):
    """Return a recorded answer in the API format, with one token per digit and an end token, as vLLM returns it."""
    pieces = [piece for piece in re.split(r"(\d)", answer.text) if piece]
    own = iter(answer.digits[answer.digit_at >= 0])
    rows = []
    for piece in pieces:
        digits = dict(enumerate(next(own, np.zeros(10)))) if piece.isdigit() else {}
        chances = {str(digit): float(chance) for digit, chance in digits.items()}
        rows.append(row(piece, chances if chances.get(piece, 0) > 0 else {piece: 0.99}))
    return completion(
        answer.text, [*rows, row("<|im_end|>", {"<|im_end|>": 0.99})], model="demo", system_fingerprint="f1"
    )


def of_chance(chance):
    likely = {"Yes": chance, "No": 1 - chance}
    best = max(likely, key=likely.get)
    return completion(best, [row(best, likely)], "length", model="demo")


class ChatServer:
    """Chat server for tests.

    `reply(asked)` returns the response: a JSON value, or status, headers and bytes.

    Attributes:
        url: URL of the server.
        asked: Requests so far, each with its headers and path.
    """

    def __init__(self, reply):
        self.asked = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append(
                    {
                        "body": body,
                        "headers": {name.title(): value for name, value in self.headers.items()},
                        "path": self.path,
                    }
                )
                told = reply(body)
                status, headers, content = told if isinstance(told, tuple) else (200, {}, json.dumps(told).encode())
                self.send_response(status)
                every = {"Content-Length": str(len(content)), "Connection": "close", **headers}
                for name, value in every.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments):
                """Suppress log messages."""

        self._server, address = serve(Handler)
        self.url = f"{address}/v1"

    def speak_tls(self, certificate, key):
        """Accept https only from now on, with the certificate and the key of two files."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = self.url.replace("http:", "https:")

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def text_of(body):
    """Return the last question of a request, preceded by the earlier replies."""
    said = [turn["content"] for turn in body["messages"]]
    texts = [one if isinstance(one, str) else one[-1]["text"] for one in said]
    return " ".join(texts[1:]) if len(texts) > 1 else texts[0]
