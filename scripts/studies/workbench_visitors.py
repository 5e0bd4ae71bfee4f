"""Visitors of a workbench at once, with and without a hostile one among them: are scores right, how long is the wait?

Every visitor has an address of this machine's loopback (Linux has 127.0.0.0/8), scores captions one after another by
the API, and compares each score with what the metric returns without a server. The hostile one sends all the time, from
several threads: calls that take long, calls that nobody waits for, bodies that do not end, bodies of very many values,
forged files, forged choices, broken uploads. The wait is from the call to its score. Rounds alternate, so that other
work on the machine falls on both kinds.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import vlgauge

SERVER = """
import sys
from vlgauge import workbench
page = workbench.app(is_space=True)
workbench.launch(page, port=int(sys.argv[1]), server_name="127.0.0.1", quiet=True, prevent_thread_lock=True)
page.block_thread()
"""
HOSTILE = "127.0.9.9"
WORDS = ("dog", "cat", "man", "boat", "ball", "tree", "car", "house")
CAPTIONS = [f"{WORDS[number % 8]} {number} " * 12 for number in range(99)]
TIMEOUT = 600.0

Known = dict[tuple[str, str], float]


def asked(
    port: int, visitor: str, method: str, path: str, body: object = None, kind: str = "application/json"
) -> bytes:
    """The answer to a visitor."""
    sent = json.dumps(body) if isinstance(body, dict) else body
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT, source_address=(visitor, 0))
    with closing(connection):
        connection.request(method, path, sent, {"Content-Type": kind})  # type: ignore[arg-type]  # bytes, text or parts
        return connection.getresponse().read()


def call_of(metric: str, predictions: object, references: object) -> dict[str, object]:
    """The body of a call of `/score`."""
    return {"data": [metric, predictions, references, None, None, None, "", "embedded"]}


def score(port: int, visitor: str, call: dict[str, object]) -> float:
    """The score of a call, as the server gives it."""
    event = json.loads(asked(port, visitor, "POST", "/gradio_api/call/score", call))["event_id"]
    told = asked(port, visitor, "GET", f"/gradio_api/call/score/{event}").decode()
    (line,) = [part for part in told.split("\n\n") if part.startswith("event: complete")]
    return float(json.loads(line.partition("data: ")[2])[0]["score"])


def sentence(visitor: int, number: int) -> str:
    """A caption that no other call has."""
    chosen = [WORDS[(visitor + number * step) % len(WORDS)] for step in (1, 3, 5)]
    return f"A {chosen[0]} and a {chosen[1]} near the {chosen[2]} number {visitor} saw {number} boats."


def expected_scores(n_visitors: int, n_calls: int) -> Known:
    """What the metric returns without a server, by prediction and reference."""
    pairs = [
        (sentence(one, number), sentence(one, number + 1)) for one in range(n_visitors) for number in range(n_calls)
    ]
    bleu = vlgauge.load("bleu", profile="embedded", progress=False)
    return {pair: (bleu.compute(predictions=[pair[0]], references=[[pair[1]]]) or {})["bleu"] for pair in pairs}


def visit(port: int, visitor: int, known: Known, n_calls: int, waits: list[float], wrong: list[str]) -> None:
    """Score captions, one after another."""
    for number in range(n_calls):
        text, reference = sentence(visitor, number), sentence(visitor, number + 1)
        expected = known[text, reference]
        began = time.monotonic()
        try:
            found = score(port, f"127.0.1.{visitor + 1}", call_of("bleu", text, [reference]))
        except (OSError, ValueError, KeyError) as error:
            wrong.append(f"{type(error).__name__}: {error}")
            continue
        waits.append(time.monotonic() - began)
        if found != expected:
            wrong.append(f"{found} in place of {expected}")


# -- What is hostile --------------------------------------------------------------------------------------------------
def long_call(port: int) -> None:
    """The longest call that one may make."""
    score(port, HOSTILE, call_of("trm", CAPTIONS, CAPTIONS[::-1]))


def left_call(port: int) -> None:
    """A call that nobody waits for."""
    asked(port, HOSTILE, "POST", "/gradio_api/call/score", call_of("mmd_bert", CAPTIONS, CAPTIONS[::-1]))


def endless_body(port: int) -> None:
    """A body that is larger than any may be, and does not say so."""
    asked(port, HOSTILE, "POST", "/gradio_api/queue/join", iter([b" " * 2**20] * 300))


def many_values(port: int) -> None:
    """A body of very many values."""
    asked(port, HOSTILE, "POST", "/gradio_api/call/score", b'{"data": [' + b"[]," * 10_000_000 + b"0]}")


def forged_file(port: int) -> None:
    """A file of the server."""
    file = {"path": "/etc/hostname", "meta": {"_type": "gradio.FileData"}}
    asked(port, HOSTILE, "POST", "/gradio_api/run/upload", {"data": [file], "fn_index": 1, "session_hash": "x"})
    asked(port, HOSTILE, "POST", "/gradio_api/queue/join", {"data": [file], "fn_index": 1, "session_hash": "x"})


def forged_choice(port: int) -> None:
    """A metric that there is not."""
    asked(port, HOSTILE, "POST", "/gradio_api/call/score", call_of("nope", [[[]]], {"a": []}))
    for number in range(40):
        asked(port, HOSTILE, "POST", "/gradio_api/queue/join", {"data": [{}], "fn_index": number, "session_hash": "x"})


def broken_upload(port: int) -> None:
    """An upload of a field that is no file."""
    head = b'--end\r\nContent-Disposition: form-data; name="x"\r\n\r\n'
    asked(
        port,
        HOSTILE,
        "POST",
        "/gradio_api/upload",
        iter([head] + [b"x" * 2**20] * 50),
        "multipart/form-data; boundary=end",
    )


ATTACKS = (long_call, left_call, endless_body, many_values, forged_file, forged_choice, broken_upload)


def attack(one: Callable[[int], None], port: int, is_over: threading.Event, done: Counter[str]) -> None:
    """Do one thing again and again."""
    while not is_over.is_set():
        with suppress(OSError, ValueError, KeyError, http.client.HTTPException):
            one(port)
        done[one.__name__] += 1


def one_round(
    port: int, known: Known, n_visitors: int, n_calls: int, *, hostile: bool
) -> tuple[list[float], list[str], Counter[str]]:
    """Waits, wrong scores, and what the hostile visitor did."""
    waits: list[float] = []
    wrong: list[str] = []
    done: Counter[str] = Counter()
    is_over = threading.Event()
    attackers = [threading.Thread(target=attack, args=(one, port, is_over, done)) for one in ATTACKS if hostile]
    for thread in attackers:
        thread.start()
    if hostile:
        time.sleep(3.0)  # it is there first
    visits = [partial(visit, port, visitor, known, n_calls, waits, wrong) for visitor in range(n_visitors)]
    threads = [threading.Thread(target=one) for one in visits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    is_over.set()
    for thread in attackers:
        thread.join()
    return waits, wrong, done


def megabytes(process: int) -> float:
    """Memory of a process now."""
    (line,) = [one for one in Path(f"/proc/{process}/status").read_text().splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1]) / 1000


def main() -> int:
    """Print a table; 1 if a score is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--calls", type=int, default=4, help="of each visitor and round")
    parser.add_argument("--rounds", type=int, default=3, help="of each kind")
    parser.add_argument("--port", type=int, default=7999)
    options = parser.parse_args()
    failed, known = False, expected_scores(options.visitors, options.calls)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("wb") as stream:
            server = subprocess.Popen([sys.executable, "-c", SERVER, str(options.port)], stdout=stream, stderr=stream)
        try:
            while True:
                with suppress(OSError):
                    asked(options.port, "127.0.0.1", "GET", "/config")
                    break
                time.sleep(0.5)
            one_round(options.port, known, 2, 1, hostile=False)  # models are loaded
            long_call(options.port)
            score(options.port, HOSTILE, call_of("mmd_bert", CAPTIONS, CAPTIONS[::-1]))
            medians: dict[bool, list[float]] = {False: [], True: []}
            for _ in range(options.rounds):
                for hostile in (False, True):
                    waits, wrong, done = one_round(
                        options.port, known, options.visitors, options.calls, hostile=hostile
                    )
                    medians[hostile].append(statistics.median(waits))
                    failed |= bool(wrong)
                    told = (
                        f"{'with' if hostile else 'without'} the hostile one: median wait {medians[hostile][-1]:.2f} s"
                    )
                    told += f", longest {max(waits):.2f} s, {len(waits)} scores, {len(wrong)} wrong {wrong[:2]}"
                    print(f"{told}, server at {megabytes(server.pid):.0f} MB {dict(done)}", flush=True)
            ratio = statistics.median(medians[True]) / statistics.median(medians[False])
            print(f"median wait with the hostile one / without: {ratio:.2f}")
            lines = log.read_text("utf-8", "replace").splitlines()
            print(f"{len(lines)} lines of the log, {sum('Traceback' in line for line in lines)} tracebacks")
        finally:
            server.terminate()
            server.wait()
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
