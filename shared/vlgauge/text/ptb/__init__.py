"""Tokens of captions as the COCO caption evaluation makes them with Stanford's PTBTokenizer."""
