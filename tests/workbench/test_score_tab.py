"""One example by every metric, with the score of the form, the API and `compute`."""

import base64
import html
from pathlib import Path

import gradio as gr
import numpy as np
import pytest
from folders import EXAMPLES
from gradio_client import handle_file
from gradio_client.exceptions import AppError
from PIL import Image

import vlgauge
from vlgauge import scenes
from vlgauge.core.catalog import metric_names
from vlgauge.explain import explanation_of
from vlgauge.explain.examples import IMAGES
from vlgauge_workbench import inputs, score_tab, scoring, uploads

FORMS = [(name, config) for name in metric_names() for config in scoring.metric_of(name).configs or ("",)]


def form_of(name, config, number=0):
    """Return the values that the form sends for a bundled example."""
    cells = score_tab._fill(name, config, number)
    texts = [cells[column] for column in score_tab.TEXTS]
    return [*texts, [(path, None) for path in cells["images"]], cells["videos"]]


def page_of(name, *form, config=""):
    return score_tab.score_fields(name, config, "embedded", *form)[0]


@pytest.mark.parametrize(("name", "config"), FORMS)
def test_every_bundled_example_is_scored_and_explained(name, config):
    for number in range(len(inputs.examples_for(scoring.metric_of(name, config=config)))):
        page, deck = score_tab.score_fields(name, config, "embedded", *form_of(name, config, number))
        assert page.startswith('<article class="res"')
        assert f"{name}|v:" in page
        assert "How to read it" in page
        assert page == score_tab.show_first(name, "embedded", config, number)
        assert deck.count('aria-pressed="true"') == 1
        assert f'data-number="{number}" aria-pressed="true"' in deck


def test_number_of_the_form_is_that_of_compute():
    story = inputs.examples_for(scoring.metric_of("rovist_nr"))[1].cells["predictions"]
    found = scoring.score_rows(scoring.metric_of("rovist_nr"), {"predictions": [story]}, [0])
    expected = vlgauge.load("rovist_nr", profile="embedded").compute(predictions=[story], return_details=True)
    assert found.result == expected


def test_bundled_images_are_those_of_the_examples_folder_and_of_one_story():
    files = {path.read_bytes() for path in EXAMPLES.rglob("*") if path.suffix in (".png", ".mp4")}
    assert {path.read_bytes() for path in IMAGES.iterdir() if not path.stem.startswith("story-")} <= files
    story = scenes.stories(40, 1234, "test")[-1]
    for number, drawn in enumerate(story.images(), 1):
        apart = np.abs(np.asarray(drawn, float) - np.asarray(Image.open(IMAGES / f"story-{number}.png"), float))
        assert apart.mean() < 0.5


@pytest.mark.parametrize(
    ("name", "form", "message"),
    [
        ("rovist_nr", ["", "", "", None, None], "`Story` is required"),
        ("rovist_nr", ["x" * 20_001, "", "", None, None], "must have at most 20,000 characters, got 20,001"),
        ("clip_s", ["", "", "", None, None], "`Caption` and `Image` are required"),
        ("groovist", ["A dog.", "", "", None, None], "`Images` is required"),
        ("d_hm", ["", "", "", None, None], "`Model` and `Human` are required"),
        ("clip_s", ["A dog.", "", "", [(str(IMAGES / "clip.mp4"), None)], None], "must be a readable image"),
        ("clip_s", ["A dog.", "", "", [(__file__, None)], None], "a file must be uploaded here"),
        ("clip_s", ["A dog.", "", "", None, __file__], "a file must be uploaded here"),
        (
            "d_hm",
            ["1, 2", "1, 2, 3", "", None, None],
            "`Model` must be 3 numbers separated by commas, got '1, 2'",
        ),
        ("nonsense", ["", "", "", None, None], "`metric`"),
    ],
)
def test_what_cannot_be_scored_is_one_sentence(name, form, message):
    with pytest.raises(gr.Error) as caught:
        score_tab.score_fields(name, "", "embedded", *form)
    assert message in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(("name", "number"), [("clip_s", 1), ("groovist", 2)])
