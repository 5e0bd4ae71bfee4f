"""An assembled Space, run as the Hub runs it, and called as in its card."""

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import warnings
from importlib.util import module_from_spec, spec_from_file_location

import assemble
import pytest
from folders import EXAMPLES
from gradio_loops import close_at_once, loops_of_gradio_left_open

import vlgauge

if importlib.util.find_spec("gradio") is None:
    pytest.skip("gradio is not installed", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import vlgauge_workbench


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    """Return the folder of an assembled Space."""
    folder = tmp_path_factory.mktemp("space")
    assemble.write_folder(assemble.assemble_space("clip_s", org="people"), folder)
    return folder


@pytest.fixture(scope="module")
def address(space, tmp_path_factory):
    """Yield the URL of its app."""
    spec = spec_from_file_location("space_clip_s", space / "app.py")
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GRADIO_TEMP_DIR", str(tmp_path_factory.mktemp("gradio")))
        patched.setenv("NO_PROXY", "127.0.0.1,localhost")
        with loops_of_gradio_left_open():
            spec.loader.exec_module(module)
            # As app.py, but in the process of the tests.
            vlgauge_workbench.launch(module.demo, server_name="127.0.0.1", quiet=True, prevent_thread_lock=True)
        try:
            yield module.demo.local_url.rstrip("/")
        finally:
            close_at_once(module.demo)


@pytest.fixture
def programs(space, address, tmp_path, monkeypatch):
    """The programs of the card in Python and for a shell, with this machine as the Hub, next to an image."""
    card = (space / "README.md").read_text("utf-8")
    section = card[card.index("### Through the API") : card.index("### Inputs")]
    (python,) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    (shell,) = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    shutil.copy(EXAMPLES / "scenes" / "01.png", tmp_path / "picture.png")
    monkeypatch.chdir(tmp_path)
    assert "https://people-clip-s.hf.space/" in python
    assert "https://people-clip-s.hf.space/" in shell
    return [program.replace("https://people-clip-s.hf.space", address) for program in (python, shell)]


@pytest.fixture(scope="module")
def expected():
    metric = vlgauge.load("clip_s", profile="embedded")
    result = metric.compute(predictions=["a dog leaps for a ball."], images=[str(EXAMPLES / "scenes" / "01.png")])
    return result["clip_s"], result["clip_s_signature"]


def test_the_app_has_the_metric_of_the_space_and_the_endpoint(address):
    with urllib.request.urlopen(f"{address}/config") as answer:
        config = json.load(answer)
    assert "score" in [one["api_name"] for one in config["dependencies"]]
    assert [one["props"]["value"] for one in config["components"] if one["props"].get("label") == "Metric"] == [
        "clip_s"
    ]


def test_the_program_of_the_card_gets_the_score(programs, expected, capsys):
    with loops_of_gradio_left_open():
        namespace = {}
        exec(programs[0], namespace)
        namespace["client"].close()
        del namespace["client"]
    score, signature = capsys.readouterr().out.splitlines()[-1].split(" ", 1)
    assert float(score) == pytest.approx(expected[0], rel=1e-6)
    assert signature == expected[1]


@pytest.mark.skipif(not shutil.which("curl") or sys.platform == "win32", reason="no curl")
def test_the_shell_of_the_card_gets_the_score(programs, expected):
    own = {**os.environ, "NO_PROXY": "127.0.0.1"}
    found = subprocess.run(["sh", "-c", programs[1]], capture_output=True, text=True, env=own, check=True, timeout=60)
    assert "event: complete" in found.stdout
    (answer,) = ast.literal_eval(re.search(r"^data: (.*)$", found.stdout, re.MULTILINE)[1].replace("true", "True"))
    assert answer["score"] == pytest.approx(expected[0], rel=1e-6)
    assert answer["signature"] == expected[1]
