"""States of every layer of a language model: of sentences for `eval probe cosine` (thesis 6.4.5, Figure 6.3),
or of its answers for `eval probe llr`.

The model reads a sentence without a prompt. In every layer, the mean of the states of its tokens is stored.
DATA/text has parallel sets, SPLIT.A-B.LANG; lines that are empty on a side are skipped on both. OUTPUT is a
folder as of `eval probe states`, with one state per sentence and layer: L0 is the embeddings, L1 … the
layers, the last one behind the final norm ("output" in figures). `eval probe cosine BEFORE AFTER` compares
two such folders.

With --asked, the prompt of `llm translate` asks the model for a translation. The folder has the states of a
decoder: those of the prompt's last token, which predicts the first of the answer, and of the answer's tokens.
`eval probe llr --questions target` then tells in which layer the target language can be read.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import by_name, force_switch, option, output_folder, switch
from command_line.options import shown
from command_line.outputs import check_other_folder
from command_line.progress import progress
from command_line.provenance import path_in_record
from command_line.step import Step
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.package import dataset_of
from data_prep.formats.parallel_sets import source_files
from eval.probes.parallel_lines import say_skipped, with_words
from eval.probes.store import KIND, NO_TOKEN, SIDES, store_files, write_index, write_vocabulary
from llm.instructions.language_names import language_names
from llm.language_model import check_positions, warn_of_cut
from llm.prompted_model import PromptedModel
from llm.prompting import PromptOptions
from llm.search import Search

LONGEST_ANSWER = 40  # tokens


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """Which states of which sentences."""

    model: PromptedModel
    data: Path = option("folder whose text/ has the sets", required=True, metavar="DATA")
    dataset: str | None = option("name of the data in tables (default: the name of DATA)")
    output: Path = output_folder("the states")
    splits: list[str] = option(
        "which sets (the thesis: validation)", ["valid"], flags=("--splits", "--split"),
        type=options.items(options.split),
    )  # fmt: skip
    max_lines: int | None = option("only the first lines of every set")
    max_input: int = option("tokens of a sentence, or of a prompt", 384)
    batch_sentences: int = option("sentences at a time", 16)
    asked: bool = switch("states of the answers to prompts for a translation, in place of means of sentences")
    max_output: int | None = option(f"tokens of an answer, with --asked (default: {LONGEST_ANSWER})")
    prompts: PromptOptions
    force: bool = force_switch()

    def __post_init__(self):
        if not self.asked and (self.prompts != PromptOptions() or self.max_output is not None):
            raise InputError(
                "--prompt, --chat, --shots, --max-output: without --asked no prompt is read; give it, too"
            )

    @property
    def answer_tokens(self) -> int:
        """The most of an answer; 0 without --asked."""
        return (self.max_output or LONGEST_ANSWER) if self.asked else 0

    @property
    def side(self) -> str:
        """The side of the folder's states."""
        return SIDES[self.asked]

    def texts(self, split: str) -> dict[Direction, Path]:
        """Direction -> the file of its source, of both directions of every pair.

        Raises:
            InputError: there is no such set.
        """
        texts = source_files(self.data / "text", split)
        if not texts:
            raise InputError(f"{self.data / 'text'}: no {split} set")
        return texts


@dataclass
class Part:
    """The sentences of one direction.

    Attributes:
        tokens: of every sentence, or of its prompt.
        skipped, cut: numbers of lines.
    """

    split: str
    direction: Direction
    tokens: list[list[int]]
    skipped: int
    cut: int
    side: str

    @property
    def name(self) -> str:
        return f"{self.split}.{self.side}.{format_direction(self.direction)}"


def main(job: Extraction) -> None:
    texts = {split: job.texts(split) for split in job.splits}
    check_other_folder(job.output, [job.data / "text", *job.model.folders()])
    files = [path for of_split in texts.values() for path in of_split.values()]
    files += [*job.model.files(), *job.prompts.files(job.data / "text")]
    stamp = Stamp(job.output / ".states.done", KIND, by_name(job), files)
    Step(stamp, job.force).do(lambda: prepared(job, texts))


