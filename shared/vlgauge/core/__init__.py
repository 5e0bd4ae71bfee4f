"""Foundations without `evaluate`, torch, spaCy or Gradio: validation, errors, signatures, results, cards."""
