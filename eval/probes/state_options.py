"""The options of `eval probe states`: which states of which sentences."""

from dataclasses import dataclass, field

from command_line import options as types
from command_line.option_classes import option
from data_prep.formats.directions import directions_or
from data_prep.formats.texts import LANGUAGE
from eval.translation.evaluated_model import SETS, Directions, EvaluatedModel
from eval.translation.raw_text_model import RawTextModel
from eval.translation.search_options import DecodingOptions


def _language_files(text: str) -> dict[str, str]:
    """`de=FILE,en=FILE` -> {"de": FILE, "en": FILE}."""
    files: dict[str, str] = {}
    for part in text.split(","):
        language, _, path = part.strip().partition("=")
        types.require(bool(path) and language not in files)
        files[LANGUAGE(language)] = path
    types.require(len(files) > 1)
    return files


LANGUAGE_FILES = types.OptionType(
    "two or more languages with files, such as de=a.de,en=a.en", _language_files
)


@dataclass(frozen=True, kw_only=True)
class StateOptions:
    """Which states of which sentences, whatever the model."""

    splits: list[str] = option(
        "sets to take (default: valid,test)", ["valid", "test"], type=types.items(types.split)
    )
    directions: Directions = field(default_factory=Directions)
    valid_directions: str = option(
        "directions of the set `valid` (default: supervised, on which llr trains; retrieval between all"
        " languages needs all)",
        "supervised",
        type=directions_or(*SETS),
        metavar="LIST",
    )
    layers: list[str] = option(
        "all, or a list such as L0,encoder-norm,L12 (default: all)", ["all"], type=types.items(types.text)
    )
    max_lines: int | None = option("only the first lines of every set (default: all)")
    forced: str = option(
        "what the decoder reads: the model's own output (thesis 8.2.3), or the reference",
        "output",
        choices=("output", "reference"),
    )
    untrained: int | None = option(
        "baseline: the model before its training, with weights drawn by this seed",
        type=types.seed,
        metavar="SEED",
    )
    dtype: str = option("numbers on disk; float16 ends at 65504", "float16", choices=("float16", "float32"))
    decoding: DecodingOptions = field(default_factory=DecodingOptions)
    input: dict[str, str] | None = option(
        "models that read raw text: line-parallel files, in place of the sets of --data",
        type=LANGUAGE_FILES,
        metavar="LANG=FILE,…",
    )


@dataclass(frozen=True, kw_only=True)
class Extraction(StateOptions):
    """The states of a model."""

    model: EvaluatedModel | RawTextModel
