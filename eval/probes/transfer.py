"""How well does an encoder transfer from one language to others, and how much of that is the task?

RESULT are outputs of `embeddings finetune`. Of every encoder that learned from one language: its zero-shot
performance in the others; the transfer gap, the score in the source language less their mean (Hu et al. 2020,
XTREME); and, where it was also trained on the languages themselves ("translate-train-all", or else one
training for each), the transfer rate, zero-shot performance by translate-train performance ("Is
Cross-lingual Evaluation Only About Cross-lingual?", 4.5): how much comes over, whatever the encoder makes of
the task. The rate of all languages is the mean of their rates, as in Table 4 of that paper, the source
language left out.

Of three or more encoders, how these go with each other, and with retrieval (`--retrieval`), by language and
for the means (Tables 3, 4 and 8).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from eval.probes.transfer_correlations import FEWEST, Retrieval, correlations
from eval.probes.transfer_indexes import transfer
from eval.reporting.exhibits import (
    Cell,
    Figure,
    Section,
    Table,
    cell,
    cells,
    mean_cell,
    number_cell,
    slug,
    tidy,
)
from eval.reporting.plots import lines
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.files import result_files
from eval.results.fine_tuned import KIND as FINETUNING
from eval.results.fine_tuned import TRANSLATE_TRAIN, fine_tuned, title_of
from eval.results.result_set import RETRIEVAL, ResultSet
from eval.results.systems import UNKNOWN, MeanStd

KIND = "transfer"
QUANTITIES = {
    "zero_shot": "Zero-shot",
    "translate_train": "Translate-train",
    "rate": "Transfer rate",
    "retrieval": "Retrieval",
}
NOTES = [
    "Transfer gap: the score in the source language less the mean of the others, which only test sets that"
    " are translations of each other allow. Transfer rate: zero-shot by translate-train, in per cent, the"
    " mean over all languages but the source. Averages leave the source out, too. Brackets: 95% interval over"
    " seeds, of trainings that are independent of each other.",
    "Correlations are Pearson's r x 100 over encoders. Those of few encoders, which differ in many things,"
    " are no evidence: the interval of the average says how little is known.",
]


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        results: outputs of `embeddings finetune`.
        retrieval: outputs of `embeddings retrieve`, or none.
        similarity: which P@1.
        retrieved_as: names of encoders, and how retrieval calls them.
    """

    results: list[Path]
    retrieval: list[Path]
    similarity: str
    retrieved_as: list[tuple[str, str]]


