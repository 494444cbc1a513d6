"""Seconds of all directions of an NLLB with one load, against a `pipeline("translation")` for each.

The model has random weights in the shape of NLLB-200 600M, and a vocabulary of its own; the text is the
phrasebook's. Both search in float32 with the same settings, and hypotheses are compared line by line.
CTranslate2 in int8 is timed, too, with the conversion.

    python -m benchmarks.transformers_speed [--lines N] [--languages A,B,…] [--width C --layers N --rows N]
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from command_line.dispatch import run_script
from command_line.lines import read_lines
from command_line.option_classes import option
from data_prep.model_folders.libraries import reading

PIECES = 400  # of sentencepiece; the other rows are not reached
UNUSED = 10_000  # a pipeline compares the length of its input with it
Direction = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is translated, and the shape of the model."""

    lines: int = option("of every direction", 1000)
    languages: list[str] = option("all directions between them are translated", ["de", "en", "es", "fr"])
    max_len: int = option("tokens of a translation", 40)
    beam: int = option("of the search", 5)
    batch: int = option("sentences at once in a pipeline, which has one by default", 1)
    width: int = option("of the model", 1024)
    layers: int = option("of each side", 12)
    rows: int = option("of the vocabulary", 256206)


def main(options: Options) -> None:
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


def measure(options: Options, folder: Path) -> None:
    """Print seconds, and how many hypotheses are equal."""
    from eval.translation import transformers_translator  # noqa: F401  whose import is not timed

    texts = write_text(options, folder / "text")
    model = write_model(options, folder / "nllb", [line for lines in texts.values() for line in lines])
    started = time.monotonic()
    expected = by_pipelines(options, model, texts)
    plain = time.monotonic() - started
    print(f"{len(texts)} pipelines: {plain:.1f} s", flush=True)
    for engine in ({}, {"engine": "ctranslate2", "precision": "int8"}):
        started = time.monotonic()
        translations = by_translator(options, model, texts, **engine)
        seconds = time.monotonic() - started
        pairs = [
            pair
            for direction in texts
            for pair in zip(expected[direction], translations[direction], strict=True)
        ]
        equal = sum(first == second for first, second in pairs) / len(pairs)
        name = " ".join(engine.values()) or "float32"
        ratio = f"{plain / seconds:.2f} times as fast, {equal:.1%} equal"
        print(f"eval translate, {name}: {seconds:.1f} s, {ratio}", flush=True)


def write_text(options: Options, folder: Path) -> dict[Direction, list[str]]:
    """Direction -> lines of its source."""
    from command_line.dispatch import run
    from data_prep.__main__ import STEPS

    sizes = [
        f"--{split}-lines={options.lines if split == 'test' else 1}" for split in ("train", "valid", "test")
    ]
    languages = ",".join(options.languages)
    if run("data_prep", "", STEPS, ["phrasebook", "--langs", languages, *sizes, f"--output={folder}"]):
        sys.exit(2)
    return {
        (source, target): list(read_lines(folder / f"test.{'-'.join(sorted((source, target)))}.{source}"))
        for source, target in permutations(options.languages, 2)
    }


def write_model(options: Options, folder: Path, lines: Sequence[str]) -> Path:
    """A model of random weights, with the tokenizer of NLLB over pieces of these lines."""
    import sentencepiece
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizerFast

    folder.mkdir()
    with open(folder / "sentencepiece.bpe.model", "wb") as stream:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=stream, vocab_size=PIECES, hard_vocab_limit=False,
            minloglevel=2,
        )  # fmt: skip
    with reading(folder, "transformers"):
        NllbTokenizerFast(str(folder / "sentencepiece.bpe.model")).save_pretrained(folder)
    inner, heads = 4 * options.width, options.width // 64 or 1
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", options.layers), ("ffn_dim", inner), ("attention_heads", heads))
    }
    torch.manual_seed(1)
    config = M2M100Config(vocab_size=options.rows, d_model=options.width, **sides)
    M2M100ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def by_pipelines(options: Options, model: Path, texts: dict[Direction, list[str]]) -> dict:
    """A plain script: a pipeline for every direction."""
    from transformers import pipeline

    translations = {}
    for (source, target), lines in texts.items():
        codes = {"src_lang": code_of(source), "tgt_lang": code_of(target)}
        translate = pipeline("translation", str(model), device="cpu", **codes)
        search = {"num_beams": options.beam, "max_new_tokens": options.max_len, "max_length": UNUSED}
        outputs = translate(lines, batch_size=options.batch, **search)
        translations[source, target] = [output["translation_text"] for output in outputs]
    return translations


def by_translator(options: Options, model: Path, texts: dict[Direction, list[str]], **engine) -> dict:
    """One load for all directions."""
    from eval.translation.engine_options import EngineOptions
    from eval.translation.model_options import load_translator
    from eval.translation.search_options import DecodingOptions, SearchOptions
    from eval.translation.translator import TranslatorOptions

    search = SearchOptions(beam=options.beam, max_len_a=0, max_len_b=options.max_len)
    decoding = DecodingOptions(search=search, cpu=True)
    translator = load_translator(model, TranslatorOptions(decoding=decoding, engine=EngineOptions(**engine)))
    return {direction: translator.translate(lines, *direction) for direction, lines in texts.items()}


def code_of(language: str) -> str:
    """What NLLB calls a language of the phrasebook."""
    from transformers.models.nllb.tokenization_nllb_fast import FAIRSEQ_LANGUAGE_CODES

    from data_prep.languages import usual_names

    (code,) = usual_names(language, FAIRSEQ_LANGUAGE_CODES)
    return code


if __name__ == "__main__":
    sys.exit(run_script())
