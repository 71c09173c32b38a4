"""Text: sentences, tokens, word pieces, where a text names its targets, and names and aspects in it."""
