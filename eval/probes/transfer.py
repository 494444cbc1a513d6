"""How well does an encoder transfer from one language to others, and how much of that is the task?

RESULT are outputs of `embeddings finetune`. Of every encoder that learned from one language: its zero-shot
performance in the others; the transfer gap, the score in the source language less their mean (Hu et al. 2020,
XTREME); and, where it was also trained on the languages themselves ("translate-train-all", or else one
training for each), the transfer rate, zero-shot performance by translate-train performance ("Is
Cross-lingual Evaluation Only About Cross-lingual?", 4.5): how much comes over, whatever the encoder makes of
the task. The rate of all languages is the mean of their rates, as in Table 4 of that paper, the source
language left out.

Of every two encoders, the difference between their zero-shot averages, with its test. Of three or more, how
these go with each other, and with retrieval (`--retrieval`), by language and for the means (Tables 3, 4, 8).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import Measured
from command_line.option_classes import option, positional
from data_prep.languages import usual_names
from eval.probes.transfer_comparisons import FEWEST, correlations, differences
from eval.probes.transfer_indexes import Transfer, transfer
from eval.reporting.result_file import Written, publish
from eval.result_files import result_files
from eval.result_set import RETRIEVAL, ResultSet

if TYPE_CHECKING:
    from eval.derived.fine_tuned import FineTuned

FINETUNING = "finetuning"
KIND = "transfer"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    results: list[Path] = positional("outputs of `embeddings finetune`", nargs="+", metavar="RESULT")
    retrieval: list[Path] = option(
        "outputs of `embeddings retrieve` of the same encoders on one test set, to correlate with",
        [],
        metavar="RESULT",
    )
    similarity: str = option("by which P@1 was measured", "cosine")
    retrieved_as: list[tuple[str, str]] = option(
        "encoders that have another name in --retrieval",
        [],
        nargs="+",
        type=types.assignment("mBERT=mBERT-calibrated"),
        metavar="NAME=OTHER",
    )
    written: Written


def main(options: Options) -> None:
    if options.retrieved_as and not options.retrieval:
        raise InputError("--retrieved-as: needs --retrieval; give both, or leave it out")
    files = _files(options.results, FINETUNING)
    retrieved = _files(options.retrieval, RETRIEVAL)
    publish(
        KIND,
        options,
        [*files, *retrieved],
        lambda: measure(options, files, retrieved),
        options.written,
    )


def _files(given: Iterable[Path], kind: str) -> list[Path]:
    return [path for folder in given for path in result_files(folder, [kind])]


def measure(options: Options, files: list[Path], retrieved: list[Path]) -> Measured:
    """The transfers of all encoders, tasks and source languages, and correlations: a run each.

    Raises:
        InputError: no encoder learned from one language alone, or retrieval is not that of the encoders.
    """
    from eval.derived.fine_tuned import fine_tuned
    from eval.measurements import Measurements  # with pandas: not before it is needed

    results = ResultSet.load(files, [FINETUNING]).probed(FINETUNING)
    tuned = fine_tuned(Measurements.of(results, allow_unlike=True))
    zero_shot = [encoder for encoder in tuned if encoder.is_zero_shot]
    if not zero_shot:
        names = "; ".join(f"{encoder.system.name} on {encoder.dataset}" for encoder in tuned)
        raise InputError(
            f"{files[0]}: no encoder that was fine-tuned on one language and tested in others; found"
            f" {names or 'none'}"
        )
    retrieval = of_retrieval(options, retrieved, zero_shot)
    measured, groups = Measured(), {}
    for encoder in zero_shot:
        transferred = transfer(encoder, tuned, retrieval.get(encoder, {}))
        measured.add(transferred.run, transferred.rows)
        groups.setdefault((transferred.dataset, transferred.group), []).append(transferred)
    if retrieval:
        _check_retrieval(options, list(groups.values()))
    for members in groups.values():
        for run, rows in differences(members):
            measured.add(run, rows)
        if len(members) >= FEWEST:
            for run, rows in correlations(members):
                measured.add(run, rows)
    return measured


def of_retrieval(
    options: Options, files: list[Path], tuned: "list[FineTuned]"
) -> "dict[FineTuned, dict[str, float]]":
    """Encoder -> language -> P@1 in per cent of its pair with the source language, for languages that have
    such a pair. Empty without files.

    Raises:
        InputError: results are of several test sets, lack an encoder or the similarity, or --retrieved-as
            names an encoder that is not there.
    """
    if not files:
        return {}
    from eval.derived.retrieved import Retrieved  # with pandas: not before it is needed

    # Encoders may be tested in other languages.
    retrieved, *others = Retrieved.of(ResultSet.load(files, [RETRIEVAL], allow_unlike=True))
    if others:
        datasets = " and of ".join(test.dataset for test in (retrieved, *others))
        raise InputError(f"--retrieval: of {datasets}, expected results of one test set")
    names, encoders = dict(options.retrieved_as), {encoder.encoder for encoder in tuned}
    if unknown := next((name for name in names if name not in encoders), None):
        raise InputError(
            f"--retrieved-as {unknown}={names[unknown]}: no encoder {unknown!r} was fine-tuned; expected one"
            f" of {', '.join(sorted(encoders))}"
        )
    systems, means = {system.name for system in retrieved.systems}, retrieved.means(["part", "direction"])
    by_encoder = {}
    for encoder in tuned:
        name = names.get(encoder.encoder, encoder.encoder)
        if name not in systems:
            raise InputError(
                f"--retrieval: nothing of encoder {name!r}, only of"
                f" {', '.join(repr(system.name) for system in retrieved.systems)};"
                f" --retrieved-as {encoder.encoder}=OTHER says how it is called there"
            )
        precisions = {key[1:]: mean.mean for key, mean in means.items() if key[0] == name}
        by_encoder[encoder] = by_language(
            encoder, precisions, options.similarity, f"{name} on {retrieved.dataset}"
        )
    return by_encoder


def by_language(
    encoder: "FineTuned", precisions: Mapping[tuple[str, str], float], similarity: str, where: str
) -> dict[str, float]:
    """The mean of both directions between a language and the source language, where there are any.

    Args:
        precisions: similarity and direction -> P@1 of the encoder.
    """
    (source,) = encoder.taught
    directions = {direction for _, direction in precisions}
    codes = {code for direction in directions for code in direction.split("-")}
    retrieved = {}
    for language in encoder.tested:
        first, second = (usual_names(code, codes) for code in (source, language))
        pairs = {f"{a}-{b}" for a in first for b in second} | {f"{b}-{a}" for a in first for b in second}
        values = [precisions.get((similarity, direction)) for direction in sorted(directions & pairs)]
        if None in values:
            raise InputError(
                f"--similarity {similarity}: no such P@1 of {where}; measure it with"
                " `python -m embeddings retrieve`"
            )
        if values and language != source:
            retrieved[language] = fmean(values)
    return retrieved


def _check_retrieval(options: Options, groups: list[list[Transfer]]) -> None:
    """Something was retrieved of enough encoders."""
    if not any(member.retrieval for members in groups for member in members):
        sources = dict.fromkeys(members[0].source for members in groups)
        raise InputError(
            f"--retrieval {options.retrieval[0]}: no pair of {' or '.join(sources)} with another language of"
            " the task; expected retrieval in these"
        )
    most = max(groups, key=len)
    if len(most) < FEWEST:
        raise InputError(
            f"--retrieval: {len(most)} encoders on {most[0].dataset} that learned from {most[0].source},"
            f" expected at least {FEWEST} to correlate"
        )
