"""Models of a few thousand random numbers in the architectures of judge models, saved in their original formats."""

import io

import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers as pre

LETTERS = [chr(code) for code in range(33, 127)]
MARK = "▁"
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{% if message.content is string %}"
    "{{ message.content }}{% else %}{% for part in message.content %}{% if part.type == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
QWEN = ("<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
VISION = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
TEXT = {**VISION, "num_key_value_heads": 2, "max_position_embeddings": 2048}


def png(width, height, seed):
    """Return an image of noise in large squares, as the bytes of a file."""
    noise = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(noise).resize((width, height), Image.Resampling.NEAREST).save(stream, "PNG")
    return stream.getvalue()


def letters(special, *, end="</s>", joined=(), begin=None):
    """Return a tokenizer of single characters, with spaces marked as in Llama's.

    The pairs in `joined` become one token each.
    """
    known = [*special, MARK, "\n", *LETTERS, *("".join(pair) for pair in joined)]
    model = models.BPE({token: i for i, token in enumerate(known)}, list(joined), unk_token=special[0])
    made = Tokenizer(model)
    made.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    made.decoder = decoders.Sequence([decoders.Replace(MARK, " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    made.pre_tokenizer = pre.Split("\n", "isolated")
    words = {"unk_token": special[0], "eos_token": end, "pad_token": special[0]}
    found = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, **words, **({} if begin is None else {"bos_token": begin})
    )
    found.add_special_tokens({"additional_special_tokens": [one for one in special if one not in words.values()]})
    return found


def seeded(seed, build, scale=6.0):
    """Return a model with weights from a seed, larger than at initialization, so that answers differ."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build().eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.dim() > 1 and "embed" not in name:
                    parameter.mul_(scale)
    return model


def printing(model, tokenizer, answer, strength, behind=":"):
    """Bias a decoder toward an answer after a character, with output weights that match the preceding embedding."""
    head, table = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    ids = tokenizer.convert_tokens_to_ids([behind, *answer])
    with torch.no_grad():
        table.mul_(strength / table.norm(dim=1, keepdim=True))
        for before, after in zip(ids, [*ids[1:], tokenizer.eos_token_id], strict=True):
            head[after] += table[before] / strength
    return model


def llava(folder, *, seed=0, joined=(), answer=None, strength=20.0):
    tokenizer = letters(("<unk>", "<s>", "</s>", "<image>"), begin="<s>", joined=joined)
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**VISION, image_size=28, patch_size=14),
        text_config=transformers.LlamaConfig(**TEXT, vocab_size=len(tokenizer), eos_token_id=2, bos_token_id=1),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=4,
    )
    model = seeded(seed, lambda: transformers.LlavaForConditionalGeneration(config))
    if answer is not None:
        printing(model, tokenizer, answer, strength)
    images = transformers.CLIPImageProcessor(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    processor = transformers.LlavaProcessor(
        images, tokenizer, patch_size=14, vision_feature_select_strategy="default", num_additional_image_tokens=1
    )
    return _saved(folder, model, processor)


def llava_next(folder, *, seed=0):
    """Write a tiny LLaVA-NeXT, whose tower receives the size of each image in addition to its pixels."""
    tokenizer = letters(("<unk>", "<s>", "</s>", "<image>"), begin="<s>")
    sizes = [[28, 56], [56, 28], [56, 56]]
    config = transformers.LlavaNextConfig(
        vision_config=transformers.CLIPVisionConfig(**VISION, image_size=28, patch_size=14),
        text_config=transformers.LlamaConfig(**TEXT, vocab_size=len(tokenizer), eos_token_id=2, bos_token_id=1),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=sizes,
    )
    model = seeded(seed, lambda: transformers.LlavaNextForConditionalGeneration(config))
    images = transformers.LlavaNextImageProcessor(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}, image_grid_pinpoints=sizes
    )
    chat = CHAT.replace("<|vision_start|><|image_pad|><|vision_end|>", "<image>")
    kept = {"vision_feature_select_strategy": "default", "num_additional_image_tokens": 1, "chat_template": chat}
    return _saved(folder, model, transformers.LlavaNextProcessor(images, tokenizer, patch_size=14, **kept))


def qwen(folder, *, seed=0, three=False):
    tokenizer = letters(("<unk>", "<|im_end|>", *QWEN), end="<|im_end|>")
    named = _qwen_ids(tokenizer)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}
    text = {**TEXT, "vocab_size": len(tokenizer), "rope_parameters": rope, "eos_token_id": 1, "bos_token_id": None}
    if three:
        sight = {"depth": 2, "hidden_size": 16, "num_heads": 2, "intermediate_size": 24, "out_hidden_size": 16}
        sight |= {"patch_size": 14, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
        config = transformers.Qwen3VLConfig(vision_config=sight, text_config={**text, "head_dim": 8}, **named)
        made = transformers.Qwen3VLForConditionalGeneration
        of_images = transformers.Qwen2VLImageProcessor
        of_all, of_videos = transformers.Qwen3VLProcessor, transformers.Qwen3VLVideoProcessor
    else:
        sight = {"depth": 2, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "mlp_ratio": 2, "patch_size": 14}
        config = transformers.Qwen2VLConfig(vision_config=sight, text_config=text, **named)
        made = transformers.Qwen2VLForConditionalGeneration
        of_images, of_videos = transformers.Qwen2VLImageProcessor, transformers.Qwen2VLVideoProcessor
        of_all = transformers.Qwen2VLProcessor
    model = seeded(seed, lambda: made(config))
    sizes = {"size": {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 8}, "patch_size": 14, "merge_size": 2}
    processor = of_all(of_images(**sizes), tokenizer, of_videos(**sizes), chat_template=CHAT)
    return _saved(folder, model, processor)


def qwen25(folder, *, seed=0):
    """Write a tiny Qwen2.5-VL, which differs from Qwen2-VL by windows in the image tower."""
    tokenizer = letters(("<unk>", "<|im_end|>", *QWEN), end="<|im_end|>")
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}
    text = {**TEXT, "vocab_size": len(tokenizer), "rope_parameters": rope, "eos_token_id": 1, "bos_token_id": None}
    sight = {"depth": 2, "hidden_size": 16, "num_heads": 2, "intermediate_size": 24, "out_hidden_size": 16}
    sight |= {"patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1]}
    config = transformers.Qwen2_5_VLConfig(vision_config=sight, text_config=text, **_qwen_ids(tokenizer))
    model = seeded(seed, lambda: transformers.Qwen2_5_VLForConditionalGeneration(config))
    sizes = {"size": {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 8}, "patch_size": 14, "merge_size": 2}
    images, videos = transformers.Qwen2VLImageProcessor(**sizes), transformers.Qwen2VLVideoProcessor(**sizes)
    processor = transformers.Qwen2_5_VLProcessor(images, tokenizer, videos, chat_template=CHAT)
    return _saved(folder, model, processor)


def gemma3(folder, *, seed=0):
    special = ("<pad>", "<eos>", "<bos>", "<unk>", "<image_soft_token>", "<start_of_image>", "<end_of_image>")
    tokenizer = letters((*special, "<start_of_turn>", "<end_of_turn>"), end="<eos>", begin="<bos>")
    for name, token in (("image", special[4]), ("boi", special[5]), ("eoi", special[6])):
        tokenizer.init_kwargs[f"{name}_token"] = token
        setattr(tokenizer, f"{name}_token", token)
        setattr(tokenizer, f"{name}_token_id", tokenizer.convert_tokens_to_ids(token))
    text = {**TEXT, "vocab_size": len(tokenizer), "head_dim": 8, "sliding_window": 1024, "eos_token_id": 1}
    text |= {"bos_token_id": 2, "pad_token_id": 0, "query_pre_attn_scalar": 8}
    named = {"image_token_id": 4, "boi_token_index": 5, "eoi_token_index": 6, "mm_tokens_per_image": 4}
    config = transformers.Gemma3Config(
        vision_config={**VISION, "image_size": 28, "patch_size": 7}, text_config=text, **named
    )
    model = seeded(seed, lambda: transformers.Gemma3ForConditionalGeneration(config), 4.0)
    # The weights are zero at initialization, so that the image would have no effect.
    between = model.model.multi_modal_projector.mm_input_projection_weight
    with torch.no_grad():
        between.normal_(generator=torch.Generator().manual_seed(seed))
    images = transformers.Gemma3ImageProcessor(size={"height": 28, "width": 28})
    chat = CHAT.replace("<|im_start|>", "<start_of_turn>").replace("<|im_end|>", "<end_of_turn>")
    chat = "{{ bos_token }}" + chat.replace("<|vision_start|><|image_pad|><|vision_end|>", "<start_of_image>")
    processor = transformers.Gemma3Processor(images, tokenizer, chat_template=chat, image_seq_length=4)
    return _saved(folder, model, processor)


def paligemma(folder, *, seed=0):
    tokenizer = letters(("<pad>", "<eos>", "<bos>", "<unk>", "<image>"), end="<eos>", begin="<bos>")
    images = transformers.SiglipImageProcessor(size={"height": 28, "width": 28})
    images.image_seq_length = 4
    processor = transformers.PaliGemmaProcessor(images, tokenizer)
    text = {
        **TEXT,
        "vocab_size": len(tokenizer),
        "head_dim": 8,
        "eos_token_id": 1,
        "bos_token_id": 2,
        "pad_token_id": 0,
    }
    config = transformers.PaliGemmaConfig(
        vision_config={**VISION, "model_type": "siglip_vision_model", "image_size": 28, "patch_size": 14},
        text_config={**text, "model_type": "gemma"},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        projection_dim=16,
    )
    model = seeded(seed, lambda: transformers.PaliGemmaForConditionalGeneration(config), 4.0)
    return _saved(folder, model, processor)


def text_model(folder, *, seed=0, chat=True, answer=None, strength=20.0):
    tokenizer = letters(("<unk>", "<|im_end|>", "<|im_start|>"), end="<|im_end|>")
    if chat:
        tokenizer.chat_template = CHAT
    config = transformers.LlamaConfig(**TEXT, vocab_size=len(tokenizer), eos_token_id=1)
    model = seeded(seed, lambda: transformers.LlamaForCausalLM(config))
    if answer is not None:
        printing(model, tokenizer, answer, strength, "\n")
    return _saved(folder, model, tokenizer)


def t5(folder, *, seed=0, **more):
    tokenizer = letters(("<pad>", "</s>", "<unk>"))
    tokenizer.backend_tokenizer.post_processor = _with_end(tokenizer)
    return _saved(
        folder, seeded(seed, lambda: transformers.T5ForConditionalGeneration(_t5(tokenizer, **more)), 0.5), tokenizer
    )


def clip_t5(folder, *, seed=0):
    """Write a tiny CLIP-FlanT5, and return its folder and the folder of its image tower."""
    import json

    from safetensors.torch import save_file

    tokenizer = letters(("<pad>", "</s>", "<unk>"))
    tokenizer.backend_tokenizer.post_processor = _with_end(tokenizer)
    model = seeded(seed, lambda: transformers.T5ForConditionalGeneration(_t5(tokenizer)), 0.5)
    tower = seeded(
        seed + 1,
        lambda: transformers.CLIPVisionModel(transformers.CLIPVisionConfig(**VISION, image_size=28, patch_size=14)),
    )
    between = seeded(
        seed + 2,
        lambda: torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.GELU(), torch.nn.Linear(16, 16)),
    )
    _saved(folder / "tower", tower, transformers.CLIPImageProcessor(size={"shortest_edge": 28}, crop_size=28))
    tokenizer.save_pretrained(folder / "t5")
    state = {name: value.clone() for name, value in model.state_dict().items()}
    state |= {f"mm_projector.{name}": value.clone() for name, value in between.state_dict().items()}
    save_file(state, folder / "t5" / "model.safetensors")
    told = {**model.config.to_dict(), "model_type": "clip_t5", "mm_vision_tower": "tower"}
    told |= {"mm_projector_type": "mlp2x_gelu", "mm_vision_select_layer": -2}
    (folder / "t5" / "config.json").write_text(json.dumps(told))
    return folder / "t5", folder / "tower", (model, tower, between, tokenizer)


def _qwen_ids(tokenizer):
    marks = {"image": "image_pad", "video": "video_pad", "vision_start": "vision_start", "vision_end": "vision_end"}
    return {f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<|{mark}|>") for name, mark in marks.items()}


def _t5(tokenizer, **more):
    shape = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2}
    ids = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    return transformers.T5Config(vocab_size=len(tokenizer), **shape, **ids, tie_word_embeddings=False, **more)


def _with_end(tokenizer):
    from tokenizers.processors import TemplateProcessing

    return TemplateProcessing(single="$A </s>", special_tokens=[("</s>", tokenizer.eos_token_id)])


def _saved(folder, model, reader):
    model.save_pretrained(folder)
    reader.save_pretrained(folder)
    return folder


def adapter(folder, *, seed=0, rank=4, alpha=8, pickled=False, moved=True, **settings):
    """Write an adapter for `llava` in the format of LLaVA's training.

    With `moved`, the adapter contains the layers between image and text.
    """
    import json

    from safetensors.torch import save_file

    made = torch.Generator().manual_seed(seed)
    width, inner, prefix = TEXT["hidden_size"], TEXT["intermediate_size"], "base_model.model.model."
    shapes = {f"self_attn.{name}_proj": (width, width) for name in "qkvo"}
    shapes |= {"mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width), "mlp.down_proj": (width, inner)}
    thin = {}
    for layer in range(TEXT["num_hidden_layers"]):
        for name, (n_out, n_in) in shapes.items():
            start = f"{prefix}layers.{layer}.{name}.lora_"
            thin[f"{start}A.weight"] = torch.randn(rank, n_in, generator=made)
            thin[f"{start}B.weight"] = torch.randn(n_out, rank, generator=made)
    sizes = {"0.weight": (width, width), "0.bias": (width,), "2.weight": (width, width), "2.bias": (width,)}
    whole = {f"{prefix}mm_projector.{name}": torch.randn(size, generator=made) for name, size in sizes.items()}
    folder.mkdir(parents=True, exist_ok=True)
    if pickled:
        torch.save(thin, folder / "adapter_model.bin")
    else:
        save_file(thin, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    if moved:
        torch.save(whole, folder / "non_lora_trainables.bin")
    told = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "liuhaotian/llava-v1.5-13b"}
    told |= {"r": rank, "lora_alpha": alpha, "lora_dropout": 0.05, "bias": "none", "fan_in_fan_out": False}
    told |= {"inference_mode": True, "modules_to_save": None, "target_modules": [name.split(".")[1] for name in shapes]}
    (folder / "adapter_config.json").write_text(json.dumps({**told, **settings}))
    (folder / "config.json").write_text(json.dumps({"model_type": "llava_llama", "mm_projector_type": "mlp2x_gelu"}))
    return folder


# Families with one folder for all their parts. CLIP-FlanT5 has two.
SEEING = {
    "llava": llava,
    "qwen2": qwen,
    "qwen2.5": qwen25,
    "qwen3": lambda folder: qwen(folder, three=True),
    "gemma3": gemma3,
    "paligemma": paligemma,
}
