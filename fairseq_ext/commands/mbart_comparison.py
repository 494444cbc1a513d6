"""Is a model that was trimmed from mBART the same model? Logits of both on the same sentences."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import torch
from fairseq.data import Dictionary
from fairseq.models.bart.model import BARTModel, mbart_large_architecture
from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.checkpoints.mbart import MbartVocabulary

TOLERANCE = 1e-4  # of the largest logit: float32 is summed in another order


def fairseqs_mbart(weights: dict[str, Tensor], options: Namespace, vocabulary: MbartVocabulary):
    """fairseq's own model with all rows; `options` as of `fairseq_ext.checkpoints.mbart.shape_of`."""
    dictionary = Dictionary()
    tags = [f"[{language}]" for language in vocabulary.languages]
    for symbol in [*vocabulary.symbols, *tags, "<mask>"]:
        dictionary.add_symbol(symbol)
    args = Namespace(**{**vars(options), "arch": "mbart_large", "task": "translation"})
    args.encoder_normalize_before = args.decoder_normalize_before = True
    mbart_large_architecture(args)
    task = Namespace(source_dictionary=dictionary, target_dictionary=dictionary)
    model = BARTModel.build_model(args, task)
    model.load_state_dict(dict(weights))
    return model.eval()


def batches(task, split: str, lines: int) -> Iterator[dict]:
    """The first lines of every direction of the task, a batch each, as the model is given them."""
    task.load_dataset(split)
    dataset = task.dataset(split)
    limits = task.max_positions()
    for part in range(len(dataset.parts)):
        examples = [index for index in range(len(dataset)) if dataset.part_numbers[index] == part]
        fitting = (i for i in examples if all(a <= b for a, b in zip(dataset.size(i), limits, strict=True)))
        if chosen := list(islice(fitting, lines)):
            yield dataset.collater([dataset[index] for index in chosen])


@torch.no_grad()
def check_outputs(original, model, rows: Tensor, samples: Iterator[dict], path: Path) -> int:
    """Compare logits of the rows that were kept; returns the number of tokens.

    Args:
        original: fairseq's model.
        model: the trimmed one, and
        rows: the row of `original` for every token of its dictionary.
        samples: batches in the ids of `model`.
        path: of the original, for the error.
    """
    tokens = 0
    for sample in samples:
        inputs = sample["net_input"]
        outputs = model(**inputs)[0]
        renamed: dict[str, Tensor | Sequence[int]] = dict(inputs)
        for name in ("src_tokens", "prev_output_tokens"):
            renamed[name] = rows[inputs[name]]
        expected = original(**renamed)[0][..., rows]
        real = inputs["prev_output_tokens"].ne(model.decoder.padding_idx)
        difference = (outputs - expected)[real].abs().max() / expected[real].abs().max()
        if not difference <= TOLERANCE:
            raise InputError(
                f"{path}: trimmed, its outputs differ from those of fairseq's mbart_large by"
                f" {difference:.2g} of the largest; are the options in the file those of its weights?"
            )
        tokens += int(real.sum())
    return tokens
