"""Format `ctranslate2`: a folder that the library translates with, many times as fast as a search in PyTorch.

It has any plain Transformer: PreNorm and PostNorm (also one on each side), with and without a final norm of
the encoder, any number of heads on either side, learned and sinusoidal positions, every placement of tags.
Tags and `</s>` are given by the caller, token by token (`README.md` in the folder).
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from command_line.errors import InputError
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.export.ctranslate2_model import ACTIVATIONS, specification
from fairseq_ext.export.ctranslate2_search import Ctranslate2Search, Limits, Source
from fairseq_ext.export.encoder_graph import refusal
from fairseq_ext.export.translation_graph import TranslationGraph
from fairseq_ext.export.translation_parity import BEAM, LONGEST


def write_folder(folder: Path, graph: TranslationGraph, loaded, path, precision: str = "float32") -> None:
    """Write `model.bin`, the vocabulary and a README.

    Args:
        folder: an empty one.
        loaded: the `LoadedModel` that the graph is of.
        path: the checkpoint, for messages.
        precision: of the stored weights.

    Raises:
        InputError: CTranslate2 does not compute the graph; two symbols of the dictionary have one spelling.
    """
    for side in graph.sides:
        if side.activation not in ACTIVATIONS:
            raise refusal(path, f"--activation-fn {side.activation} is none of {', '.join(ACTIVATIONS)}")
    symbols = list(loaded.task.dictionary.symbols)
    if len(set(symbols)) < len(symbols):
        raise refusal(path, "two symbols of its dictionary have one spelling")
    spec = specification(graph)
    spec.register_source_vocabulary(symbols)
    spec.register_target_vocabulary(symbols)
    starts = loaded.task.tags.placement.starts_decoder
    spec.config.decoder_start_token = None if starts else spec.config.eos_token
    spec.config.add_source_eos = False
    try:
        spec.validate()
        spec.optimize(quantization=None if precision == "float32" else precision)
    except ValueError as error:
        raise InputError(f"{path}: CTranslate2 refuses it: {error}") from None
    spec.save(str(folder))
    text = readme(loaded.task.tags, path, len(graph.decoder.positions) - 1)
    (folder / "README.md").write_text(text, encoding="utf-8")


def readme(tags: LanguageTags, path, longest: int) -> str:
    """How the folder is used with the library alone.

    Args:
        longest: hypothesis of the model, in tokens.
    """
    source, target = (*tags.languages, "src", "tgt")[:2]
    placement = tags.placement
    named = {"source": f"__{source}__", "target": f"__{target}__"}
    before, after = (
        "".join(f'"{named[side]}", ' for side in sides)
        for sides in (placement.encoder, placement.source_ending)
    )
    ending = f', "</s>"{after and ", " + after[:-2]}'
    forced = placement.decoder or placement.starts_decoder
    prefix = f', target_prefix=[["{named["target"]}"]]' if forced else ""
    shown = "\n".join(
        [
            "```python",
            "import ctranslate2",
            "",
            'model = ctranslate2.Translator("FOLDER")',
            f"source = [{before}*pieces{ending}]  # of {source}, to be translated into {target}",
            f"model.translate_batch([source]{prefix}, beam_size=5, max_decoding_length={min(longest, 200)})",
            "```",
        ]
    )
    return f"""# {Path(path).name}, for CTranslate2

Written by `python -m fairseq_ext export --to ctranslate2`. The model reads subwords, tags of languages and
`</s>`, all of them given:

{shown}

Languages: {", ".join(tags.languages)}. `python -m eval translate --engine ctranslate2` does the rest.
"""


def compared(
    folder: Path, symbols: Sequence[str], positions: int, precision: str = "float32"
) -> tuple[Callable, Callable]:
    """The functions that `check_translations` wants: scores of given hypotheses, and hypotheses.

    Args:
        positions: of the decoder.
    """
    search = Ctranslate2Search(folder, symbols, precision)

    def sources(sentences):
        return [Source(sentence.tokens, sentence.prefix, sentence.start) for sentence in sentences]

    def scores(sentences) -> list[float]:
        log_p = search.log_p(sources(sentences), [sentence.hypothesis for sentence in sentences])
        lengths = [len(sentence.prefix) + len(sentence.hypothesis) + 1 for sentence in sentences]
        return [value / length for value, length in zip(log_p, lengths, strict=True)]

    def translate(sentences) -> list[list[int]]:
        limits = Limits(beam=BEAM, lenpen=1.0, max_length=min(LONGEST, positions - 1))
        return [best[0][0] for best in search.n_best(sources(sentences), limits)]

    return scores, translate
