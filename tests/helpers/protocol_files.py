"""Datasets of the evaluation protocols in their published layouts, with a few artificial rows."""

import json
import pickle

import numpy as np
from scipy.io import savemat

FLICKR = {
    "1": {
        "image_path": "Flickr8k_Dataset/1.jpg",
        "ground_truth": ["A dog  runs .", "A brown dog .", "The dog\truns fast ."],
        "human_judgement": [
            {"image_path": "Flickr8k_Dataset/1.jpg", "caption": "A  dog .", "rating": 3.0},
            {"image_path": "Flickr8k_Dataset/1.jpg", "caption": "A  dog .", "rating": 4.0},
            {"image_path": "Flickr8k_Dataset/1.jpg", "caption": "A  dog .", "rating": float("nan")},
            {"image_path": "Flickr8k_Dataset/1.jpg", "caption": "A cat .", "rating": 1},
        ],
    },
    "2": {
        "image_path": "Flickr8k_Dataset/2.jpg",
        "ground_truth": ["Two cats ."],
        "human_judgement": [{"caption": "A dog .", "rating": 2.0}, {"caption": "Two cats play .", "rating": 4.0}],
    },
}
CROWD = {
    "1.jpg": {
        "image_path": "Flicker8k_Dataset/1.jpg",
        "ground_truth": ["A dog .", "A brown dog ."],
        "human_judgement": [{"caption": "A  dog .", "rating": 1.0}, {"caption": "A cat .", "rating": 1 / 3}],
    },
    "2.jpg": {
        "image_path": "Flicker8k_Dataset/2.jpg",
        "ground_truth": ["Two cats ."],
        "human_judgement": [{"caption": "Two cats .", "rating": 0.5}, {"caption": "No .", "rating": float("nan")}],
    },
}
FOIL = {
    "images": [{"id": 7, "file_name": "COCO_val2014_000000000007.jpg"}, {"id": 8, "file_name": "eight.jpg"}],
    "annotations": [
        {"id": 70, "image_id": 7, "caption": "A dog runs.", "foil": False, "foil_word": "ORIG"},
        {"id": 80, "image_id": 8, "caption": "A car.", "foil": False},
        {"id": 70, "image_id": 7, "caption": "A cat runs.", "foil": True, "foil_word": "cat"},
        {"id": 70, "image_id": 7, "caption": "A bus runs.", "foil": True, "foil_word": "bus"},
        {"id": 80, "image_id": 8, "caption": "A bike.", "foil": True},
    ],
}
COCO = {
    "annotations": [
        {"image_id": 7, "id": 1, "caption": "One dog."},
        {"image_id": 7, "id": 70, "caption": " A dog  runs."},
        {"image_id": 8, "id": 2, "caption": "Car."},
        *({"image_id": 7, "id": i, "caption": f"Dog {i}."} for i in (2, 3, 4, 5)),
        {"image_id": 9, "id": 9, "caption": "Another image."},
    ]
}
RIGHT = {"v_a": ["A man walks.", "He  sits."], "v_b": ["A dog."]}
WRONG = {"v_b": ["A cat."], "v_a": ["A man walks.", "He runs."]}
SEGMENTS = {
    "v_a": {"duration": 20.0, "timestamps": [[0.0, 5.5], [12.0, 9.0]], "sentences": ["x", "y"]},
    "v_b": {"duration": 9.0, "timestamps": [[3.0, 3.0], [4.0, 5.0]], "sentences": ["z", "w"]},
}
TOLD = {
    "v_a": {"timestamps": [[0, 4.9], [4.0, 11.0], [13.0, 19.0]], "sentences": ["first", "middle", "last"]},
    "v_b": {"timestamps": [[6, 9], [7, 8]], "sentences": ["late", "later"]},
}


def write(path, content):
    path.write_text(json.dumps(content), "utf-8")
    return path


def write_flickr(folder):
    return write(folder / "flickr8k.json", FLICKR)


def write_crowd(folder):
    return write(folder / "crowdflower_flickr8k.json", CROWD)


