"""The oracle of Polos: generated models in the released layout, and the outputs of the authors' code for rows."""

import json
import sys
from pathlib import Path

import numpy as np
from oracle_backbones import maker, tiny_clip_row
from safetensors.numpy import load_file, save_file

from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.rated import models as polos_models
from vlgauge.models.rated.files import head_of, metadata_of, write_head

ROW = tiny_clip_row("ViT-B/32", {"d": 512, "res": 224, "vl": 1, "vw": 64, "p": 32, "ctx": 77, "tw": 64, "tl": 2})


class Oracle:
    """Files of the oracle, and files generated from them in a folder."""

    def __init__(self, source, folder):
        self.source, self.folder = Path(source), Path(folder)
        self.text_encoder = self.source / "inputs" / "tiny-roberta"
        self.scores = json.loads((self.source / "scores.json").read_text("utf-8"))
        self.loss = json.loads((self.source / "loss.json").read_text("utf-8"))
        given = json.loads((self.source / "inputs" / "rows.json").read_text("utf-8"))
        self.rows, self.too_long = {row["id"]: row for row in given["rows"]}, given["too_long"]

    def arrays(self, name):
        with np.load(self.source / name) as file:
            return dict(file)

    @property
    def clip(self):
        """File with the weights of the tiny CLIP."""
        path = self.folder / "clip.safetensors"
        if path.is_file():
            return path
        sys.path.insert(0, str(self.source / "scripts"))
        try:
            state = maker(self.source / "scripts", "polos_weights").make_clip()
        finally:
            sys.path.pop(0)
        save_file({name: np.asarray(array) for name, array in state.items()}, path)
        return path

    @property
    def head(self):
        """File with the head."""
        path = self.folder / "head.safetensors"
        if path.is_file():
            return path
        clip = clip_encoder(ROW, weights=self.clip, device="cpu")
        text = polos_models.text_encoder_of(str(self.text_encoder), profile="paper", device="cpu")
        tensors = load_file(self.source / "weights" / "head.safetensors")
        about = metadata_of(clip.model.state_dict(), clip.architecture, text)
        write_head(path, head_of(tensors, about, "the oracle"))
        return path

    @property
    def settings(self):
        """Settings of the metric."""
        named = {"backbone": ROW, "weights": self.clip, "text_encoder": self.text_encoder, "checkpoint": self.head}
        return {**named, "device": "cpu"}

    def columns(self, ids):
        """Return the columns of some rows."""
        rows = [self.rows[number] for number in ids]
        return {
            "predictions": [row["cand"] for row in rows],
            "references": [row["refs"] for row in rows],
            "images": [str(self.source / "inputs" / "images" / row["image"]) for row in rows],
        }
