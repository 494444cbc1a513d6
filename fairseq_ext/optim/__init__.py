"""Optimizers behind fairseq's interface."""
