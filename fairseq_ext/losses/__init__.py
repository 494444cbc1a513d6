"""Losses as functions and modules of tensors, without fairseq: one file each."""
