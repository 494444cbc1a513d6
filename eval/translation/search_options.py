"""The options of a search: what `--beam` and its like mean. Nothing heavy is imported here."""

from dataclasses import dataclass, field
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import option, switch

LARGEST_BEAM = 1000
SOURCE_CONTRAST, LANGUAGE_CONTRAST = 0.7, 0.1  # Sennrich et al. 2024
PY3LANGID = "py3langid"  # the usual identifier of `RescoringOptions`


@dataclass(frozen=True)
class SearchOptions:
    """Options of beam search, with the defaults of `fairseq-generate`.

    `score_without_tag`: every hypothesis of a sentence has the same prefix. An improbable one, the tag of a
    language that the model was never trained to translate this source into, favours long hypotheses, which
    spread it over more tokens.
    """

    beam: int = option("beam size", 5, type=options.whole_number(1, LARGEST_BEAM))
    lenpen: float = option("length penalty: > 1 favours longer output", 1.0, type=options.number(-10, 10))
    max_len_a: float = option(
        "output has at most a * source + b tokens, where the source is the longest of the batch, as in"
        " fairseq; with a above 0, runaway outputs are cut at another length in another batch",
        0.0,
        type=options.number(0, 100),
    )
    max_len_b: int = option("see --max-len-a", 200)
    score_without_tag: bool = switch(
        "leave log-probability and length of the forced language tag out of the score of a hypothesis"
        " (default: they count, as in fairseq)"
    )
    no_repeat_ngram: int | None = option(
        "forbid that N tokens in a row occur twice in a hypothesis (default: allowed)",
        type=options.whole_number(2, LARGEST_BEAM),
        metavar="N",
    )

    def normalizer(self, prefix: int, tokens: float) -> float:
        """length^lenpen of a hypothesis of `tokens` tokens, of which `prefix` are forced, `</s>` included."""
        scored = tokens - prefix if self.score_without_tag else tokens
        return scored**self.lenpen


@dataclass(frozen=True)
class DecodingOptions:
    """How sentences are decoded."""

    search: SearchOptions = field(default_factory=SearchOptions)
    max_tokens: int = option("source tokens per batch, padding included", 4096)
    cpu: bool = switch("do not use a GPU", compare=False)


@dataclass(frozen=True)
class LengthOptions:
    """Options of `eval.translation.length_search`."""

    length_candidates: int = option(
        "models that predict the length of an interlingua: search with the best K lengths (7.3: 1)",
        1,
        metavar="K",
    )
    length_weight: float = option("of log p(length) in their choice", 1.0, type=options.number(0, 1000))


@dataclass(frozen=True)
class ContrastOptions:
    """Options of `eval.translation.contrast`; what is None is off, or as usual.

    Raises:
        InputError: an option without the weight that it belongs to.
    """

    source_contrast: float | None = option(
        "turn away from what is as probable for another source, drawn at random from the same text:"
        f" log(p - WEIGHT p') (Sennrich et al. 2024; default: off; without WEIGHT {SOURCE_CONTRAST})",
        nargs="?",
        type=options.number(0, 1, below=True),
        const=SOURCE_CONTRAST,
        metavar="WEIGHT",
    )
    contrast_sources: int | None = option(
        "other sources, which share the weight (default: 1)", type=options.whole_number(1, 100), metavar="N"
    )
    contrast_seed: int | None = option("of the draw of sources (default: 1)", type=options.seed)
    language_contrast: float | None = option(
        "turn away from what is as probable for another target language (default: off; without WEIGHT"
        f" {LANGUAGE_CONTRAST}, for each)",
        nargs="?",
        type=options.number(0, 1, below=True),
        const=LANGUAGE_CONTRAST,
        metavar="WEIGHT",
    )
    contrast_languages: list[str] | None = option(
        "these languages; 'source' is that of the source (default: en,source, en if the model has it)",
        type=options.items(options.text),
        metavar="LIST",
    )

    def __post_init__(self):
        _together(self, "source_contrast", "contrast_sources", "contrast_seed")
        _together(self, "language_contrast", "contrast_languages")


@dataclass(frozen=True)
class RescoringOptions:
    """Options of `eval.translation.rescoring`; what is None is off, or as usual.

    Raises:
        InputError: an identifier without weight.
    """

    language_rescoring: float | None = option(
        "choose among the hypotheses of the beam by score + WEIGHT log p(target language | text)"
        " (default: off)",
        type=options.number(0, 1000),
        metavar="WEIGHT",
    )
    rescoring_identifier: str | None = option(
        f"what identifies the language: {PY3LANGID}, or the file of a fastText model; not the one that"
        f" measures off-target rates (default: {PY3LANGID})",
        metavar="NAME",
    )

    def __post_init__(self):
        _together(self, "language_rescoring", "rescoring_identifier")

    @property
    def files(self) -> list[Path]:
        """The file of the identifier, if it is one: what is translated depends on it."""
        path = Path(self.rescoring_identifier or PY3LANGID)
        return [path] if str(path) != PY3LANGID and path.is_file() else []


def _together(options, first: str, *others: str) -> None:
    for name in others:
        if getattr(options, name) is not None and getattr(options, first) is None:
            name, first = (f"--{option_name.replace('_', '-')}" for option_name in (name, first))
            raise InputError(f"{name}: only with {first}")
