"""Sentence embeddings: `python -m embeddings COMMAND …` with any encoder of sentences."""
