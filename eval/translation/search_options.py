"""The options of a search: what `--beam` and its like mean. Nothing heavy is imported here."""

from dataclasses import dataclass, field
from pathlib import Path

from command_line import options
from command_line.errors import InputError

LARGEST_BEAM = 1000
PY3LANGID = "py3langid"  # the usual identifier of `RescoringOptions`


@dataclass(frozen=True)
class SearchOptions:
    """Options of beam search, with the defaults of `fairseq-generate`.

    Attributes:
        max_len_a, max_len_b: a hypothesis has at most a x (tokens of its batch's longest source) + b tokens.
        score_without_tag: the forced prefix, the language tag, does not count in the score, neither its
            log-probability nor its length; in fairseq it does. Every hypothesis of a sentence has the same
            prefix: an improbable one, the tag of a language that the model was never trained to translate
            this source into, favours long hypotheses, which spread it over more tokens.
        no_repeat_ngram: no hypothesis has the same so many tokens in a row twice; None: it may.
    """

    beam: int = 5
    lenpen: float = 1.0
    max_len_a: float = 0.0
    max_len_b: int = 200
    score_without_tag: bool = False
    no_repeat_ngram: int | None = None

    def normalizer(self, prefix: int, tokens: float) -> float:
        """length^lenpen of a hypothesis of `tokens` tokens, of which `prefix` are forced, `</s>` included."""
        scored = tokens - prefix if self.score_without_tag else tokens
        return scored**self.lenpen


@dataclass(frozen=True)
class DecodingOptions:
    """How sentences are decoded.

    Attributes:
        max_tokens: source tokens per batch, padding included.
        cpu: do not use a GPU.
    """

    search: SearchOptions = field(default_factory=SearchOptions)
    max_tokens: int = 4096
    cpu: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class LengthOptions:
    """Options of `eval.translation.length_search`.

    Attributes:
        length_candidates: lengths of the interlingua to search with.
        length_weight: of log p(length).
    """

    length_candidates: int = 1
    length_weight: float = 1.0


@dataclass(frozen=True)
class ContrastOptions:
    """Options of `eval.translation.contrast`; what is None is off, or as usual.

    Attributes:
        source_contrast: weight of other sources, together.
        contrast_sources: how many; 1.
        contrast_seed: of the draw of sources; 1.
        language_contrast: weight of every other target language.
        contrast_languages: which, "source" for the language of the source. That of the target is left out.

    Raises:
        InputError: an option without the weight that it belongs to.
    """

    source_contrast: float | None = None
    contrast_sources: int | None = None
    contrast_seed: int | None = None
    language_contrast: float | None = None
    contrast_languages: list[str] | None = None

    def __post_init__(self):
        _together(self, "source_contrast", "contrast_sources", "contrast_seed")
        _together(self, "language_contrast", "contrast_languages")


@dataclass(frozen=True)
class RescoringOptions:
    """Options of `eval.translation.rescoring`; what is None is off, or as usual.

    Attributes:
        language_rescoring: weight of log p(target language).
        rescoring_identifier: of languages: "py3langid", as usual, or the file of a fastText model.

    Raises:
        InputError: an identifier without weight.
    """

    language_rescoring: float | None = None
    rescoring_identifier: str | None = None

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
            name, first = (f"--{one.replace('_', '-')}" for one in (name, first))
            raise InputError(f"{name}: only with {first}")


def add_decoding_arguments(parser) -> None:
    """Of `DecodingOptions`."""
    parser.add_argument(
        "--beam", type=options.whole_number(1, LARGEST_BEAM), default=SearchOptions.beam, help="beam size"
    )
    parser.add_argument(
        "--lenpen",
        type=options.number(-10, 10),
        default=SearchOptions.lenpen,
        help="length penalty: > 1 favours longer output",
    )
    parser.add_argument(
        "--score-without-tag",
        action="store_true",
        help="the forced language tag does not count in the score that chooses a hypothesis, neither its "
        "log-probability nor its length (default: it does, as in fairseq)",
    )
    parser.add_argument(
        "--no-repeat-ngram",
        type=options.whole_number(2, LARGEST_BEAM),
        metavar="N",
        help="no N tokens in a row occur twice in a hypothesis (default: they may)",
    )
    parser.add_argument(
        "--max-len-a",
        type=options.number(0, 100),
        default=SearchOptions.max_len_a,
        help="output has at most a * source + b tokens, where the source is the longest of the batch, as in"
        " fairseq: with a above 0, what runs on may end elsewhere in another batch",
    )
    parser.add_argument(
        "--max-len-b", type=options.positive, default=SearchOptions.max_len_b, help="see --max-len-a"
    )
    parser.add_argument(
        "--max-tokens",
        type=options.positive,
        default=DecodingOptions.max_tokens,
        help="source tokens per batch, padding included",
    )
    parser.add_argument("--cpu", action="store_true", help="do not use a GPU")


def add_length_arguments(parser) -> None:
    """Of `LengthOptions`."""
    parser.add_argument(
        "--length-candidates",
        type=options.positive,
        default=LengthOptions.length_candidates,
        metavar="K",
        help="models that predict the length of an interlingua: search with the best K lengths (7.3: 1)",
    )
    parser.add_argument(
        "--length-weight",
        type=options.number(0, 1000),
        default=LengthOptions.length_weight,
        help="of log p(length) in their choice",
    )


SOURCE_CONTRAST, LANGUAGE_CONTRAST = 0.7, 0.1  # Sennrich et al. 2024


def add_zero_shot_arguments(parser) -> None:
    """Of `ContrastOptions` and `RescoringOptions`."""
    parser.add_argument(
        "--source-contrast",
        nargs="?",
        type=options.number(0, 1, below=True),
        const=SOURCE_CONTRAST,
        metavar="WEIGHT",
        help="turn away from what is as probable for another source, drawn at random from the same text:"
        f" log(p - WEIGHT p') (Sennrich et al. 2024; default: off; without WEIGHT {SOURCE_CONTRAST})",
    )
    parser.add_argument(
        "--contrast-sources",
        type=options.whole_number(1, 100),
        metavar="N",
        help="other sources, which share the weight (default: 1)",
    )
    parser.add_argument("--contrast-seed", type=options.seed, help="of the draw of sources (default: 1)")
    parser.add_argument(
        "--language-contrast",
        nargs="?",
        type=options.number(0, 1, below=True),
        const=LANGUAGE_CONTRAST,
        metavar="WEIGHT",
        help="turn away from what is as probable for another target language (default: off; without WEIGHT"
        f" {LANGUAGE_CONTRAST}, for each)",
    )
    parser.add_argument(
        "--contrast-languages",
        type=options.items(options.text),
        metavar="LIST",
        help="these languages; 'source' is that of the source (default: en,source, en if the model has it)",
    )
    parser.add_argument(
        "--language-rescoring",
        type=options.number(0, 1000),
        metavar="WEIGHT",
        help="choose among the hypotheses of the beam by score + WEIGHT log p(target language | text)"
        " (default: off)",
    )
    parser.add_argument(
        "--rescoring-identifier",
        type=options.text,
        metavar="NAME",
        help="what identifies the language: py3langid, or the file of a fastText model; not the one that"
        " measures off-target rates (default: py3langid)",
    )
