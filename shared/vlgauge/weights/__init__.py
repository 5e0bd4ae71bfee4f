"""Bytes on a disk become tensors, and nothing is executed."""
