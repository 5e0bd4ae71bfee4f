"""Untrusted and trusted input: text, images, videos, tables, datasets, sandbox."""
