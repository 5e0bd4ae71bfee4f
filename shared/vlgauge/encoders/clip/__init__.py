"""CLIP: backbones, heads, weights and features."""
