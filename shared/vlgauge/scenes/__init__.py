"""Drawn scenes: seeded pictures of simple shapes, with captions, boxes and labels."""
