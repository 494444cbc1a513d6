"""Attention supervised by word alignments (Garg et al. 2019), the rival "+align" of thesis 5.2.2."""

from dataclasses import dataclass
from typing import Optional

import torch
from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.losses.weighted_loss import Term, WeightedLoss
from fairseq_ext.options import option


@dataclass
class AttentionAlignmentOptions:
    weight: float = option("lambda of Garg et al. 2019", 0.05)
    layer: Optional[int] = option(
        "decoder layer, counted from 1, whose first encoder-decoder attention head is supervised "
        "(default: the penultimate, as in Garg et al. 2019)"
    )
    full_context: bool = option(
        "supervise the attention of a second pass of the decoder, which sees the whole target "
        "sentence (Garg et al. 2019), not that of translation",
        False,
    )


class AttentionAlignment(WeightedLoss):
    """One encoder-decoder attention head of the decoder learns to look at the aligned source words.

    Reference: Garg et al. 2019 ("Jointly Learning to Align and Translate with Transformer Models"): with A
    the head's attention (rows: the steps that predict the m target tokens) and G the alignments, each row
    divided by its sum,

        L_a = - 1/m sum_i sum_j G_ij log A_ij

    weighted by lambda; the division by m is fairseq's, that of the sum of all losses by the number of target
    tokens. Every subword of a target word is aligned to every subword of the source word. Rows without
    alignment (also tags and `</s>`) contribute nothing. The attention is that of translation, which sees the
    target words so far; with `full_context` it is that of a second pass, which also sees the word whose
    alignment it predicts, and all others.

    Batch fields: `word_alignments`. No parameters of its own. Logged per aligned target token.

    Two accumulated half batches are the whole batch.

    Cost: the attention weights of one decoder layer; with `full_context` also a pass of the decoder, without
    the projection to the vocabulary.
    """

    name = "attention_alignment"
    Options = AttentionAlignmentOptions
    batch_fields = ("word_alignments",)
    needs_decoder = True

    def __init__(self, options: AttentionAlignmentOptions, sizes):
        super().__init__(options, sizes)
        layers = sizes.decoder_layers
        layer = max(1, layers - 1) if options.layer is None else options.layer
        self.require(1 <= layer <= layers, "layer", f"a decoder layer between 1 and {layers}")
        self.decoder_arguments = {"alignment_layer": layer - 1, "alignment_heads": 1}
        if options.full_context:
            self.decoder_arguments["full_context_alignment"] = True
            self.decodes_again = True

    def forward(self, outputs, batch) -> Term:
        if "token_states" in outputs.source:  # the decoder attends to an interlingua, not to words
            raise InputError(f"--losses {self.name}: not with --arch interlingua_transformer")
        attention = outputs.decoder["attn"][0].float()  # B x T x S
        rows, cells = aligned_cells(batch["word_alignments"], attention.size(1), attention.size(2))
        aligned = attention.flatten()[cells].clamp(min=torch.finfo(torch.float32).tiny)
        per_row = torch.bincount(rows)[rows]  # source tokens that the target token is aligned to
        value = -(aligned.log() / per_row).sum()
        count = len(torch.unique_consecutive(rows))
        return Term(self.options.weight * value, value.detach(), count)


def aligned_cells(aligned: dict[str, Tensor], target_width: int, source_width: int) -> tuple[Tensor, Tensor]:
    """The aligned pairs of tokens, none twice, in a flattened B x T x S matrix.

    Returns:
        the number of the row (b T + t), ascending, and of the cell (row S + s).
    """
    source, target = aligned["source"], aligned["target"]
    lengths = source[:, 1] - source[:, 0]
    cells_of_pair = lengths * (target[:, 1] - target[:, 0])
    owner = torch.repeat_interleave(torch.arange(len(source), device=source.device), cells_of_pair)
    number = torch.arange(len(owner), device=source.device)
    number = number - (cells_of_pair.cumsum(0) - cells_of_pair)[owner]  # within the pair
    width = lengths[owner]
    row = aligned["sentence"][owner] * target_width + target[owner, 0] + number // width
    cells = torch.unique(row * source_width + source[owner, 0] + number % width)
    return cells // source_width, cells
