"""Format `ctranslate2`: a folder that the library translates with, many times as fast as a search in PyTorch.

It has any plain Transformer: PreNorm and PostNorm (also one on each side), with and without a final norm of
the encoder, any number of heads on either side, learned and sinusoidal positions, every placement of tags.
Tags and `</s>` are given by the caller, token by token (`README.md` in the folder). If the data was made of
raw text by sentencepiece, `tokenizer.json` makes tokens of raw text.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from command_line.errors import InputError
from data_prep.subword_models import WORD_BEGINNING
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.export.ctranslate2_model import ACTIVATIONS, specification
from fairseq_ext.export.ctranslate2_search import Ctranslate2Search, Limits, Source
from fairseq_ext.export.encoder_graph import refusal
from fairseq_ext.export.raw_text import raw_text_tokenizer
from fairseq_ext.export.translation_graph import TranslationGraph
from fairseq_ext.export.translation_parity import BEAM, LONGEST


def write_folder(
    folder: Path, graph: TranslationGraph, loaded, path, data: Path, precision: str = "float32"
) -> None:
    """Write `model.bin`, the vocabulary, perhaps `tokenizer.json`, and a README.

    Args:
        folder: an empty one.
        loaded: the `LoadedModel` that the graph is of.
        data: the binarized folder of the training.

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
    tags, longest = loaded.task.tags, len(graph.decoder.positions) - 1
    read = len(graph.encoder.positions) - len(tags.placement.encoder)
    raw = raw_text_tokenizer(data, loaded, read, path)
    if raw:
        raw.backend_tokenizer.save(str(folder / "tokenizer.json"))
    text = readme_of_raw_text(tags, path, longest, read - 1) if raw else readme(tags, path, longest)
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


def readme_of_raw_text(tags: LanguageTags, path, longest: int, read: int) -> str:
    """How the folder translates raw text with the library and `tokenizers`.

    Args:
        longest: hypothesis of the model, in tokens.
        read: tokens of a source sentence, without tags and `</s>`.
    """
    source, target = (*tags.languages, "src", "tgt")[:2]
    placement = tags.placement
    before, after = (
        [f'f"__{{{side}}}__"' for side in sides] for sides in (placement.encoder, placement.source_ending)
    )
    sentence = ", ".join([*before, f"*line[:{read}]", '"</s>"', *after])
    forced = placement.decoder or placement.starts_decoder
    prefix = '        target_prefix=[[f"__{target}__"]] * len(lines),\n' if forced else ""
    pieces = "one.hypotheses[0][1:]" if forced else "one.hypotheses[0]"
    return f"""# {Path(path).name}, for CTranslate2

Written by `python -m fairseq_ext export --to ctranslate2`. It translates raw text. Run this in the folder:

```python
import ctranslate2
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
model = ctranslate2.Translator(".")


def translate(lines, source, target):
    pieces = [tokenizer.encode(line, add_special_tokens=False).tokens for line in lines]
    found = model.translate_batch(
        [[{sentence}] for line in pieces],
{prefix}        beam_size=5,
        max_decoding_length={min(longest, 200)},
    )
    return ["".join({pieces}).replace("{WORD_BEGINNING}", " ").strip() for one in found]


print(translate(["A sentence.", "Another one."], "{source}", "{target}"))
```

Languages: {", ".join(tags.languages)}.
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
