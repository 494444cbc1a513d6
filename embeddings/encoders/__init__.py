"""Encoders of sentences, of which the commands know nothing but `SentenceEncoder`."""
