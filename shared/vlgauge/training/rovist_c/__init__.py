"""Training of classifiers of sentence order: corpora, pairs, a fresh small model, the loop, and its report."""
