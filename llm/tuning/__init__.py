"""Tuning a causal language model of `transformers` on instructions (thesis 6.3.2)."""
