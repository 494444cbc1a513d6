"""What the step `align` was asked for."""

from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from data_prep.formats.texts import Text

TEXT_SUFFIX = ".align"
USUAL_LINKS = ("grow-diag-final-and", True)  # symmetrization, and whether a word has one link
USUAL_TRANSLATIONS = 5


@dataclass(frozen=True)
class AlignmentJob:
    """Which text is aligned, how, and where the alignments go: the options of the step.

    Attributes:
        input: folder of words.
        output: folder for the alignments in words and their counts.
        subword, data: folders of the same text in subwords and binarized; both or none.
        out_of_domain: folders of words whose training files the aligner learns from, too.
        aligner, symmetrization: keys of `aligners.ALIGNERS` and `links.SYMMETRIZATIONS`.
        name: of the alignments in `data`; None: that of the aligner.
        translations: of a word that count, of word2word; None: the usual number.
        train_sample: sentence pairs to train on; 0 takes all.
        max_length: in words; longer lines stay unaligned.

    Raises:
        InputError: options that contradict each other.
    """

    input: Path
    output: Path
    subword: Path | None
    data: Path | None
    out_of_domain: list[Path]
    aligner: str
    symmetrization: str
    one_to_one: bool
    name: str | None
    translations: int | None
    train_sample: int
    max_length: int
    seed: int
    force: bool

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
