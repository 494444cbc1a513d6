"""Checkpoints: read safely, loaded for inference, started from, made of mBART."""
