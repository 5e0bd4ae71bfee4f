"""Tokens of captions as in the COCO caption evaluation, which uses Stanford's PTBTokenizer."""
