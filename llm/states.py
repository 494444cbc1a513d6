"""Sentences in every layer of a language model, for `eval probe cosine` (thesis 6.4.5, Figure 6.3).

The model reads a sentence without a prompt. In every layer, the mean of the states of its tokens is stored.
DATA/text has parallel sets, SPLIT.A-B.LANG; lines that are empty on a side are skipped on both. OUTPUT is a
folder as of `eval probe states`, with one state per sentence and layer: L0 is the embeddings, L1 … the
layers, the last one behind the final norm ("output" in figures). `eval probe cosine BEFORE AFTER` compares
two such folders.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import by_name, force_switch, option, output_folder
from command_line.options import shown
from command_line.outputs import check_other_folder
from command_line.progress import progress
from command_line.provenance import path_in_record
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.parallel_sets import source_files
from eval.probes.parallel import FINAL_NORM
from eval.probes.parallel_lines import say_skipped, with_words
from eval.probes.store import KIND, store_files, write_index
from llm.instructions.prompts import DEFAULT
from llm.language_model import check_positions, warn_of_cut
from llm.prompted_model import PromptedModel


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """Which states of which sentences."""

    model: PromptedModel
    data: Path = option("folder whose text/ has the sets", required=True, metavar="DATA")
    dataset: str | None = option("name of the data in tables (default: the name of DATA)")
    output: Path = output_folder("the states")
    split: str = option("which set (the thesis: validation)", "valid", type=options.split)
    max_lines: int | None = option("only the first lines of every set")
    max_input: int = option("tokens of a sentence", 384)
    batch_sentences: int = option("sentences at a time", 16)
    force: bool = force_switch()

    def texts(self) -> dict[Direction, Path]:
        """Direction -> the file of its source, of both directions of every pair.

        Raises:
            InputError: there is no such set.
        """
        texts = source_files(self.data / "text", self.split)
        if not texts:
            raise InputError(f"{self.data / 'text'}: no {self.split} set")
        return texts


def main(job: Extraction) -> None:
    texts = job.texts()
    check_other_folder(job.output, [job.data / "text", *job.model.folders()])
    stamp = Stamp(job.output / ".states.done", KIND, by_name(job), [*texts.values(), *job.model.files()])
    if not stamp.is_current(job.force):
        job.model.warn_of_unknown(texts, f"{job.split} set in {job.data / 'text'}")
        extract(job, texts, stamp)


def extract(job: Extraction, texts: dict[Direction, Path], stamp: Stamp) -> None:
    """Load, read, store."""
    started = time.monotonic()
    check_positions(job.model.weights, job.max_input, f"--max-input {job.max_input}")
    model, tokenizer = job.model.load()
    stamp.begin()
    for path in store_files(job.output):  # of an earlier extraction
        path.unlink()
    lines = {direction: list(read_lines(path))[: job.max_lines] for direction, path in texts.items()}
    sentences = with_words(lines, f"{job.data / 'text'}: {job.split} set")
    skipped = {direction: len(lines[direction]) - len(kept) for direction, kept in sentences.items()}
    say_skipped(skipped, job.split)
    tokens = {
        direction: tokens_of(tokenizer, kept, part_name(job.split, direction))
        for direction, kept in sentences.items()
    }
    cut = {direction: sum(len(each) > job.max_input for each in own) for direction, own in tokens.items()}
    total = sum(map(len, tokens.values()))
    warn_of_cut(sum(cut.values()), total, "sentences", job.max_input, ", and the mean is of their beginnings")
    work = (
        count
        for direction, own in tokens.items()
        for count in store(job, model, own, job.output / part_name(job.split, direction))
    )
    for _ in progress(work, total, "states", "sentence", size=int):
        pass
    directions = {
        format_direction(direction): {
            "encoder": part_name(job.split, direction),
            "sentences": len(own),
            "skipped_lines": skipped[direction],
            "cut_lines": cut[direction],
        }
        for direction, own in tokens.items()
    }
    layers = layer_names(model.config.num_hidden_layers)
    write_index(job.output, describe(job, layers, directions, time.monotonic() - started))
    stamp.finish(store_files(job.output))


def describe(job: Extraction, layers: list[str], directions: dict[str, dict], seconds: float) -> dict:
    """What the folder's index says.

    Args:
        directions: name of a direction -> its part.
    """
    return {
        **job.model.provenance(DEFAULT),
        "data": {"path": path_in_record(job.data, job.output)},
        "dataset": job.dataset or job.data.resolve().name,
        "max_lines": job.max_lines,
        "supervised": [format_direction(direction) for direction in sorted(job.model.taught())],
        "layers": {"encoder": layers, "decoder": []},
        "encoder_output": layers[-1],
        "tags": [],
        "eos": -1,
        "splits": {job.split: directions},
        "seconds": {"states": round(seconds, 2)},
    }


def tokens_of(tokenizer, lines: list[str], part: str) -> list[list[int]]:
    """Of every sentence.

    Raises:
        InputError: a sentence has no tokens, and no mean.
    """
    tokens = [tokenizer(line)["input_ids"] for line in lines]
    if empty := [line for line, each in zip(lines, tokens, strict=True) if not each]:
        raise InputError(
            f"{part}: the tokenizer has no tokens for {shown(empty[0])}; leave the line out of the data"
        )
    return tokens


def layer_names(layers: int) -> list[str]:
    """Of what `transformers` calls hidden states: the embeddings, then every layer, the last one normed."""
    return [*(f"L{number}" for number in range(layers)), FINAL_NORM]


def part_name(split: str, direction: Direction) -> str:
    return f"{split}.encoder.{format_direction(direction)}"


def store(job: Extraction, model, tokens: list[list[int]], path: Path) -> Iterator[int]:
    """Write the part of one direction; yields the number of sentences of each batch."""
    from eval.probes.storing import PartWriter

    layers = model.config.num_hidden_layers + 1
    one_each = [np.zeros(1, dtype=np.int64)] * len(tokens)
    writer = PartWriter(path, one_each, layers, model.config.hidden_size, "float32")
    order = sorted(range(len(tokens)), key=lambda number: -len(tokens[number]))
    for start in range(0, len(order), job.batch_sentences):
        batch = order[start : start + job.batch_sentences]
        writer.write(batch, pooled_states(model, [tokens[number][: job.max_input] for number in batch]))
        yield len(batch)
    writer.close()


def pooled_states(model, batch: list[list[int]]) -> np.ndarray:
    """Layers x sentences x C, float32: of every sentence the mean over its tokens.

    Args:
        batch: the tokens of sentences.
    """
    import torch

    from llm.batches import padded

    tokens = padded(batch, 0).to(model.device)
    there = padded([[1] * len(row) for row in batch], 0).to(model.device)
    with torch.inference_mode():
        output = model(input_ids=tokens, attention_mask=there, output_hidden_states=True)
        counts = there.sum(dim=1, keepdim=True)
        means = [(states.float() * there.unsqueeze(2)).sum(dim=1) / counts for states in output.hidden_states]
    return torch.stack(means).cpu().numpy()
