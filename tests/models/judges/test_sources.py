"""Files of judge models, and messages about files with license terms."""

from vlgauge.api.prefetch.assets import HubFiles, assets_of
from vlgauge.cli import main
from vlgauge.models.judges import sources

COMMIT = "0" * 40


def test_a_folder_below_home_has_the_same_identity(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    assert sources.find_judge("~/model") == sources.find_judge(str(folder))
    (folder / "config.json").unlink()
    for name in ("adapter_config.json", "adapter_model.bin"):
        (folder / name).write_text("{}")
    assert sources.find_adapter("~/model") == sources.find_adapter(str(folder))


def test_the_published_model_is_fetched_by_its_name_alone(capsys):
    """Check that the 26.7 GB under binding license terms are fetched by the name of the model only."""
    assert main(["prefetch", "fleur", "--list"]) == 0
    told = capsys.readouterr().out
    assert "26.7 GB, is under the Llama 2 Community License, to which you agree by using it" in told
    assert f"vlgauge prefetch judge:{sources.LLAVA}" in told
    (files,) = assets_of(f"judge:{sources.LLAVA}")
    assert isinstance(files, HubFiles)
    assert (files.repository, files.revision) == tuple(sources.LLAVA.split("@"))
    assert "*.safetensors" in files.patterns
    assert not any("bin" in pattern or "py" in pattern for pattern in files.patterns)


def test_terms_are_those_of_the_model():
    assert sources.terms_of(f"Qwen/Qwen3-VL-2B-Instruct@{COMMIT}") == ""
    assert "for research only" in sources.terms_of("Qwen/Qwen2.5-VL-3B-Instruct")
    assert sources.terms_of("google/gemma-3-4b-it") == (
        "google/gemma-3-4b-it, is under the Gemma Terms of Use, to which you agree by using it"
    )


def test_what_is_here_is_known_without_a_network(tmp_path):
    assert sources.is_here(str(tmp_path))
    assert not sources.is_here(f"nobody/nothing@{COMMIT}")
    assert not sources.is_here("nobody/nothing")
