"""A masked language model whose vocabulary's scores are computed at masked positions only.

Of a small encoder the head is the dearer part: with 4 layers of width 256 and 16,000 symbols it has 4.1 of
7.3 million weights that every token meets, and 85 % of the tokens do not need it.
"""

import torch
import transformers
from torch import Tensor
from torch.nn import functional
from transformers.modeling_outputs import MaskedLMOutput

from embeddings.pretraining.options import Network


class XLMRobertaForMaskedLM(transformers.XLMRobertaForMaskedLM):
    """As in `transformers`, whose class its folders name: only what it computes in training is less."""

    accepts_loss_kwargs = True  # the trainer then says how many tokens an update has

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        positions: Tensor,
        labels: Tensor,
        num_items_in_batch: Tensor | int | None = None,
    ) -> MaskedLMOutput:
        """Loss, mean over masked tokens, and scores, M x V.

        Args:
            input_ids: B x T.
            attention_mask: B x T, 0 at padding.
            positions: M, of the masked tokens, from 0 to B T - 1.
            labels: M, what they were.
            num_items_in_batch: masked tokens of the update, if this is one of its batches.
        """
        states = self.roberta(input_ids, attention_mask=attention_mask).last_hidden_state
        scores = self.lm_head(states.flatten(0, 1).index_select(0, positions)).float()
        loss = functional.cross_entropy(scores, labels, reduction="sum")
        return MaskedLMOutput(loss=loss / (num_items_in_batch or len(labels)), logits=scores)


def new_model(network: Network, tokenizer, seed: int) -> XLMRobertaForMaskedLM:
    """A model with random weights."""
    torch.manual_seed(seed)
    config = transformers.XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=network.width,
        num_hidden_layers=network.layers,
        num_attention_heads=network.heads,
        intermediate_size=network.inner_width,
        hidden_dropout_prob=network.dropout,
        attention_probs_dropout_prob=network.dropout,
        max_position_embeddings=network.max_length + tokenizer.pad_token_id + 1,  # RoBERTa counts from there
        type_vocab_size=1,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return XLMRobertaForMaskedLM(config)
