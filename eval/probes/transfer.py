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

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import Measured
from command_line.option_classes import option, positional
from eval.probes.transfer_correlations import FEWEST, Retrieval, correlations
from eval.probes.transfer_differences import differences
from eval.probes.transfer_indexes import Transfer, transfer
from eval.reporting.result_file import Written, publish
from eval.result_files import result_files
from eval.result_set import RETRIEVAL, ResultSet

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
    return [path for one in given for path in result_files(one, [kind])]


def measure(options: Options, files: list[Path], retrieved: list[Path]) -> Measured:
    """The transfers of all encoders, tasks and source languages, and correlations: a run each.

    Raises:
        InputError: no encoder learned from one language alone, or retrieval is not that of the encoders.
    """
    from eval.derived.fine_tuned import fine_tuned
    from eval.measurements import Measurements  # with pandas: not before it is needed

    results = ResultSet.load(files, [FINETUNING]).probed(FINETUNING)
    tuned = fine_tuned(Measurements.of(results, allow_unlike=True))
    zero_shot = [one for one in tuned if one.is_zero_shot]
    if not zero_shot:
        found = "; ".join(f"{one.system.name} on {one.dataset}" for one in tuned)
        raise InputError(
            f"{files[0]}: no encoder that was fine-tuned on one language and tested in others; found"
            f" {found or 'none'}"
        )
    retrieval = None
    if retrieved:
        retrieval = Retrieval(retrieved, dict(options.retrieved_as), options.similarity, zero_shot)
    measured, groups = Measured(), {}
    for one in zero_shot:
        found = transfer(one, tuned, retrieval.of(one) if retrieval else {})
        measured.add(found.run, found.rows)
        groups.setdefault((found.dataset, found.group), []).append(found)
    if retrieval:
        _check_retrieval(options, list(groups.values()))
    for members in groups.values():
        for run, rows in differences(members):
            measured.add(run, rows)
        if len(members) >= FEWEST:
            for run, rows in correlations(members):
                measured.add(run, rows)
    return measured


def _check_retrieval(options: Options, groups: list[list[Transfer]]) -> None:
    """Something was retrieved of enough encoders."""
    if not any(one.retrieval for members in groups for one in members):
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
