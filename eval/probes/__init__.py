"""Analyses of trained checkpoints, ours and stock fairseq's: where in the network does the language go?

`states` extracts hidden states once; the probes that need them read its folder. Every probe writes a result
file that `python -m eval report` shows.
"""

COMMANDS = {
    "states": ("eval.probes.states", "extract the hidden states of a checkpoint (8.2.3)"),
    "llr": ("eval.probes.llr", "layer-wise language recognition (8.2.3, E.4)"),
    "similarity": ("eval.probes.similarity", "SVCCA and linear CKA of parallel sentences per layer (E.1)"),
    "retrieval": ("eval.probes.retrieval", "sentence and word retrieval P@1 in the encoder (5.3.2 to 5.3.4)"),
    "correlate": ("eval.probes.correlate", "change in BLEU against change in retrieval P@1 (5.3.3)"),
    "cosine": ("eval.probes.parallel_cosine", "cosine of parallel sentences per layer, and changes (6.4.5)"),
    "off-target": ("eval.probes.off_target", "intended against identified languages, and the worst lines"),
    "interlingua": ("eval.probes.interlingua", "lengths and similarity of an interlingua (7.4.3, Table 7.5)"),
    "pretraining-accuracy": ("eval.probes.pretraining_accuracy", "accuracy per pre-training task (4.5.5)"),
    "validation-curves": ("eval.probes.validation_curves", "validation loss during training (Figure 7.3)"),
}