def add_arguments(parser) -> None:
    parser.add_argument(
        "results", nargs="+", type=types.path, metavar="RESULT", help="outputs of `embeddings finetune`"
    )
    parser.add_argument(
        "--retrieval",
        nargs="+",
        type=types.path,
        default=[],
        metavar="RESULT",
        help="outputs of `embeddings retrieve` of the same encoders on one test set, to correlate with",
    )
    parser.add_argument("--similarity", type=types.text, default="cosine", help="by which P@1 was measured")
    parser.add_argument(
        "--retrieved-as",
        nargs="+",
        type=types.assignment("mBERT=mBERT-calibrated"),
        default=[],
        metavar="NAME=OTHER",
        help="encoders that have another name in --retrieval",
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    if options.retrieved_as and not options.retrieval:
        raise InputError("--retrieved-as: of --retrieval, which is not given; leave it out")
    files = _files(options.results, FINETUNING)
    retrieved = _files(options.retrieval, RETRIEVAL)
    publish(
        KIND,
        options,
        [*files, *retrieved],
        lambda: measure(options, files, retrieved),
        args,
    )


def _files(given: Iterable[Path], kind: str) -> list[Path]:
    return [path for one in given for path in result_files(one, [kind])]


def measure(options: Options, files: list[Path], retrieved: list[Path]) -> dict:
    """The transfers of all encoders, tasks and source languages, and correlations.

    Raises:
        InputError: no encoder learned from one language alone, or retrieval is not that of the encoders.
    """
    tuned = fine_tuned(ResultSet.load(files, [FINETUNING]))
    zero_shot = [one for one in tuned if one.is_zero_shot]
    if not zero_shot:
        found = "; ".join(f"{one.encoder} on {one.dataset}: {one.setting}" for one in tuned)
        raise InputError(
            f"{files[0]}: no encoder that was fine-tuned on one language and tested in others; found"
            f" {found or 'none'}"
        )
    retrieval = None
    if retrieved:
        retrieval = Retrieval(retrieved, dict(options.retrieved_as), options.similarity, zero_shot)
    groups: dict[tuple, list[dict]] = {}
    for one in zero_shot:
        found = transfer(one, tuned, retrieval.of(one) if retrieval else {})
        groups.setdefault(_group(found), []).append(found)
    if retrieval:
        _check_retrieval(options, groups)
    correlated = [correlations(members) for members in groups.values() if len(members) >= FEWEST]
    return {
        "transfers": list(chain.from_iterable(groups.values())),
        "correlations": [found for found in correlated if found["pearson"]],
    }


def _check_retrieval(options: Options, groups: dict[tuple, list[dict]]) -> None:
    """Something was retrieved of enough encoders."""
    found = chain.from_iterable(groups.values())
    if all(entry["retrieval"] is None for one in found for entry in one["languages"].values()):
        sources = dict.fromkeys(source for *_, source in groups)
        raise InputError(
            f"--retrieval {options.retrieval[0]}: no pair of {' or '.join(sources)} with another language of"
            " the task; expected retrieval in these"
        )
    most = max(groups.values(), key=len)
    if len(most) < FEWEST:
        raise InputError(
            f"--retrieval: {len(most)} encoders on {most[0]['dataset']} that learned from"
            f" {most[0]['source']}, expected at least {FEWEST} to correlate"
        )


def _group(found: dict) -> tuple:
    """What the transfers have in common that are compared."""
    return tuple(found[name] for name in ("dataset", "task", "measure", "source"))


# --- the section of the report


def section(results: ResultSet) -> Section:
    shown: list[Table | Figure] = []
    for _, record in results.of_kind(KIND):
        groups: dict[tuple, list[dict]] = {}
        for one in record["transfers"]:
            groups.setdefault(_group(one), []).append(one)
        correlated = {_group(one): one for one in record["correlations"]}
        for key, members in groups.items():
            shown += [indexes(*key, members), figure(*key, members)]
            if key in correlated:
                shown.append(correlation_table(*key, correlated[key]))
    return Section("Zero-shot transfer", shown, NOTES)


def indexes(dataset: str, task: str, measure: str, source: str, members: list[dict]) -> Table:
    """A row per encoder."""
    rows = [
        [
            *cells(one["encoder"], _seeds_text(one)),
            mean_cell(_mean_std(one["source_score"]), 1),
            *(mean_cell(_mean_std(one["average"][name]), 1) for name in ("zero_shot", "translate_train")),
            _estimate_cell(one["gap"], "+.1f"),
            _estimate_cell(one["rate"], ".1f"),
            number_cell(one["average"]["retrieval"], ".1f"),
        ]
        for one in members
    ]
    titles = ["Encoder", "Seeds", source, "Zero-shot", "Translate-train", "Gap", "Transfer rate", "Retrieval"]
    caption = (
        f"Transfer from {source} on {dataset}, {title_of(measure)} (%): the score in {source}, averages of"
        f" the other languages, and indexes. Seeds: of zero-shot and of translate-train."
    )
    return Table(slug("transfer_indexes", task, dataset, source), caption, [cells(*titles)], rows)


def figure(dataset: str, task: str, measure: str, source: str, members: list[dict]) -> Figure:
    """Curves of encoders over languages, translate-train dashed beside zero-shot; and rates."""
    languages = list(dict.fromkeys(language for one in members for language in one["languages"]))

    def series(name: str) -> dict[str, list[MeanStd | None]]:
        found = {
            one["encoder"]: [
                _mean_std(one["languages"].get(language, {}).get(name)) for language in languages
            ]
            for one in members
        }
        return {encoder: values for encoder, values in found.items() if any(values)}

    first, rates = f"{title_of(measure)}, zero-shot from {source}", series("rate")
    dashed = series("translate_train")
    if dashed:
        first += " (dashed: translate-train)"
    panels = {first: series("zero_shot"), **({"transfer rate": rates} if rates else {})}
    name = slug("transfer", task, dataset, source)
    caption = (
        f"Zero-shot transfer from {source} on {dataset} by language, {title_of(measure)} (%)"
        + (f", {TRANSLATE_TRAIN} or, without it, translate-train of each language" if dashed else "")
        + "."
    )
    png = lines(languages, panels, "%", baselines={first: dashed})
    return Figure(name, caption, png, _numbers(name, caption, languages, members))


def _numbers(name: str, caption: str, languages: list[str], members: list[dict]) -> Table:
    """As Table 8: encoders by language, one quantity below the other."""
    rows, rules = [], set()
    for quantity, title in QUANTITIES.items():
        known = [
            one for one in members if any(entry[quantity] is not None for entry in one["languages"].values())
        ]
        rules |= {len(rows)} if known and rows else set()
        for one in known:
            entries = [*(one["languages"].get(language, {}) for language in languages), one["average"]]
            numbers = (mean_cell(_mean_std(entry.get(quantity)), 1) for entry in entries)
            rows.append([*cells(title, one["encoder"]), *numbers])
    columns = ["dataset", "measure", "source", "encoder", "language", *QUANTITIES]
    data = [
        [*(one[key] for key in columns[:4]), language, *(_number(entry.get(each)) for each in QUANTITIES)]
        for one in members
        for language, entry in [*one["languages"].items(), ("average", one["average"])]
    ]
    header = cells("Index", "Encoder", *languages, "Avg.")
    return Table(name, caption, [header], rows, frozenset(rules), tidy(columns, data))


def correlation_table(dataset: str, task: str, measure: str, source: str, found: dict) -> Table:
    """As at the bottom of Table 8."""
    languages = list(next(iter(found["pearson"].values()))["languages"])
    rows = []
    for pair, of in found["pearson"].items():
        names = [QUANTITIES[name] for name in pair.split(" ")]
        numbers = (number_cell(of["languages"][language], ".1f", 100) for language in languages)
        rows.append([cell(" and ".join(names).capitalize()), *numbers, *_correlation_cells(of["average"])])
    caption = (
        f"Pearson's r (x 100) over {len(found['encoders'])} encoders ({', '.join(found['encoders'])}),"
        f" transfer from {source} on {dataset}."
    )
    header = cells("Of", *languages, "Avg.", "95% interval")
    return Table(slug("transfer_correlations", task, dataset, source), caption, [header], rows)


def _correlation_cells(of: dict | None) -> list[Cell]:
    if of is None:
        return cells(UNKNOWN, UNKNOWN)
    interval = UNKNOWN if of["low"] is None else f"{100 * of['low']:.1f} to {100 * of['high']:.1f}"
    return [number_cell(of["r"], ".1f", 100), cell(interval)]


def _seeds_text(one: dict) -> str:
    """As in 5/5; of trainings on one language each, the fewest."""
    train = one["seeds"]["translate_train"]
    return f"{one['seeds']['zero_shot']}/{min(train)}" if train else str(one["seeds"]["zero_shot"])


def _number(value: dict | float | None) -> float | None:
    return value["mean"] if isinstance(value, dict) else value


def _mean_std(value: dict | float | None) -> MeanStd | None:
    if value is None:
        return None
    return MeanStd(**value) if isinstance(value, dict) else MeanStd(value, None)


def _estimate_cell(value: dict | None, form: str) -> Cell:
    if value is None:
        return cell(UNKNOWN)
    shown = f"{value['effect']:{form}}"
    if value["low"] is not None:
        shown += f" [{value['low']:{form}}, {value['high']:{form}}]"
    return cell(shown, value=value["effect"])
