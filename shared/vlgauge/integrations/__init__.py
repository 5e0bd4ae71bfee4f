"""Metrics inside training loops: one file per library, which is imported only by whoever asks for that file."""
