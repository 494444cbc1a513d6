"""Analyses of trained checkpoints, ours and stock fairseq's: where in the network does the language go?

`states` extracts hidden states once; the probes that need them read its folder. Every probe writes a result
file that `python -m eval report` shows.
"""

# name -> its module, and one line for `--help`; in the order of `--help`
COMMANDS = {
    "states": ("eval.probes.states", "extract the hidden states of a checkpoint (thesis 8.2.3)"),
    "llr": ("eval.probes.llr", "layer-wise language recognition (thesis 8.2.3, E.4)"),
    "similarity": (
        "eval.probes.similarity",
        "SVCCA and linear CKA of parallel sentences per layer (thesis E.1)",
    ),
    "retrieval": ("eval.probes.retrieval", "sentence and word retrieval P@1 in the encoder (thesis 5.3)"),
    "correlate": ("eval.probes.correlate", "change in BLEU against change in retrieval P@1 (thesis 5.3.3)"),
    "cosine": ("eval.probes.cosine", "cosine of parallel sentences per layer, and changes (thesis 6.4.5)"),
    "off-target": ("eval.probes.off_target", "intended against identified languages, and the worst lines"),
    "contribution": (
        "eval.probes.contribution",
        "source and tags in every predicted token, on and off target (Voita et al. 2021)",
    ),
    "pretraining-accuracy": (
        "eval.probes.pretraining_accuracy",
        "accuracy per pre-training task (thesis 4.5.5)",
    ),
    "interlingua": (
        "eval.probes.interlingua",
        "lengths and similarity of an interlingua (thesis 7.4.3, Table 7.5)",
    ),
    "validation-curves": ("eval.probes.validation_curves", "validation loss during training (Figure 7.3)"),
    "training-speed": ("eval.probes.training_speed", "seconds of 1,000 updates, from logs (thesis 2.4.7)"),
    "data-size": (
        "eval.probes.data_size",
        "P@1 of sentence retrieval against sizes of parallel or monolingual data (OneAligner, Figures 1, 2)",
    ),
    "learning-curves": (
        "eval.probes.learning_curves",
        "zero-shot translation during training, and layer-wise language recognition (thesis 8.2.2, E.1)",
    ),
    "combination": ("eval.probes.combination", "do gains of two changes add up? with intervals (thesis 9.2)"),
    "language-groups": (
        "eval.probes.language_groups",
        "translation from one group of languages into another, seen and unseen (thesis 6.4.4)",
    ),
    "cost": ("eval.probes.cost", "updates, words, arithmetic and processor time of trainings, from logs"),
    "transfer": (
        "eval.probes.transfer",
        "zero-shot transfer of fine-tuned encoders against translate-train: gap and rate (Is Cross-lingual"
        " Evaluation Only About Cross-lingual?, 4)",
    ),
    "retrieval-curves": (
        "eval.probes.retrieval_curves",
        "retrieval during training beside the validation loss (thesis 5.3.2)",
    ),
}
