"""Analyses of trained checkpoints, ours and stock fairseq's: where in the network does the language go?

`states` extracts hidden states once; the probes that need them read its folder. Every probe writes a result
file that `python -m eval report` shows.
"""

from typing import NamedTuple


class Probe(NamedTuple):
    """One file: what is measured, its options (`add_arguments`), and its section of the report (`section`).

    Attributes:
        module: is imported when the probe runs or is shown.
        summary: one line for `--help`.
        kind: of the result file; None for one that no section shows.
    """

    module: str
    summary: str
    kind: str | None


# In the order of `--help`, and of the report where `eval.report` does not place a section itself.
PROBES = {
    "states": Probe("eval.probes.states", "extract the hidden states of a checkpoint (8.2.3)", None),
    "llr": Probe("eval.probes.llr", "layer-wise language recognition (8.2.3, E.4)", "llr"),
    "similarity": Probe(
        "eval.probes.similarity", "SVCCA and linear CKA of parallel sentences per layer (E.1)", "similarity"
    ),
    "retrieval": Probe(
        "eval.probes.retrieval",
        "sentence and word retrieval P@1 in the encoder (5.3.2 to 5.3.4)",
        "retrieval",
    ),
    "correlate": Probe(
        "eval.probes.correlate", "change in BLEU against change in retrieval P@1 (5.3.3)", "correlation"
    ),
    "cosine": Probe(
        "eval.probes.cosine", "cosine of parallel sentences per layer, and changes (6.4.5)", "cosine"
    ),
    "off-target": Probe(
        "eval.probes.off_target", "intended against identified languages, and the worst lines", "off-target"
    ),
    "pretraining-accuracy": Probe(
        "eval.probes.pretraining_accuracy", "accuracy per pre-training task (4.5.5)", "pretraining-accuracy"
    ),
    "interlingua": Probe(
        "eval.probes.interlingua",
        "lengths and similarity of an interlingua (7.4.3, Table 7.5)",
        "interlingua",
    ),
    "validation-curves": Probe(
        "eval.probes.validation_curves", "validation loss during training (Figure 7.3)", "validation-curves"
    ),
    "training-speed": Probe(
        "eval.probes.training_speed", "seconds of 1,000 updates, from logs (2.4.7)", "training-speed"
    ),
    "data-size": Probe(
        "eval.probes.data_size",
        "P@1 of sentence retrieval against sizes of parallel or monolingual data (OneAligner, Figures 1, 2)",
        "data-size",
    ),
    "learning-curves": Probe(
        "eval.probes.learning_curves",
        "zero-shot translation during training, and layer-wise language recognition (8.2.2, E.1)",
        "learning-curves",
    ),
    "combination": Probe(
        "eval.probes.combination", "do gains of two changes add up? with intervals (9.2)", "combination"
    ),
    "language-groups": Probe(
        "eval.probes.language_groups",
        "translation from one group of languages into another, seen and unseen (6.4.4)",
        "language-groups",
    ),
    "cost": Probe(
        "eval.probes.cost", "updates, words, arithmetic and processor time of trainings, from logs", "cost"
    ),
    "transfer": Probe(
        "eval.probes.transfer",
        "zero-shot transfer of fine-tuned encoders against translate-train: gap and rate (Is Cross-lingual"
        " Evaluation Only About Cross-lingual?, 4)",
        "transfer",
    ),
    "retrieval-curves": Probe(
        "eval.probes.retrieval_curves",
        "retrieval during training beside the validation loss (5.3.2)",
        "retrieval-curves",
    ),
}
COMMANDS = {name: (probe.module, probe.summary) for name, probe in PROBES.items()}
