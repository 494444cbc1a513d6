"""Checkpoints: read safely, started from, made of mBART."""
