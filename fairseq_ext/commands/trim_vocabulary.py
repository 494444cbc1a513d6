"""Shrink the vocabulary of a trained model to that of another binarized folder (thesis 3.4: future work).

DATA is the folder of the training, TRIMMED one of the same subword model whose dictionary has fewer symbols,
for example of `python -m data_prep subword --tokenizer … --only-used`. The rows of its symbols stay, and
those of language tags. What the model makes of text with these symbols alone is the same; a symbol that went
is `<unk>`.
"""

from dataclasses import dataclass
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.option_classes import force_switch, option
from command_line.outputs import atomic_path, checksum
from data_prep.formats.dictionary import DUMMY, dictionary_fingerprint, load_shared_dictionary
from data_prep.formats.preparation import Preparation
from fairseq_ext.commands.average import checkpoint_file


@dataclass(frozen=True, kw_only=True)
class TrimVocabularyJob:
    """The options of the command."""

    checkpoint: Path = option("the trained model", required=True)
    data: Path = option("binarized folder of its training", required=True)
    trimmed: Path = option("binarized folder with the smaller dictionary", required=True)
    output: Path = checkpoint_file()
    force: bool = force_switch()


def main(job: TrimVocabularyJob) -> None:
    folders = [Preparation.load(folder) for folder in (job.data, job.trimmed)]
    check_subwords(*folders)
    settings = {"dictionaries": [preparation.dictionary_sha256 for preparation in folders]}
    reads = [job.checkpoint] if job.checkpoint.is_file() else []
    stamp = Stamp.of_checkpoint(job.output, "trim-vocabulary", settings, reads)
    if stamp.is_current(job.force):
        return
    stamp.begin()
    kept, before = trim(job, folders[1].languages)
    stamp.finish([job.output])
    print(f"trim-vocabulary: {kept:,} of {before:,} embeddings kept")


def check_subwords(data, trimmed) -> None:
    """Refuse folders in which one symbol may be two things.

    Args:
        data, trimmed: their `Preparation`s.
    """
    models = [
        (
            preparation.subword["type"],
            preparation.subword["model"] and checksum(preparation.folder / preparation.subword["model"]),
        )
        for preparation in (data, trimmed)
    ]
    if models[0] != models[1]:
        raise InputError(
            f"--trimmed {trimmed.folder}: its subword model is not that of {data.folder}; expected text that"
            " was split by the same one"
        )


def trim(job: TrimVocabularyJob, languages: list[str]) -> tuple[int, int]:
    """Write the checkpoint; returns the numbers of embeddings after and before.

    Args:
        languages: of the smaller dictionary's folder.

    Raises:
        InputError: as `load_for_inference`, or a symbol is new to the model.
    """
    from fairseq_ext.set_up import set_up_process

    set_up_process()

    import torch

    from fairseq_ext.checkpoints.reading import EMBEDDINGS, read_weights
    from fairseq_ext.inference import load_for_inference

    task = load_for_inference(job.checkpoint, job.data, translates=False).task  # the checkpoint is in order
    after = load_shared_dictionary(job.trimmed, languages)
    state = read_weights(job.checkpoint)
    tables = [name for name in EMBEDDINGS if name in state["model"]]
    if not tables:
        raise InputError(f"{job.checkpoint}: no {EMBEDDINGS[0]} in it; expected embeddings of the dictionary")
    size = len(state["model"][tables[0]])
    rows = kept_rows(task.dictionary.symbols[: task.base_vocabulary_size], after.symbols, size, job.trimmed)
    state["model"] |= {name: state["model"][name][rows] for name in tables}
    if "dictionary_sha256" in (state.get("task_state") or {}):  # not in stock fairseq's
        state["task_state"]["dictionary_sha256"] = dictionary_fingerprint(after)
    state["last_optimizer_state"] = state["criterion"] = None  # losses have rows of the vocabulary, too
    with atomic_path(job.output) as temporary:
        torch.save(state, temporary)
    return len(rows), size


def kept_rows(before: list[str], after: list[str], size: int, folder: Path) -> list[int]:
    """Rows of the embeddings: of the symbols of the smaller dictionary, and of what follows the dictionary.

    Args:
        before, after: the dictionaries' symbols.
        size: rows of the embeddings; language tags come behind the dictionary.
        folder: of the smaller dictionary, for errors.

    Raises:
        InputError: a symbol has no row.
    """
    row_of = {symbol: row for row, symbol in enumerate(before)}
    unknown = row_of["<unk>"]  # for dummies, which no text has
    rows = []
    for symbol in after:
        if symbol not in row_of and not symbol.startswith(DUMMY):
            raise InputError(
                f"--trimmed {folder}: the model has no symbol {symbol!r}; expected a part of its dictionary"
            )
        rows.append(row_of.get(symbol, unknown))
    return rows + list(range(len(before), size))
