"""Training recipe of RoViST-C: corpora, sentence pairs, a small new model, epochs, and output files."""
