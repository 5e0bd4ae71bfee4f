"""Classifiers of sentence pairs."""