def prepared(job: Extraction, texts: dict[str, dict[Direction, Path]]) -> Callable[[], Iterable[Path]]:
    """The extraction, by a model that has been loaded, of sentences that have been read."""
    started = time.monotonic()
    for split, of_split in texts.items():
        job.model.warn_of_unknown(of_split, f"{split} set in {job.data / 'text'}")
    read = job.max_input + max(0, job.answer_tokens - 1)
    limits = f"--max-input {job.max_input}" + (f", --max-output {job.answer_tokens}" if job.asked else "")
    check_positions(job.model.weights, read, limits)
    model, tokenizer = job.model.load()
    answers = answers_of(job, model, tokenizer) if job.asked else None
    parts = [part for split in texts for part in parts_of(job, tokenizer, answers, split, texts[split])]
    return lambda: extract(job, model, tokenizer, answers, parts, started)


def extract(job: Extraction, model, tokenizer, answers, parts: list[Part], started: float) -> Iterable[Path]:
    """Write the states; returns the files.

    Args:
        answers: None: sentences are read without a prompt.
        started: when the model began to be loaded, in seconds.
    """
    for path in store_files(job.output):  # of an earlier extraction
        path.unlink()
    total, cut = sum(len(part.tokens) for part in parts), sum(part.cut for part in parts)
    loss = " and lost their ends" if job.asked else ", and the mean is of their beginnings"
    warn_of_cut(cut, total, "prompts" if job.asked else "sentences", job.max_input, loss)
    work = (count for part in parts for count in store(job, model, answers, part))
    for _ in progress(work, total, "states", "sentence", size=int):
        pass
    if job.asked:
        pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        write_vocabulary(job.output, [piece or "" for piece in pieces])
    write_index(job.output, describe(job, model, parts, time.monotonic() - started))
    return store_files(job.output)


def answers_of(job: Extraction, model, tokenizer):
    """The `llm.generation.Answers` of a greedy search."""
    from llm.generation import Answers

    search = Search(1, job.max_input, job.answer_tokens, job.batch_sentences)
    return Answers(model, tokenizer, search, job.prompts.chat)


def parts_of(job: Extraction, tokenizer, answers, split: str, texts: dict[Direction, Path]) -> Iterator[Part]:
    """The sentences of a set.

    Args:
        answers: None: sentences are read without a prompt.
    """
    lines = {direction: list(read_lines(path))[: job.max_lines] for direction, path in texts.items()}
    sentences = with_words(lines, f"{job.data / 'text'}: {split} set")
    skipped = {direction: len(lines[direction]) - len(kept) for direction, kept in sentences.items()}
    say_skipped(skipped, split)
    prompter = None
    if answers:
        languages = {language for direction in texts for language in direction}
        names = language_names(sorted(languages)) | job.model.languages()
        prompter = job.prompts.prompter(job.data / "text", names, tokenizer, job.model.weights)
    for direction, kept in sentences.items():
        part = Part(split, direction, [], skipped[direction], 0, job.side)
        if prompter:
            prompts = prompter(direction, [line.strip() for line in kept])
            part.tokens = [answers.tokens(prompt) for prompt in prompts]
            part.cut = sum(prompt in answers.cut for prompt in prompts)
        else:
            whole = tokens_of(tokenizer, kept, part.name)
            part.tokens = [each[: job.max_input] for each in whole]
            part.cut = sum(len(each) > job.max_input for each in whole)
        yield part


