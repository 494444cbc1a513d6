"""All options of how sentences are translated. Nothing heavy is imported before a decoder is made."""

from dataclasses import asdict, dataclass, field

from command_line.errors import InputError
from command_line.option_classes import switch
from eval.translation.engine_options import CTRANSLATE2, EngineOptions
from eval.translation.search_options import (
    ContrastOptions,
    DecodingOptions,
    LengthOptions,
    RescoringOptions,
)


@dataclass(frozen=True)
class TranslationOptions:
    """How sentences are translated, whatever they are of."""

    decoding: DecodingOptions = field(default_factory=DecodingOptions)
    lengths: LengthOptions = field(default_factory=LengthOptions)
    contrast: ContrastOptions = field(default_factory=ContrastOptions)
    rescoring: RescoringOptions = field(default_factory=RescoringOptions)
    bf16: bool = switch("bfloat16 products: faster, rarely another hypothesis")
    engine: EngineOptions = field(default_factory=EngineOptions)

    def check(self) -> None:
        """Refuse options that the engine does not have.

        Raises:
            InputError: names the option, and what to do without it.
        """
        if not self.engine.is_ctranslate2:
            for name in ("precision", "engine_folder"):
                if getattr(self.engine, name):
                    raise InputError(f"--{name.replace('_', '-')}: needs --engine {CTRANSLATE2}; give both")
            return
        lacking = {
            "--no-repeat-ngram": self.decoding.search.no_repeat_ngram is not None,
            "--length-candidates": self.lengths.length_candidates > 1,
            "--source-contrast": bool(self.contrast.source_contrast),
            "--language-contrast": bool(self.contrast.language_contrast),
            "--language-rescoring": bool(self.rescoring.language_rescoring),
            "--lenpen below 0": self.decoding.search.lenpen < 0,
        }
        for name, given in lacking.items():
            if given:
                raise InputError(f"{name}: not with --engine {CTRANSLATE2}; leave out one of them")
        if self.bf16:
            raise InputError(f"--bf16: not with --engine {CTRANSLATE2}; use --precision bfloat16")

    def record(self) -> dict:
        """What a result says of how it was translated."""
        return {
            **asdict(self.decoding.search),
            **asdict(self.lengths),
            **asdict(self.contrast),
            **asdict(self.rescoring),
            "engine": self.engine.label,
            "bf16": self.bf16,
        }

    def decoder(self, model, loaded):
        """A `Decoder` of a model that was loaded.

        Raises:
            InputError: as `engine_decoder`, `build_decoder`.
        """
        if self.engine.is_ctranslate2:
            from eval.translation.ctranslate2_decoder import engine_decoder

            return engine_decoder(model, loaded, self.decoding, self.engine)
        from eval.translation.decoding import build_decoder

        return build_decoder(
            loaded, self.decoding, self.lengths, contrast=self.contrast, rescoring=self.rescoring
        )
