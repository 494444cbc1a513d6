"""Translate raw test sets, DATA/text/SPLIT.A-B.LANG, with any `Translator`: all directions with one load.

Every hypothesis file has one line per line of its source, in order; that of an empty line is empty. A killed
run continues where it was.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.journal import Journal, JournaledStep
from command_line.lines import read_lines
from command_line.option_classes import by_name, option
from command_line.progress import progress
from command_line.provenance import command_typed, path_in_record
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.package import dataset_of
from data_prep.formats.parallel_sets import source_files
from eval.translation.directions import chosen
from eval.translation.evaluated_model import Directions
from eval.translation.raw_text_model import RawTextModel
from eval.translation.translated_folder import decoding_cost, write_translations
from eval.translation.translation_options import TranslationOptions
from eval.translation.translator import Sentence, Translator, TranslatorOptions

SPLIT = "test"


@dataclass(frozen=True, kw_only=True)
class SetOptions(Directions):
    """Which sets are translated."""

    split: str = option("which set to translate", SPLIT, type=types.split)
    pivot: str | None = option("translate zero-shot directions through this language")


def translate_raw_sets(
    model: RawTextModel, sets: SetOptions, how: TranslationOptions, output: Path, force: bool
) -> None:
    """Load, search, write, unless it is done.

    Raises:
        InputError: no such sets, no such model; a direction that it does not translate.
    """
    options = TranslatorOptions(**vars(how))
    sources = source_files(model.text, sets.split)
    settings = by_name(sets) | by_name(how) | by_name(model)
    inputs = [*set(sources.values()), *model.files()]
    step = JournaledStep(Stamp(output / ".translate.done", "translate", settings, inputs), force)
    if step.is_complete():
        return
    started = time.monotonic()
    translator = model.translator(options)
    directions = choose_sets(
        model, translator, sources, sets.split, sets.directions, str(model.text), sets.pivot
    )
    with step.journal() as journal:
        lines = {path: list(read_lines(path)) for path in {sources[direction] for direction in directions}}
        texts = [lines[sources[direction]] for direction in directions]
        if pivot := sets.pivot:
            to_pivot = [(source, pivot) for source, _ in directions]
            texts = _translated(translator, journal, to_pivot, texts, f"to {pivot}")
            from_pivot = [(pivot, target) for _, target in directions]
            hypotheses = _translated(translator, journal, from_pivot, texts, f"from {pivot}")
        else:
            hypotheses = _translated(translator, journal, directions, texts, "translate")
        cost = decoding_cost(journal)
    supervised = [direction for direction in directions if model.is_supervised(direction, translator)]
    origin = {
        **model.provenance(translator),
        "data": {"path": path_in_record(model.data, output), "dictionary_sha256": None},
        "dataset": model.dataset or dataset_of(model.data),
        "command": command_typed("eval"),
    }
    described = origin | {"split": sets.split, **how.record(), "pivot": sets.pivot}
    translations = dict(zip(directions, hypotheses, strict=True))
    step.finish(write_translations(output, described, translations, supervised, started, cost))


def choose_sets(
    model: RawTextModel,
    translator: Translator | None,
    sets: Collection[Direction],
    split: str,
    wanted: str,
    where: str,
    pivot: str | None = None,
) -> list[Direction]:
    """The directions that are asked of a model, in alphabetical order.

    Args:
        translator: None for a model that reads any language and does not translate.
        sets: directions that have lines.
        wanted: one of SETS, or a list such as "de-fr,fr-de".

    Raises:
        InputError: a direction without lines, or one that the model does not translate; or none is left.
    """

    def check(direction: Direction) -> None:
        if direction not in sets:
            raise InputError(f"{where}: no {split} set of {format_direction(direction)}")
        if translator:
            translator.check(*direction)

    available = [direction for direction in sets if _is_known(translator, direction)]
    directions = chosen(
        wanted, available, lambda direction: model.is_supervised(direction, translator), check, pivot
    )
    if pivot:
        for source, target in directions:
            translator.check(source, pivot), translator.check(pivot, target)
    if not directions:
        raise InputError(
            f"{where}: no {split} set for {wanted} directions{f' through {pivot}' if pivot else ''} that"
            f" {model.checkpoint} knows; there are"
            f" {', '.join(sorted(map(format_direction, sets))) or 'none'} (--supervised says which directions"
            " are not zero-shot)"
        )
    return directions


def _is_known(translator: Translator | None, direction: Direction) -> bool:
    try:
        if translator:
            translator.check(*direction)
    except InputError:
        return False
    return True


def _translated(
    translator: Translator,
    journal: Journal,
    directions: Sequence[Direction],
    texts: Sequence[Sequence[str]],
    stage: str,
) -> list[list[str]]:
    """The translation of every line; what the journal has of this stage is not searched again.

    Args:
        directions: one per text.
    """
    sentences: list[Sentence] = []
    translations: list[list[str]] = [["" for _ in lines] for lines in texts]
    places: list[tuple[int, int]] = []  # of the sentences: text and line
    for number, (direction, lines) in enumerate(zip(directions, texts, strict=True)):
        for line_number, line in enumerate(lines):
            name = f"{format_direction(direction)}, line {line_number + 1}"
            parts = translator.sentences(line.strip(), direction, name)
            sentences += parts
            places += [(number, line_number)] * len(parts)
    text_of: dict[int, str] = {}
    for entry in journal.entries:
        if entry["stage"] == stage:
            text_of.update(zip(entry["examples"], entry["texts"], strict=True))
    asked = [number for number in range(len(sentences)) if number not in text_of]
    batches = translator.search([sentences[number] for number in asked], 1, with_scores=False)
    begun, tokens = time.monotonic(), translator.decoder_tokens
    for numbers, candidates in progress(
        batches, len(asked), stage, "sentence", size=lambda batch: len(batch[0])
    ):
        examples = [asked[number] for number in numbers]
        best = [of_sentence[0].text for of_sentence in candidates]
        now = translator.decoder_tokens
        cost = {
            "seconds": time.monotonic() - begun,
            "decoder_tokens": None if now is None else now - tokens,
        }
        journal.add({"stage": stage, "examples": examples, "texts": best, "cost": cost})
        text_of.update(zip(examples, best, strict=True))
        begun, tokens = time.monotonic(), now
    for number, (text, line) in enumerate(places):
        translations[text][line] = text_of[number]
    return translations