def test_folders_of_the_machine_are_not_told(name, number, tmp_path, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    broken = tmp_path / "0f3a" / "my photo.png"
    broken.parent.mkdir()
    broken.write_bytes(b"no picture")
    images = [(str(path), None) for path in [IMAGES / "scene.png", broken][-number:]]
    with pytest.raises(gr.Error) as caught:
        score_tab.score_fields(name, "", "embedded", "A dog.", "", "", images, None)
    label = "Image" if number == 1 else "Images"
    assert caught.value.message.startswith(f"`{label}` must be a readable image, got 'my photo.png'")


def test_a_set_of_captions_comes_with_its_p():
    sets = ["A dog ran.\nA dog sat.\nDogs ran home.", "A cat slept.\nTwo birds sang.\nWe ate."]
    page = page_of("trm", *sets, "", None, None)
    assert "to split these captions in two" in page


def test_one_story_without_blanks_is_told_where_sentences_end():
    page = page_of("rovist_nr", "狗在跑。猫在睡。", "", "", None, None)
    told = (
        "the story has 1 sentence, so there is no pair of sentences to compare (in running text, a sentence ends in "
        ". ? or !"
    )
    assert page.count(told) == 1


def test_unknown_profile_is_refused():
    with pytest.raises(gr.Error, match=r"`profile`.*'embedded'.*got 'mine'"):
        score_tab.score_fields("rovist_nr", "", "mine", "A dog.", "", "", None, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((["rovist_nr"],), r"^`metric`"),
        (("rovist_nr", ["embedded"]), r"^`profile`"),
        (("clip_s", "embedded", ["image"]), r"^`config`.*'image'"),
    ],
)
def test_a_list_in_place_of_a_name_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        scoring.metric_of(*words)


def test_markup_in_a_text_is_shown_and_not_obeyed():
    page = page_of("rovist_nr", "<img src=x> ran.\nIt ran.", "", "", None, None)
    assert "<img src=x" not in page
    assert "<img src=x" in html.unescape(page)


def test_one_example_by_cider_takes_the_frequencies_of_captions_that_come_along(client):
    words = {"predictions": "A dog ran home.", "references": ["A dog ran home quickly."]}
    answer = client.predict(metric="cider", **words, api_name="/score")
    assert answer["score"] > 1
    assert "df:given@" in answer["signature"]
    assert answer["notes"] == [explanation_of("cider").note_alone]
    page = page_of("cider", "A dog ran.", "A dog ran home.", "", None, None)
    assert "the document frequencies of the 100 captions included in vlgauge" in page


def test_warnings_are_told_next_to_the_number():
    found = scoring.score_rows(scoring.metric_of("cider"), {"predictions": ["A dog."], "references": [["A dog."]]}, [0])
    assert len(found.notes) == 1
    assert "too few to determine which n-grams are rare" in found.notes[0]


def test_api_scores_what_compute_scores(client):
    story = ["We went to the fair.", "We went to the fair."]
    answer = client.predict(metric="rovist_nr", predictions=story, api_name="/score")
    expected = vlgauge.load("rovist_nr", profile="embedded").compute(predictions=[story])
    assert answer == {
        "score": expected["rovist_nr"],
        "higher_is_better": True,
        "range": "(-inf, 1]; paper [0, 1]",
        "signature": expected["rovist_nr_signature"],
        "notes": [],
    }


def test_api_takes_images_as_base64(client):
    image = IMAGES / "scene.png"
    caption = inputs.examples_for(scoring.metric_of("clip_s", config="image"))[0].cells["predictions"]
    sent = base64.b64encode(image.read_bytes()).decode()
    answer = client.predict(metric="clip_s", predictions=caption, images=[sent], api_name="/score")
    expected = vlgauge.load("clip_s", profile="embedded").compute(predictions=[caption], images=[str(image)])
    assert answer["score"] == pytest.approx(expected["clip_s"], rel=1e-5)


