"""Contributions of the tokens that a translation model reads to those that it predicts: gradient times input.

The contribution of a token is |g x|: x is its embedding, g the gradient of the log-probability of what is
predicted with respect to x (Shrikumar et al. 2017). It is divided by the sum over all tokens of encoder and
decoder, so that the contributions to a prediction have the sum 1.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from embeddings.encoders.sentence_encoder import batches
from eval.probes.hidden_states import CheckpointStates, HiddenStates, Tokens
from eval.probes.readers import Reader


class LineContributions(NamedTuple):
    """Means over the predicted tokens of a line.

    Attributes:
        source: the share of what the encoder reads, tags included.
        tags: the share of the language tags of both sides.
        attention_to_words: how much of the last layer's attention to the source goes to words, neither to
            tags nor to `</s>`; None where the decoder does not attend to tokens of the source.
    """

    source: float
    tags: float
    attention_to_words: float | None


def contributions_of(
    reader: Reader, direction: Direction, sources: Sequence[str], outputs: Sequence[str], max_tokens: int
) -> list[LineContributions]:
    """For every line, the means over all predictions but those of forced tags.

    Raises:
        InputError: a source has no tokens; the model does not translate.
    """
    if not reader.has_decoder:
        raise InputError("probe contribution: the model does not translate; expected an encoder-decoder")
    reader.hidden.model.requires_grad_(False)
    rows = reader.tokens(sources, direction, outputs)
    no_words = torch.tensor([*reader.tags, reader.eos])
    by_line: dict[int, LineContributions] = {}
    for batch in batches([row.longest for row in rows], max_tokens):
        given = [rows[number] for number in batch]
        source, tags, attention = shares(reader.hidden, given, reader.tags, reader.eos)
        for place, (number, row) in enumerate(zip(batch, given, strict=True)):
            following = [*row.decoder[1:], reader.eos]
            free = next(n for n, token in enumerate(following) if token not in reader.tags)
            predicted = slice(free, len(following))
            to_words = None
            if attention is not None:
                is_word = ~torch.isin(torch.tensor(row.encoder), no_words)
                to_words = attention[place, predicted, : len(is_word)][:, is_word].sum(1).mean().item()
            of_source, of_tags = (share[place, predicted].mean().item() for share in (source, tags))
            by_line[number] = LineContributions(of_source, of_tags, to_words)
    return [by_line[number] for number in range(len(rows))]


def shares(
    hidden: HiddenStates | CheckpointStates, rows: Sequence[Tokens], tags: Sequence[int], eos: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The share of the encoder's tokens and that of tags in what contributes to each next token of the
    decoder, B x T each; and the last layer's attention to the encoder's tokens, B x T x S.

    Args:
        eos: what follows the last token of a row.
    """
    width = max(len(row.decoder) for row in rows)
    following = torch.tensor([[*row.decoder[1:], *[eos] * (width + 1 - len(row.decoder))] for row in rows])
    with torch.enable_grad(), embedded_tokens(hidden.sides) as read:
        logits, attention = hidden.scores(rows)
        log_p = logits.log_softmax(2).gather(2, following.to(logits.device)[:, :, None])
        vectors = [each.vectors for each in read]
        ids = torch.cat([each.ids.reshape(len(rows), -1) for each in read], dim=1)  # B x N
        is_tag = torch.isin(ids, torch.tensor(tags, dtype=ids.dtype, device=ids.device))
        is_source = torch.cat([
            torch.full((each.ids.numel() // len(rows),), each.side == "encoder") for each in read
        ]).to(ids.device)  # fmt: skip
        of_source, of_tags = [], []
        for place in range(width):
            gradients = torch.autograd.grad(log_p[:, place].sum(), vectors, retain_graph=True)
            products = [(gradient * x).sum(-1) for gradient, x in zip(gradients, vectors, strict=True)]
            amounts = torch.cat([product.reshape(len(rows), -1) for product in products], dim=1).abs()
            of_source.append((amounts * is_source).sum(1) / amounts.sum(1))
            of_tags.append((amounts * is_tag).sum(1) / amounts.sum(1))
    source, tagged = (torch.stack(each, dim=1).detach().cpu() for each in (of_source, of_tags))
    return source, tagged, None if attention is None else attention.detach().cpu()


@dataclass
class Embedded:
    """One look-up of token embeddings: ids (B x n, or B) of a side, and their vectors (… x C), with respect
    to which there are gradients.
    """

    side: str
    ids: Tensor
    vectors: Tensor


@contextlib.contextmanager
def embedded_tokens(sides: Mapping[str, nn.Module]) -> Iterator[list[Embedded]]:
    """Inside, every look-up of token embeddings is kept.

    Args:
        sides: name -> encoder and decoder, which may share the module of their embeddings.
    """
    read: list[Embedded] = []
    begun: list[str] = []

    def begin(side: str):
        return lambda module, arguments: begun.append(side)

    def keep(module, arguments, output) -> Tensor:
        vectors = output.detach().requires_grad_()
        read.append(Embedded(begun[-1], arguments[0], vectors))
        return vectors

    embeddings = {side.embed_tokens for side in sides.values()}
    hooks = [module.register_forward_pre_hook(begin(side)) for side, module in sides.items()]
    hooks += [module.register_forward_hook(keep) for module in embeddings]
    try:
        yield read
    finally:
        for hook in hooks:
            hook.remove()
