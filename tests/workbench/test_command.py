"""`vlgauge workbench`."""

import functools
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from vlgauge.cli import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metric", "rovist-nr"], "`--metric` must be one of"),
        (["--port", "0"], "--port must be a number from 1 to 65535, got 0"),
    ],
)
def test_wrong_options_are_one_line(words, message, capsys):
    assert main(["workbench", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_missing_gradio_is_one_line(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.partition(".")[0] == "gradio" or "workbench" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gradio", None)
    assert main(["workbench"]) == 2
    assert capsys.readouterr().err == (
        'vlgauge workbench: error: `vlgauge_workbench` needs Gradio; run: pip install "vlgauge[workbench]"\n'
    )
    with pytest.raises(SystemExit) as stopped:
        main(["workbench", "--help"])
    assert stopped.value.code == 0


def test_the_page_is_served_on_this_machine_until_interrupted():
    environment = {**os.environ, "NO_PROXY": "127.0.0.1,localhost", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "vlgauge", "workbench", "--metric", "rouge_l"]
    # If the tests run in the background, a shell makes them ignore the signal, and the process would inherit this.
    listen = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=listen) as process:
        try:
            line = next(line for line in process.stderr if "workbench is at" in line)
            (address,) = re.findall(r"http://127\.0\.0\.1:\d+/", line)
            with urllib.request.urlopen(address) as page:
                assert b"vlgauge workbench" in page.read()
            elsewhere = urllib.request.Request(address, headers={"Host": "elsewhere.example"})
            with pytest.raises(urllib.error.HTTPError, match="400"):
                urllib.request.urlopen(elsewhere)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        finally:
            process.kill()