@pytest.mark.parametrize("form", [lambda file: file, lambda file: [file]], ids=["one", "list"])
def test_api_takes_files_as_the_client_sends_them(client, form):
    image = str(IMAGES / "scene.png")
    words = {"metric": "clip_s", "predictions": "A red ball.", "api_name": "/score"}
    answer = client.predict(images=form(handle_file(image)), **words)
    assert answer == client.predict(images=[base64.b64encode(Path(image).read_bytes()).decode()], **words)
    clip = inputs.examples_for(scoring.metric_of("clip_s", config="video"))[0].cells["videos"]
    words |= {"config": "video"}
    answer = client.predict(videos=handle_file(clip), **words)
    assert answer == client.predict(videos=base64.b64encode(Path(clip).read_bytes()).decode(), **words)
    assert answer["score"] is not None


def test_api_ignores_columns_as_compute_does(client):
    words = {"metric": "rouge_l", "predictions": "a dog", "references": ["a dog ran"], "api_name": "/score"}
    alone = client.predict(**words)
    others = client.predict(**words, styles="plain", images=["no picture"], videos="no clip")
    assert others.pop("notes") == ["rouge_l reads no images and styles and videos, but predictions, references"]
    assert others == {key: value for key, value in alone.items() if key != "notes"}


def forged(path):
    return {"path": str(path), "meta": {"_type": "gradio.FileData"}}


@pytest.mark.parametrize("sent", [forged("/etc/hostname"), {"path": "/etc/hostname"}, {}, 3, [], {"meta": 1}])
def test_no_file_but_an_upload_is_opened(sent, monkeypatch, tmp_path):
    monkeypatch.setattr(uploads, "get_upload_folder", lambda: str(tmp_path / "uploads"))
    (tmp_path / "uploads").mkdir()
    (tmp_path / "outside.png").write_bytes((IMAGES / "scene.png").read_bytes())
    for file in (sent, forged(tmp_path / "outside.png"), forged(tmp_path / "uploads" / ".." / "outside.png")):
        with pytest.raises(ValueError, match=r"^`images\[0\]`.*base64"):
            scoring.score("clip_s", "A dog.", images=[file])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"images": ["/etc/hostname"]}, "must be the bytes of a file in base64, got '/etc/hostname'"),
        ({"images": [{"path": "/etc/hostname"}]}, ""),
        ({"config": "mine"}, "`config_name` must be a configuration of clip_s"),
    ],
)
def test_api_opens_no_file_and_names_what_is_wrong(client, given, message):
    with pytest.raises((AppError, ValueError)) as caught:
        client.predict(metric="clip_s", predictions="A dog.", **given, api_name="/score")
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["bleu", "cider", "diversity", "trm"])
def test_a_chosen_tokenizer_scores_the_example_and_the_bundled_ones(name):
    form = form_of(name, "", 1)
    usual, _ = score_tab.score_fields(name, "", "embedded", *form, 1)
    page, deck = score_tab.score_fields(name, "", "embedded", *form, 1, "char")
    assert "tokenizer:char-1" in page
    assert "tokenizer:char-1" not in usual
    assert page == score_tab.show_first(name, "embedded", "", 1, "char")
    assert deck != score_tab.score_fields(name, "", "embedded", *form, 1)[1]
    # The default as a choice changes nothing.
    assert score_tab.score_fields(name, "", "embedded", *form, 1, scoring.tokenizers_of(name)[0])[0] == usual


def test_the_call_takes_a_tokenizer(client):
    rows = {"predictions": "一只狗在草地上跑", "references": ["一只狗在草地上奔跑"]}
    answer = client.predict("bleu", *rows.values(), tokenizer="char", api_name="/score")
    expected = vlgauge.load("bleu", tokenizer="char").compute(**{key: [cell] for key, cell in rows.items()})
    assert (answer["score"], answer["signature"]) == (pytest.approx(expected["bleu"]), expected["bleu_signature"])
    with pytest.raises(AppError, match="`tokenizer` must be empty for chrf"):
        client.predict("chrf", *rows.values(), tokenizer="char", api_name="/score")
