"""Random encoder outputs, aligned words and batches for the tests of the losses, without a model."""

import torch

from fairseq_ext.losses.weighted_loss import ModelOutputs, ModelSizes

PAD = 1
SIZES = ModelSizes(encoder_width=6, decoder_layers=6, vocabulary=30, padding=PAD)
# sentence, source span, mirror span, target span
ALIGNED = [
    (0, (0, 1), (1, 3), (0, 2)),
    (0, (2, 4), (0, 1), (3, 4)),
    (1, (1, 2), (1, 2), (1, 2)),
    (2, (0, 3), (2, 4), (2, 4)),
    (2, (3, 4), (0, 2), (0, 2)),
]


def word_alignments(rows=ALIGNED) -> dict[str, torch.Tensor]:
    spans = [torch.tensor([row[side] for row in rows], dtype=torch.long).reshape(-1, 2) for side in (1, 2, 3)]
    sentence = torch.tensor([row[0] for row in rows], dtype=torch.long)
    return {"sentence": sentence, "source": spans[0], "mirror": spans[1], "target": spans[2]}


def random_encoding(lengths=(5, 3, 4), width: int = 6, seed: int = 1, dtype=torch.float64) -> dict:
    """An encoder's output, T x B x C with garbage at padding."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(max(lengths), len(lengths), width, generator=generator, dtype=dtype)
    padding = torch.arange(max(lengths))[None, :] >= torch.tensor(lengths)[:, None]
    return {"encoder_out": [states.requires_grad_()], "encoder_padding_mask": [padding]}


def random_outputs(**options) -> ModelOutputs:
    return ModelOutputs(
        random_encoding((5, 3, 4), seed=1, **options), random_encoding((4, 2, 5), seed=2, **options)
    )


def random_tokens(lengths, words: int = 26, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, 4 + words, (len(lengths), max(lengths)), generator=generator)
    return tokens.masked_fill(torch.arange(max(lengths))[None, :] >= torch.tensor(lengths)[:, None], PAD)


def random_batch(rows=ALIGNED, words: int = 26) -> dict:
    return {
        "ntokens": 11,
        "word_alignments": word_alignments(rows),
        "net_input": {"src_tokens": random_tokens((5, 3, 4), words)},
        "mirror": {"src_tokens": random_tokens((4, 2, 5), words, seed=2)},
    }


def pad_further(encoding: dict, columns: int = 3) -> dict:
    """The same encoder output in a wider batch."""
    states, padding = encoding["encoder_out"][0], encoding["encoder_padding_mask"][0]
    more = torch.full((columns, *states.shape[1:]), 7.0, dtype=states.dtype)
    return {
        "encoder_out": [torch.cat([states, more])],
        "encoder_padding_mask": [torch.cat([padding, padding.new_ones(len(padding), columns)], dim=1)],
    }
