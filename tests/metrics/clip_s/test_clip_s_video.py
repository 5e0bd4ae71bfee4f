"""clip_s with config_name "video": the released EMScore and every pair scored separately, with random weights."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from tiny_clip import IMAGES, TINY, golden_arrays, golden_json, write_tiny

import vlgauge
from vlgauge.families.clip_score.rows import text_rows
from vlgauge.families.clip_score.token_idf import corpus_idf, resolve_idf
from vlgauge.families.clip_score.vectors import ClipVectors
from vlgauge.families.clip_score.video_rows import score_videos
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.clip.tokens import ClipTokens

TOKENS = ClipTokens(77)

CONFIGS = [(0, 0.8), (3, 0.3)]
RUNS = [
    *("free_noidf", "free_idf_cands", "free_idf_corpus", "free_idf_corpus_bs2"),
    *("ref_noidf", "ref_idf_refs", "ref_idf_corpus"),
]
PARTS = {"precision": "figr_P", "recall": "figr_R", "fine": "figr_F", "coarse": "cogr"}


@dataclass(frozen=True)
class GivenFrame:
    """Video frame with a given embedding."""

    key: bytes
    vector: np.ndarray


class GivenVectors(ClipVectors):
    """Texts by the encoder, frames as given."""

    def images(self, lazy_images, on_error):
        return np.stack([image.vector for image in lazy_images]), np.zeros(len(lazy_images), dtype=bool)


@pytest.fixture(scope="module", params=CONFIGS, ids=lambda config: f"seed {config[0]}")
def oracle(request, tmp_path_factory):
    """Golden values, encoder, and frames of each video."""
    seed, align = request.param
    name = f"video_tiny_s{seed}_a{align}"
    weights = write_tiny(tmp_path_factory.mktemp("tiny"), seed, align)
    gold, arrays = golden_json(f"{name}.json"), golden_arrays(f"{name}.npz")
    arrays["clip10"] = arrays["clip"][gold["meta"]["clip_idx10"]]
    frames = {
        video: [GivenFrame(f"{video}{i}".encode(), row) for i, row in enumerate(rows)] for video, rows in arrays.items()
    }
    return gold, clip_encoder(TINY, weights=weights, device="cpu"), frames, weights


def rows_of(inputs):
    references = inputs["refs"] or [None] * len(inputs["cands"])
    return text_rows(inputs["cands"], references, TOKENS, "truncate")


def weights_of(name, rows, gold):
    if not name:
        return None
    candidates, references = rows.all_pieces
    setting = "auto" if name is True else gold["meta"]["idf_corpus"]
    return resolve_idf(setting, candidates=candidates, references=references, tokens=TOKENS)


def close(found, wanted):
    return found == pytest.approx([math.nan if value is None else value for value in wanted], abs=1e-5, nan_ok=True)


def assert_parts_close(details, wanted, prefix=""):
    """Check precision, recall and coarse within 1e-5, and fine within the error that results from them.

    In 2PR / (P + R) an error of P or R grows by up to 2 (P^2 + R^2) / (P + R)^2, which is large if they nearly cancel:
    embeddings of a random encoder have negative cosines.
    """
    for part in ("precision", "recall", "coarse"):
        assert close([note[prefix + part] for note in details], wanted[PARTS[part]])
    for note, fine, p, r in zip(details, *(wanted[name] for name in ("figr_F", "figr_P", "figr_R")), strict=True):
        growth = 2 * (p**2 + r**2) / (p + r) ** 2 if p else 1
        expected = math.nan if fine is None else fine
        assert note[f"{prefix}fine"] == pytest.approx(expected, abs=1e-5 * growth, nan_ok=True)


@pytest.mark.parametrize("run", RUNS)
def test_emscore_as_released(oracle, run):
    gold, encoder, frames, _ = oracle
    inputs, scores = gold["emscore"][run]["inputs"], gold["emscore"][run]["scores"]
    rows = rows_of(inputs)
    scored = score_videos(
        GivenVectors(encoder),
        rows,
        [frames[video] for video in inputs["vids"]],
        idf=weights_of(inputs["idf"], rows, gold),
        batch=inputs.get("batch_size", 64),
        details=True,
    )
    free = scores["EMScore(X,V)"]
    assert close(scored.scores.tolist(), free["full_F"])
    assert_parts_close(scored.details, free)
    if "EMScore(X,V,X*)" not in scores:
        assert scored.reference_scores is None
        return
    assert close(scored.reference_scores.tolist(), scores["EMScore(X,V,X*)"]["full_F"])
    assert_parts_close(scored.details, scores["EMScore(X,X*)"], "reference_")


@pytest.mark.parametrize("word_weights", ["noidf", "idf_corpus"])
@pytest.mark.parametrize("joint", [False, True], ids=["released", "paper"])
def test_every_pair_by_itself(oracle, word_weights, joint):
    gold, encoder, frames, _ = oracle
    inputs, wanted = gold["alone"]["inputs"], gold["alone"][word_weights]
    rows = rows_of(inputs)
    idf = weights_of(word_weights == "idf_corpus" and "corpus", rows, gold)
    videos = [frames[video] for video in inputs["vids"]]
    scored = score_videos(GivenVectors(encoder), rows, videos, idf=idf, joint=joint, details=True)
    assert close(scored.scores.tolist(), wanted["score"])
    assert close(scored.reference_scores.tolist(), wanted["ref_score_paper" if joint else "ref_score_released"])
    assert_parts_close(scored.details, wanted["video"])
    for part, name in PARTS.items():
        largest = wanted["reference_max_per_component"][name]
        assert close([note[f"reference_{part}"] for note in scored.details], largest)


def test_table_of_the_corpus(oracle):
    meta = oracle[0]["meta"]
    idf = corpus_idf(meta["idf_corpus"], "corpus", TOKENS)
    assert {str(token): weight for token, weight in idf.weights.items()} == pytest.approx(
        meta["idf_corpus_raw"], abs=1e-12
    )
    assert idf.end == pytest.approx(meta["idf_corpus_eos"], abs=1e-12)
    assert idf.unseen == pytest.approx(meta["idf_corpus_unseen"], abs=1e-12)
    assert idf.of(np.array([49406, 0, 49407, 40000])) == pytest.approx([0, 0, idf.end, idf.unseen], abs=1e-12)


def test_a_file_from_end_to_end(oracle):
    gold, _, _, weights = oracle
    run = gold["emscore"]["path_noidf"]
    settings = {"variant": "emscore", "idf": False, "n_frames": "all", "device": "cpu"}
    metric = vlgauge.load("clip_s", "video", keep_in_memory=True, backbone=TINY, weights=weights, **settings)
    result = metric.compute(predictions=run["inputs"]["cands"], videos=[IMAGES / "syn_clip.mp4"])
    assert close(result["clip_s_scores"], run["scores"]["EMScore(X,V)"]["full_F"])


@pytest.mark.filterwarnings("ignore:.*<.startoftext.>")
def test_tokens_behind_the_first_end_do_not_count(oracle):
    """Check the rule of EMScore, which masks a caption after its end token but counts all tokens in word weights."""
    _, _, _, weights = oracle
    plain, spelled = "a zebra", "a zebra<|endoftext|> cat<|endoftext|>"
    settings = {"backbone": TINY, "weights": weights, "device": "cpu", "n_frames": 3}
    metric = vlgauge.load("clip_s", "video", keep_in_memory=True, **settings)
    rows = {"predictions": [plain, spelled] * 2, "videos": [IMAGES / "syn_clip.mp4"] * 4}
    references = [["zebras run"], ["zebras run"], [spelled], [plain]]
    result = metric.compute(**rows, references=references, return_details=True)
    assert result["clip_s_scores"] == pytest.approx([result["clip_s_scores"][0]] * 4, abs=1e-6)
    first, second, *same = result["clip_s_details"]
    assert first["reference_fine"] == pytest.approx(second["reference_fine"], abs=1e-6)
    assert [note["reference_fine"] for note in same] == pytest.approx([1.0, 1.0], abs=1e-5)
    assert [len(note["tokens"]) for note in result["clip_s_details"]] == [4] * 4
    assert [note["special"] for note in result["clip_s_details"]] == [False, True] * 2
    assert [len(ids) for ids in TOKENS([plain, spelled])[0]] == [4, 7]
    (_, cat, _) = TOKENS(["cat"])[0][0]
    assert corpus_idf([plain, spelled], "x", TOKENS).weights[cat] == pytest.approx(math.log(3 / 2))
