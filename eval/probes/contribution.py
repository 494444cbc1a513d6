"""How much the source, its tags and the words before contribute to every token of a translation.

Contributions are those of `eval.probes.gradient_contributions`. The sum over the encoder's tokens is the
source contribution of Voita et al. (2021), who take layer-wise relevance instead. A line has the mean over
its predictions, `</s>` included; a direction has the mean over its lines.

The decoder is given the hypotheses of a folder of `eval translate`. Lines are on or off target as
`probe off-target` says: do translations into the wrong language turn away from the source, or from the tag?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.option_classes import option, positional, switch
from command_line.progress import progress
from data_prep.formats.package import single_checkpoint
from data_prep.language_identification import identifier_of
from eval.reporting.result_file import Written, publish
from eval.result_files import checkpoint_checksum, result_file, split_direction
from eval.scored import TRANSLATION, Translation
from eval.scoring.off_target import IDENTIFIER, check_identifier, intended, labels_of_languages
from eval.scoring.test_sets import DirectionFiles, direction_files, paths_of
from eval.translation.evaluated_model import EvaluatedModel, NamedModel
from eval.translation.model_options import RawTextOptions, ReadingOptions, model_of
from eval.translation.raw_text_model import RawTextModel
from eval.translation.search_options import DecodingOptions
from eval.translation.translator import TranslatorOptions

KIND = "contribution"
ALL, ON_TARGET, OFF_TARGET = "all", "on target", "off target"  # parts of the lines


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    out: Path = positional("folder written by `python -m eval translate`", metavar="OUT")
    checkpoint: Path = option("the model that wrote it, as given to `eval translate`", required=True)
    data: Path | None = option("the folder with its sets, as given to `eval translate`")
    identifier: Path | None = option(IDENTIFIER, metavar="FILE")
    reading: ReadingOptions
    max_lines: int | None = option("only the first lines of every direction (default: all)")
    max_tokens: int = option("tokens per batch, padding included", 1024)
    cpu: bool = switch("do not use a GPU", compare=False)
    written: Written

    @property
    def model(self) -> EvaluatedModel | RawTextModel:
        return model_of(NamedModel(self.checkpoint, self.data), RawTextOptions(**vars(self.reading)))


def main(options: Options) -> None:
    translation = Translation.load(result_file(options.out, TRANSLATION))
    if translation.pivot:
        raise InputError(
            f"{translation.path}: translated through {translation.pivot}, so not predicted from the source;"
            " expected a folder without --pivot"
        )
    model, files = options.model, direction_files(translation, options.data)
    is_raw = isinstance(model, RawTextModel)
    checkpoint = model.checkpoint if is_raw else single_checkpoint(model.checkpoint)
    inputs = model.files() if is_raw else model.checkpoints
    if (translation.record.get("checkpoint") or {}).get("sha256") != checkpoint_checksum(checkpoint):
        raise InputError(
            f"{translation.path}: of another checkpoint than --checkpoint {options.checkpoint}; expected the"
            " one that wrote the translations"
        )
    check_identifier(options.identifier, translation.languages)
    inputs = [*inputs, *paths_of([(translation, files)]), *filter(None, [options.identifier])]
    publish(KIND, options, inputs, lambda: measure(options, model, translation, files), options.written)


def measure(
    options: Options,
    model: EvaluatedModel | RawTextModel,
    translation: Translation,
    files: Sequence[DirectionFiles],
) -> Measured:
    """One run; `part` says which lines of a direction a row is of."""
    from eval.probes.gradient_contributions import contributions_of
    from eval.probes.readers import load_reader

    decoding = DecodingOptions(max_tokens=options.max_tokens, cpu=options.cpu)
    reader = load_reader(model, TranslatorOptions(decoding=decoding))
    identifier = identifier_of(options.identifier)
    labels = labels_of_languages(identifier, translation.languages)
    rows, notes = [], set()
    for test_set in progress(files, len(files), "contribution", "direction"):
        direction = split_direction(test_set.direction)
        hypotheses, sources, references = test_set.read()
        goal = intended(direction, labels)
        met = goal.met(identifier.identify(hypotheses), identifier.identify(references))
        lines = [line for line, source in enumerate(sources) if source.strip()][: options.max_lines]
        texts = ([text[line] for line in lines] for text in (sources, hypotheses))
        contributions = dict(
            zip(lines, contributions_of(reader, direction, *texts, options.max_tokens), strict=True)
        )
        parts = {ALL: lines}
        if met is not None:
            parts[ON_TARGET] = [line for line in lines if met[line]]
            parts[OFF_TARGET] = [line for line in lines if not met[line]]
        place = {"kind": translation.directions[test_set.direction]["kind"], "direction": test_set.direction}
        rows += numbers({"lines": len(lines)}, **place)
        for part, chosen in parts.items():
            rows += numbers(means([contributions[line] for line in chosen]), part=part, **place)
        if goal.note:
            notes.add(f"Into {direction[1]}: {goal.note}.")
    measured = Measured()
    about = {"identifier": identifier.name, "notes": sorted(notes), "max_lines": options.max_lines}
    measured.add(translation.described() | about, rows)
    return measured


def means(lines: Sequence) -> dict[str, float | None]:
    """What rows say of some lines, each of `LineContributions`."""
    if not lines:
        return {"count": 0}
    source, tags, attention = zip(*lines, strict=True)
    return {
        "count": len(lines),
        "source_contribution": fmean(source),
        "tag_contribution": fmean(tags),
        "attention_to_words": None if None in attention else fmean(attention),
    }
