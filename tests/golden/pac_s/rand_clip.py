"""Random CLIP weights that any code base can re-create bit for bit from (config, seed, align).

No golden file ships weights. `make` draws every tensor from `numpy.random.RandomState` (whose stream is frozen by
NEP 19), in sorted order of the OpenAI tensor names, and rounds it to float16 before storing it as float32; some loaders
pass CLIP weights through half precision, and such weights survive that unchanged. `digest` gives the sha256 recorded in
the `meta` of each file.

`align` > 0 adds one common direction to every image and text embedding, so that image-text cosines are clearly
positive, as with a trained CLIP; a small `align` leaves both signs, which exercises the clamp at zero.

`make_adapter` draws a pair of projection matrices close to those of `make` (the shape of a PAC-S adapter); `make_lora`
draws the low-rank tensors of a PAC-S++ checkpoint. All of it is numpy only; `to_torch` is a convenience.
"""

import hashlib
import math

import numpy as np

CONFIGS = {  # vision width/layers/patch/resolution, text width/layers, embedding size; attention heads are width / 64
    "vitb32": dict(vw=768, vl=12, p=32, res=224, tw=512, tl=12, d=512),  # 151,277,313 parameters
    "tiny": dict(vw=128, vl=2, p=32, res=224, tw=64, tl=2, d=32),  # 4,070,081 parameters, 0.2 s
}
VOCAB, CONTEXT = 49408, 77


def shapes(c):
    """Tensor name -> shape, for one of CONFIGS."""
    vw, tw, d = c["vw"], c["tw"], c["d"]
    grid = c["res"] // c["p"]
    s = {
        "visual.conv1.weight": (vw, 3, c["p"], c["p"]),
        "visual.class_embedding": (vw,),
        "visual.positional_embedding": (grid * grid + 1, vw),
        "visual.proj": (vw, d),
        "token_embedding.weight": (VOCAB, tw),
        "positional_embedding": (CONTEXT, tw),
        "text_projection": (tw, d),
        "logit_scale": (),
    }
    for n in ("visual.ln_pre", "visual.ln_post"):
        s[n + ".weight"] = (vw,)
        s[n + ".bias"] = (vw,)
    s["ln_final.weight"] = (tw,)
    s["ln_final.bias"] = (tw,)
    for tower, w, layers in (("visual.transformer", vw, c["vl"]), ("transformer", tw, c["tl"])):
        for i in range(layers):
            b = f"{tower}.resblocks.{i}."
            s.update(
                {
                    b + "attn.in_proj_weight": (3 * w, w),
                    b + "attn.in_proj_bias": (3 * w,),
                    b + "attn.out_proj.weight": (w, w),
                    b + "attn.out_proj.bias": (w,),
                    b + "mlp.c_fc.weight": (4 * w, w),
                    b + "mlp.c_fc.bias": (4 * w,),
                    b + "mlp.c_proj.weight": (w, 4 * w),
                    b + "mlp.c_proj.bias": (w,),
                }
            )
            for ln in ("ln_1", "ln_2"):
                s[b + ln + ".weight"] = (w,)
                s[b + ln + ".bias"] = (w,)
    return s


def half(x):
    """Round to float16, keep as float32."""
    return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)


def make(config="tiny", seed=0, align=0.8):
    """State dict: OpenAI tensor name -> float32 array."""
    c = CONFIGS[config]
    rs = np.random.RandomState(seed)
    sd = {}
    for name, shape in sorted(shapes(c).items()):
        if name == "logit_scale":
            sd[name] = np.float32(math.log(1 / 0.07))
            continue
        x = rs.standard_normal(shape).astype(np.float32)
        if ".ln_" in "." + name and name.endswith("weight"):
            x = 1 + 0.1 * x
        elif name in ("visual.ln_post.bias", "ln_final.bias"):
            pass
        elif name.endswith("bias"):
            x = 0.1 * x
        elif name == "token_embedding.weight":
            x = 0.5 * x
        elif name in ("positional_embedding", "visual.positional_embedding", "visual.class_embedding"):
            x = 0.1 * x
        elif name == "visual.conv1.weight":
            x = x / math.sqrt(3 * c["p"] ** 2) * 2
        elif name in ("text_projection", "visual.proj"):
            x = x / math.sqrt(shape[0])
        else:  # attention and MLP matrices, stored (out, in)
            x = x / math.sqrt(shape[1])
        sd[name] = x
    u = rs.standard_normal(c["d"])
    u = u / math.sqrt(math.fsum(u * u))
    if align:  # in float64, so that the rounding to float16 hides any difference between BLAS libraries
        for proj, bias in (("visual.proj", "visual.ln_post.bias"), ("text_projection", "ln_final.bias")):
            b = sd[bias].astype(np.float64)
            sd[proj] = sd[proj] + align * math.sqrt(2 * c["d"]) * np.multiply.outer(b / math.fsum(b * b), u)
    return {k: half(v) for k, v in sd.items()}


def make_adapter(config="tiny", seed=0, align=0.8, adapter_seed=99, scale=0.05):
    """The two projection matrices of make(config, seed, align), moved a little: what a PAC-S adapter file holds."""
    base = make(config, seed, align)
    rs = np.random.RandomState(adapter_seed)
    return {k: half(base[k] + scale * rs.standard_normal(base[k].shape)) for k in ("text_projection", "visual.proj")}


def lora_shapes(config="tiny", rank=4):
    """Names and shapes of the low-rank tensors of a PAC-S++ checkpoint."""
    c = CONFIGS[config]
    k, out = c["p"], {}
    for name, shape in shapes(c).items():
        if name == "visual.conv1.weight":
            stem, a, b = "visual.conv1.lora_", (rank * k, shape[1] * k), (shape[0] * k, rank * k)
        elif name.endswith("attn.in_proj_weight"):
            stem, a, b = name + "_lora_", (rank, shape[1]), (shape[0], rank)
        elif name.endswith(("attn.out_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")):
            stem, a, b = name[: -len("weight")] + "lora_", (rank, shape[1]), (shape[0], rank)
        else:
            continue
        out[stem + "A"], out[stem + "B"] = a, b
    return out


def make_lora(config="tiny", lora_seed=77, std=0.15, rank=4):
    """Low-rank tensors alone; a checkpoint is {**make(...), **make_lora(...)}."""
    rs = np.random.RandomState(lora_seed)
    return {k: (std * rs.standard_normal(s)).astype(np.float32) for k, s in sorted(lora_shapes(config, rank).items())}


def digest(state):
    """sha256 over names and bytes, in sorted order."""
    h = hashlib.sha256()
    for k in sorted(state):
        h.update(k.encode())
        h.update(np.ascontiguousarray(state[k]).tobytes())
    return h.hexdigest()


def to_torch(state):
    """The same dictionary with torch tensors."""
    import torch

    return {k: torch.from_numpy(np.array(v)) for k, v in state.items()}