def describe(job: Extraction, model, parts: list[Part], seconds: float) -> dict:
    """What the folder's index says."""
    layers = layer_names(model.config.num_hidden_layers, f"{job.side}-norm")
    splits: dict[str, dict] = {}
    for part in parts:
        splits.setdefault(part.split, {})[format_direction(part.direction)] = {
            job.side: part.name,
            "sentences": len(part.tokens),
            "skipped_lines": part.skipped,
            "cut_lines": part.cut,
        }
    return {
        **job.model.provenance(job.prompts.label),
        "data": {"path": path_in_record(job.data, job.output)},
        "dataset": job.dataset or dataset_of(job.data),
        "max_lines": job.max_lines,
        "supervised": [format_direction(direction) for direction in sorted(job.model.taught())],
        "layers": {side: layers if side == job.side else [] for side in SIDES},
        "encoder_output": f"{SIDES[0]}-norm",
        "tags": [],
        "eos": NO_TOKEN,
        "splits": splits,
        "seconds": {"states": round(seconds, 2)},
    }


def tokens_of(tokenizer, lines: list[str], part: str) -> list[list[int]]:
    """The tokens of every sentence.

    Raises:
        InputError: a sentence has no tokens, and no mean.
    """
    tokens = [tokenizer(line)["input_ids"] for line in lines]
    if empty := [line for line, each in zip(lines, tokens, strict=True) if not each]:
        raise InputError(
            f"{part}: the tokenizer has no tokens for {shown(empty[0])}; leave the line out of the data"
        )
    return tokens


def layer_names(layers: int, final_norm: str) -> list[str]:
    """The names of what `transformers` calls hidden states: the embeddings, then every layer, the last one
    normed.
    """
    return [*(f"L{number}" for number in range(layers)), final_norm]


def store(job: Extraction, model, answers, part: Part) -> Iterator[int]:
    """Write the part of one direction; yields the number of sentences of each batch."""
    from eval.probes.storing import PartWriter

    rows, path = part.tokens, job.output / part.name
    order = sorted(range(len(rows)), key=lambda number: -len(rows[number]))
    batches = [
        order[start : start + job.batch_sentences] for start in range(0, len(order), job.batch_sentences)
    ]
    kept = [[0]] * len(rows)  # a state of every sentence
    if answers:
        for batch in batches:
            written = answers.endings([rows[number] for number in batch])
            for number, answer in zip(batch, written, strict=True):
                kept[number] = [rows[number][-1], *answer]
    tokens = [np.array(each, dtype=np.int64) for each in kept]
    layers, width = model.config.num_hidden_layers + 1, model.config.hidden_size
    writer = PartWriter(path, tokens, layers, width, "float32")
    for batch in batches:
        if answers:
            given = [(rows[number][:-1], kept[number]) for number in batch]
            writer.write(batch, states_behind(model, given))
        else:
            writer.write(batch, pooled_states(model, [rows[number] for number in batch]))
        yield len(batch)
    writer.close()


def states_behind(model, batch: list[tuple[list[int], list[int]]]) -> np.ndarray:
    """Layers x tokens x C, float32: of the second tokens of every row, one row after the other.

    Args:
        batch: tokens that are read, and those whose states are asked for, behind them.
    """
    import torch

    hidden = hidden_states(model, [[*before, *tokens] for before, tokens in batch])[0]
    states = [
        torch.cat([
            layer[row, len(before) : len(before) + len(tokens)].float()
            for row, (before, tokens) in enumerate(batch)
        ])
        for layer in hidden
    ]  # fmt: skip
    return torch.stack(states).cpu().numpy()


def pooled_states(model, batch: list[list[int]]) -> np.ndarray:
    """Layers x sentences x C, float32: of every sentence the mean over its tokens.

    Args:
        batch: the tokens of sentences.
    """
    import torch

    hidden, there = hidden_states(model, batch)
    counts = there.sum(dim=1, keepdim=True)
    means = [(states.float() * there.unsqueeze(2)).sum(dim=1) / counts for states in hidden]
    return torch.stack(means).cpu().numpy()


def hidden_states(model, batch: list[list[int]]) -> tuple:
    """The states of every layer, B x T x C, and which tokens are no padding, B x T."""
    import torch

    from llm.batches import padded

    tokens = padded(batch, 0).to(model.device)
    there = padded([[1] * len(row) for row in batch], 0).to(model.device)
    with torch.inference_mode():
        output = model(input_ids=tokens, attention_mask=there, output_hidden_states=True)
    return output.hidden_states, there
