"""`--checkpoint FOLDER` with an encoder-decoder of `transformers`, such as NLLB-200 or OPUS-MT."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.provenance import versions
from command_line.templates import check_template
from data_prep.model_folders.models import check_model, has_vocabulary
from eval.result_files import checkpoint_checksum
from eval.translation.raw_text_model import RawTextModel
from eval.translation.transformers_languages import OPTION
from eval.translation.translator import Translator, TranslatorOptions

CONFIGURATION = "config.json"


def is_model_folder(path: Path) -> bool:
    """Whether a path is a folder of `transformers`."""
    return path.is_dir() and (path / CONFIGURATION).exists()


@dataclass(frozen=True)
class TransformersModel(RawTextModel):
    """A folder of `transformers`.

    Attributes:
        language_codes: a file with the model's code of a language per line: "de deu_Latn"; None: codes are
            compared by what they mean (`data_prep.languages`).
        source_prefix: a template (`check_template`) of what is put in front of every source, with {source}
            and {target} for the English names of the languages; for a T5 whose vocabulary has no tags.

    Raises:
        InputError: the prefix cannot be filled.
    """

    language_codes: Path | None = None
    source_prefix: str | None = None

    def __post_init__(self):
        if self.source_prefix is not None:
            check_template(self.source_prefix, ("source", "target"), (), "--source-prefix")

    def files(self) -> list[Path]:
        codes = [self.language_codes] if self.language_codes else []
        return [*check_model(self.checkpoint, OPTION).paths(), *codes]

    @cached_property
    def codes(self) -> Mapping[str, str]:
        """The user's code of a language -> the model's, as the file says.

        Raises:
            InputError: a line is not of two codes, or a code occurs twice.
        """
        codes: dict[str, str] = {}
        for number, line in enumerate(read_lines(self.language_codes) if self.language_codes else (), 1):
            words = line.split()
            if not words:
                continue
            if len(words) != 2 or words[0] in codes:
                fault = "a code that a line above has" if len(words) == 2 else "no two codes"
                raise InputError(
                    f"{at(self.language_codes, number)}: {line!r:.60}: {fault}; expected a language of the"
                    " data and the model's code of it, such as: de deu_Latn"
                )
            codes[words[0]] = words[1]
        return codes

    def translator(self, options: TranslatorOptions) -> Translator:
        folder = check_model(self.checkpoint, OPTION)
        if not has_vocabulary(folder):
            raise InputError(
                f"{OPTION} {self.checkpoint}: no tokenizer in it; save_pretrained the model's there, too"
            )
        from eval.translation.transformers_translator import TransformersTranslator

        return TransformersTranslator(self, options)

    def provenance(self, translator: Translator) -> dict:
        folder_name = self.checkpoint.resolve().name
        return {
            "system": {"name": self.name or folder_name, "seed": None, "translation_model": folder_name},
            "checkpoint": {"path": str(self.checkpoint), "sha256": checkpoint_checksum(self.checkpoint)},
            "language_codes": dict(self.codes),
            "source_prefix": self.source_prefix,
            "versions": versions(
                "torch", "transformers", "tokenizers", "sentencepiece", "ctranslate2", "sacrebleu"
            ),
        }
