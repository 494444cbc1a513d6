"""What the step `align` was asked for."""

from argparse import BooleanOptionalAction
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import force_switch, option, output_folder
from command_line.workers import dask_option, workers_option
from data_prep.alignment.aligners import ALIGNERS
from data_prep.alignment.links import SYMMETRIZATIONS
from data_prep.formats.texts import Text

TEXT_SUFFIX = ".align"
USUAL_LINKS = ("grow-diag-final-and", True)  # symmetrization, and whether a word has one link
USUAL_TRANSLATIONS = 5


@dataclass(frozen=True, kw_only=True)
class AlignmentJob:
    """Which text is aligned, how, and where the alignments go: the options of the step."""

    input: Path = option("folder of words, the output of `tokenize`", required=True)
    subword: Path | None = option("folder of the same text in subwords, the output of `subword`")
    data: Path | None = option("the folder that `binarize` wrote; alignments are stored in it")
    output: Path = output_folder("alignments in words and counts")
    aligner: str = option(
        "; ".join(f"{name}: {choice.summary}" for name, choice in ALIGNERS.items()),
        "fast_align",
        choices=ALIGNERS,
    )
    symmetrization: str = option("how two directions are joined", USUAL_LINKS[0], choices=SYMMETRIZATIONS)
    one_to_one: bool = option(
        "keep only links whose words have no other, as the paper does (thesis 5.1.1)",
        USUAL_LINKS[1],
        action=BooleanOptionalAction,
    )
    name: str | None = option(
        "of the alignments in --data, by which `--alignments` of fairseq-train and of probes chooses "
        "(default: that of the aligner)",
        type=options.part_of_a_file_name,
    )
    translations: int | None = option(
        f"word2word: best translations of a word that count (default: {USUAL_TRANSLATIONS})"
    )
    out_of_domain: list[Path] = option(
        "folders of words whose training files the aligner is trained on too (thesis 5.2.1)",
        [],
        metavar="DIR",
    )
    train_sample: int = option("sentence pairs to train on; 0 takes all", 1_000_000, type=options.natural)
    max_length: int = option("words; longer lines stay unaligned", 512)
    seed: int = option("of the sample", 1, type=options.seed)
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()

    def __post_init__(self):
        if bool(self.subword) != bool(self.data):
            raise InputError("--subword and --data: found one of them, expected both or none")
        if self.name and not self.data:
            raise InputError(f"--name {self.name}: only alignments in --data have a name; leave it out")
        if self.aligner == "systran-align" and self.symmetrization != "grow-diag-final-and":
            raise InputError(
                f"--symmetrization {self.symmetrization}: systran-align gives grow-diag-final-and only; "
                "--aligner fast_align gives both directions"
            )
        if self.aligner != "word2word" and self.translations is not None:
            raise InputError(
                f"--translations {self.translations}: {self.aligner} has no lexicon of translations; leave it"
                " out, or choose --aligner word2word"
            )
        if self.aligner == "word2word" and (self.symmetrization, self.one_to_one) != USUAL_LINKS:
            raise InputError(
                "--symmetrization, --no-one-to-one: word2word looks words up and has no directions to join;"
                " leave them out, or choose another --aligner"
            )

    def aligner_options(self) -> dict:
        """The options that the aligner itself takes."""
        if self.aligner != "word2word":
            return {}
        return {"translations": self.translations or USUAL_TRANSLATIONS}

    @property
    def stored_as(self) -> str:
        """The name of the alignments in `data`, beside those of others."""
        return self.name or self.aligner

    def settings(self) -> dict:
        """What the alignments depend on besides the text."""
        settings = {name: getattr(self, name) for name in ("aligner", "train_sample", "max_length", "seed")}
        if self.aligner == "word2word":
            return settings | self.aligner_options()
        return settings | {"symmetrization": self.symmetrization, "one_to_one": self.one_to_one}

    def text_path(self, bitext: Text) -> Path:
        """The file of the bitext's alignment in words."""
        return self.output / f"{bitext.split}.{bitext.pair}{TEXT_SUFFIX}"
