"""CLIP encoders: architectures, weights, tokenizers, projection heads and checkpoints."""
