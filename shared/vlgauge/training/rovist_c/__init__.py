"""The recipe of RoViST-C: corpora, pairs of sentences, a fresh small model, epochs, and the files it writes."""
