"""A checkpoint of stock fairseq with a folder of `fairseq-preprocess`; options say how its text was split."""

from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError, check_file
from data_prep.formats.dictionary import languages_with_dictionary
from data_prep.formats.preparation import Preparation
from data_prep.tokenizers import choose_tokenizers
from eval.translation.raw_text_model import RawTextModel
from eval.translation.translator import Translator, TranslatorOptions

AFTER_BYTE_PAIRS, OTHERWISE = "moses", "none"  # tokenizers, if no other is given


@dataclass(frozen=True)
class FairseqModel(RawTextModel):
    """A checkpoint, whose `data` is a folder with dict.SRC.txt and dict.TGT.txt, and raw test sets in text/.

    Attributes:
        tokenizer: names, as of `data_prep tokenize`; None: AFTER_BYTE_PAIRS in front of BPE, else OTHERWISE.
        bpe_codes: of subword-nmt.
        sentencepiece_model: in place of them.

    Raises:
        InputError: there is no data, or both models of subwords are given, or one is missing.
    """

    tokenizer: list[str] | None = None
    lowercase: bool = False
    bpe_codes: Path | None = None
    sentencepiece_model: Path | None = None

    def __post_init__(self):
        if self.data is None:
            raise InputError(
                "--data: is missing; expected a folder of fairseq-preprocess, with dict.SRC.txt and"
                " dict.TGT.txt"
            )
        if self.bpe_codes and self.sentencepiece_model:
            raise InputError("--sentencepiece-model: not with --bpe-codes; leave out one of them")
        check_file(self.checkpoint, "a checkpoint of fairseq")
        for path in filter(None, (self.bpe_codes, self.sentencepiece_model)):
            check_file(path, "a model of subwords")

    def preparation(self) -> Preparation:
        """How text is split, as the record of our own folders would say it."""
        languages = languages_with_dictionary(self.data)
        if not languages:
            raise InputError(f"{self.data}: no dict.LANG.txt in it; expected those of fairseq-preprocess")
        kind, model = "none", None
        if self.bpe_codes:
            kind, model = "subword-nmt", self.bpe_codes
        elif self.sentencepiece_model:
            kind, model = "sentencepiece", self.sentencepiece_model
        tokenizer = self.tokenizer or [AFTER_BYTE_PAIRS if self.bpe_codes else OTHERWISE]
        return Preparation(
            folder=Path(),
            languages=languages,
            tokenizers=choose_tokenizers(languages, tokenizer, self.lowercase),
            subword={"type": kind, "model": model},
            pairs={},
            dictionary_sha256="",
        )

    def files(self) -> list[Path]:
        dictionaries = sorted(self.data.glob("dict.*.txt"))
        return [self.checkpoint, *dictionaries, *filter(None, (self.bpe_codes, self.sentencepiece_model))]

    def load_translating(self, **task_options):
        """The `fairseq_ext.inference.LoadedModel`."""
        from fairseq_ext.inference import load_for_inference

        return load_for_inference(self.checkpoint, self.data, separate_dictionaries=True, **task_options)

    def translator(self, options: TranslatorOptions) -> Translator:
        if options.engine.is_ctranslate2:
            raise InputError(
                "--engine ctranslate2: needs a checkpoint with a folder of `data_prep binarize`, or a folder"
                " of transformers; leave it out"
            )
        from eval.translation.checkpoint_translator import CheckpointTranslator

        return CheckpointTranslator(self, options)

    def provenance(self, translator: Translator) -> dict:
        from fairseq_ext.provenance import describe_origin

        origin = describe_origin(self.checkpoint, self.data, translator.loaded, self.name)
        preparation = self.preparation()
        return {
            "system": origin["system"],
            "checkpoint": origin["checkpoint"],
            "tokenizers": preparation.tokenizers,
            "subword": preparation.subword["type"],
            "versions": origin["versions"],
        }
