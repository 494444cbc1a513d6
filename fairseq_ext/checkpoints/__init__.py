"""Checkpoints: read safely, loaded for inference, a start for training, made of mBART."""

from fairseq_ext.checkpoints.loading import LoadedModel, load_for_inference
from fairseq_ext.checkpoints.reading import guard_fairseq, read_checkpoint, read_weights

__all__ = ["LoadedModel", "guard_fairseq", "load_for_inference", "read_checkpoint", "read_weights"]