def write_foil(folder):
    write(folder / "foilv1.0_test_2017.json", FOIL)
    write(folder / "captions_val2014.json", COCO)
    return folder


def write_activitynet(folder):
    for name, sentences in (("right", RIGHT), ("foil", WRONG)):
        results = {key: [{"sentence": text} for text in texts] for key, texts in sentences.items()}
        write(folder / f"final_{name}_video_sentences.json", {"results": results})
    write(folder / "anet_entities_test_1.json", SEGMENTS)
    write(folder / "anet_entities_test_2.json", TOLD)
    return folder


def write_vatex(folder, protocol=4, **changed):
    content = {
        "candidates_list": np.array(["A man.", "A  dog runs.", "A cat."]),
        "gts_list": np.array([[f"{what} {i}." for i in range(10)] for what in ("man", "dog", "cat")]),
        "human_scores": np.array([1, 5, 2, 2, 4, 1, 1, 5, 3]),
        "video_ids": np.array(["v1", "v2", "v1"]),
        **changed,
    }
    for name, value in content.items():
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(value, protocol))
    return folder


def cell(value):
    inner = np.empty((1, 1), dtype=object)
    inner[0, 0] = value
    return inner


def structures(rows, names):
    found = np.empty((1, len(rows)), dtype=[(name, object) for name in names])
    for i, row in enumerate(rows):
        found[0, i] = tuple(row)
    return found


PASCAL = [
    # image, B, C, votes for B, category
    ("2008_1.jpg", "A dog.", "Dog runs.", 30, 1),
    ("2008_1.jpg", "A dog.", "A boat.", 48, 2),
    ("https://example.org/PASCAL/2008_2.jpg", "A cat.", " The cat is a cat.", 24, 3),
    ("2008_3.jpg", "bus bus", "a bus", 10, 4),
]


def references_of(row):
    return [f"{row[0][-5]} reference {j}." for j in range(48)]


def triplets(rows=PASCAL, names="ABCw"):
    votes = [
        (cell(text), cell(b), cell(c), float(1 if j < n else -1))
        for image, b, c, n, _ in rows
        for j, text in enumerate(references_of((image,)))
    ]
    return structures(votes, names)


def write_pascal(folder, rows=PASCAL, **changed):
    savemat(folder / "consensus_pascal.mat", {"triplets": triplets(rows)}, do_compression=True)
    pairs = {
        "new_input": structures([row[:3] for row in rows], ("image", "b", "c")),
        "category": np.array([[row[4] for row in rows]], dtype=float),
        "new_data": np.zeros((len(rows), 2)),
        **changed,
    }
    savemat(folder / "pair_pascal.mat", pairs)
    return folder


def write_abstract(folder, rows=PASCAL, common=0):
    savemat(folder / "consensus_abstract.mat", {"triplets": triplets(rows)})
    images = list(dict.fromkeys(row[0] for row in rows))
    sentences = []
    for image in images:
        texts = [*references_of((image,)), "one more", "and another"]
        texts[:common] = references_of(rows[0])[:common]
        column = np.empty((50, 1), dtype=object)
        column[:, 0] = texts
        sentences.append((column, f"https://example.org/{image.rpartition('/')[2]}"))
    savemat(folder / "abstract50S.mat", {"abs_sent": structures(sentences, ("sentences", "address"))})
    return folder


FLEUR = {
    "MM": [{"image": "VOC2012/JPEGImages/4.jpg", "captions": ["a", "b"], "label": 1, "references": list("pqrst")}],
    "HC": [{"image": "1.jpg", "captions": ["c", "d"], "label": 0, "references": list("uvwxy")}],
}


def write_images(folder):
    """Write a folder of empty files with the names of images and videos."""
    for name in ("Flickr8k_Dataset/1.jpg", "2.jpg", "COCO_val2014_000000000007.jpg", "2008_1.jpg", "2008_2.jpg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    for name in ("v1.mp4", "v2.webm", "v_a.mkv"):
        (folder / name).touch()
    return folder
