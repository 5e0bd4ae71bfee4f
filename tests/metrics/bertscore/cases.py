"""Cases of this metric for the tests of all metrics."""

import tiny_polos
import tiny_roberta
from apart_cases import captioned
from signature_cases import each_of

APART = {"": ({}, captioned), "-idf": ({"idf": True}, captioned)}


def changes(files):
    one = named(files)
    other = one | {"model": folder_of(files, 1)}
    baselines = [files.text(f"{p}.csv", f"LAYER,P,R,F\n0,0,0,0\n1,{p},{p},{p}\n") for p in (0.25, 0.5)]
    roberta = {"model": folder_of(files, 2, "roberta"), "num_layers": 1}
    return {
        "model": (one, other),
        **each_of(one, num_layers=(1, 2), dtype=(None, "bfloat16"), baseline=tuple(baselines)),
        **each_of(one, idf=(["a dog", "a cat"], ["a dog", "a dog"])),
        **each_of(roberta, prefix_space=(None, False)),
    }


def named(files):
    return {"model": folder_of(files, 0), "num_layers": 1, "device": "cpu"}


def folder_of(files, seed, kind="bert"):
    folder = files.folder / f"tokens_{seed}"
    if not folder.is_dir():
        (tiny_roberta.roberta if kind == "roberta" else tiny_polos.text_encoder)(folder, seed)
    return str(folder)
