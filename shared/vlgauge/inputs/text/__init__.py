"""Text: sentences, tokens, noun phrases, word vectors."""
