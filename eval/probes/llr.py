"""Layer-wise language recognition (LLR, thesis 8.2.3): from which layer can the language be read?

There are two questions: "which source language?" and "which target language?". For every layer and question,
a linear classifier of tokens learns on the validation set of the supervised directions. It is tested on
supervised and on zero-shot directions. Several seeds of one system become one curve (Figures 8.2 and E.4).
"""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import Measured
from command_line.option_classes import option, positional, switch
from eval.probes.labels import COLUMNS, QUESTIONS
from eval.probes.parallel import ALLOW_UNLIKE, index_files
from eval.probes.protocol import Protocol
from eval.probes.store import StateStore
from eval.reporting.result_file import Written, publish

KIND = "llr"
TOKENS = {"all": "", "no-tags": ", without tags", "words": ", only words"}  # and how curves of them are named


@dataclass(frozen=True, kw_only=True)
class Options(Protocol):
    """What is recognized, from what; how the classifiers learn is inherited."""

    states: list[Path] = positional("folder of `eval probe states`", nargs="+", metavar="STATES")
    train_split: str = option("set to train on", "valid", type=types.split)
    test_split: str = option("set to test on", "test", type=types.split)
    train_on: str = option("directions of the set to train on", "supervised", choices=("supervised", "all"))
    balance: bool = switch("give every language the same weight in training, whatever its number of tokens")
    tokens: str = option(
        "all tokens, no language tags, or neither tags nor </s>", "all", choices=tuple(TOKENS)
    )
    questions: list[str] = option(
        "languages to recognize (default: source,target)",
        list(QUESTIONS),
        type=types.items(types.one_of(QUESTIONS)),
    )
    labels: Path | None = option(
        f"labels to recognize in place of languages: tab-separated columns {', '.join(COLUMNS)}",
        metavar="FILE.tsv",
    )
    control: bool = switch(
        "also learn random labels of tokens (control task), for the selectivity (Hewitt and Liang, 2019)"
    )
    written: Written

    @property
    def variant(self) -> str:
        """What sets the curve apart from that of the default options, for its name; "" for nothing."""
        said = [
            TOKENS[self.tokens],
            super().variant,
            ", trained on all directions" if self.train_on == "all" else "",
            ", balanced" if self.balance else "",
            f", {self.labels.stem}" if self.labels else "",
        ]
        return "".join(said)


def main(options: Options) -> None:
    options.complete()  # refuses settings that the protocol does not have before anything is read
    splits = dict.fromkeys((options.train_split, options.test_split))
    inputs = index_files(options.states, splits, options.written.allow_unlike)
    check_stores(options)
    inputs += [options.labels] if options.labels else []
    publish(KIND, options, inputs, lambda: measure(options), options.written)


def check_stores(options: Options) -> None:
    """No two stores are of one seed of one system on one dataset, or of different searches: known before the
    training, not after it.
    """
    first: dict[tuple, Path] = {}
    searched: dict[str, StateStore] = {}
    for folder in options.states:
        store = StateStore.open(folder)
        dataset, beam = store.record["dataset"], store.record.get("beam")
        key = dataset, store.system["name"], store.system.get("seed")
        if key[2] is not None and (other := first.get(key)):
            raise InputError(
                f"{folder}: {key[1]!r} with seed {key[2]} on {dataset}, as {other}; give one of them another"
                " --name (eval probe states)"
            )
        first[key] = folder
        if store.record.get("forced") == "output" and not options.written.allow_unlike:
            other = searched.setdefault(dataset, store)
            if other.record.get("beam") != beam:
                raise InputError(
                    f"{folder}: its outputs were searched with --beam {beam}, those of {other.folder} with"
                    f" {other.record.get('beam')}; extract one again, or {ALLOW_UNLIKE}"
                )


def measure(options: Options) -> Measured:
    """One run per store; other tokens, another protocol or forced references make another curve."""
    from eval.probes.recognition import recognize

    measured = Measured()
    for number, folder in enumerate(options.states):
        recognition = recognize(folder, options)
        references = ", references" if recognition.run["forced"] == "reference" else ""
        measured.add(recognition.run | {"variant": options.variant + references}, recognition.rows)
        measured.arrays |= {f"{number} {name}": values for name, values in recognition.weights.items()}
    return measured
