"""The encoder of `interlingua_transformer`: encoder layers, and the interlingua that the decoder sees."""

import torch
from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.models.mnmt_transformer import MnmtEncoder
from fairseq_ext.modules.interlingua import Interlingua
from fairseq_ext.modules.interlingua_lengths import CentricLength, FixedLength
from fairseq_ext.modules.pooling import sentence_means
from fairseq_ext.modules.tag_reader import TagReader


class InterlinguaEncoder(MnmtEncoder):
    """Encoder layers, then the interlingua.

    Attributes:
        lengths: `FixedLength` or `CentricLength`.
        centric: number of the centric language, None with fixed lengths.
    """

    tags: TagReader
    lengths: FixedLength | CentricLength
    interlingua: Interlingua
    centric: int | None

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        return_all_hiddens: bool = False,
        token_embeddings: Tensor | None = None,
        gold_lengths: Tensor | None = None,
        interlingua_lengths: Tensor | None = None,
    ) -> dict:
        """fairseq's dictionary with the interlingua as "encoder_out", T x B x C, and its padding mask, B x T.

        Args:
            src_tokens: B x S.
            return_all_hiddens: also "encoder_states", of the encoder layers.
            gold_lengths: of the sentences in the centric language (teacher forcing), B, 0 where unknown.
            interlingua_lengths: to use exactly these, B.

        Returns:
            Further keys, lists of one tensor each: "token_states", S x B x C, and "token_padding_mask",
            B x S, of the encoder; "interlingua_lengths", B; with a length predictor also "length_logits",
            B x K, and, given gold lengths, "length_targets", B, 0 where there is nothing to predict. And
            "mirror_arguments": keyword arguments for encoding the other sentences of the pairs.
        """
        encoded = super().forward(src_tokens, src_lengths, return_all_hiddens, token_embeddings)
        states, padding = encoded["encoder_out"][0], encoded["encoder_padding_mask"][0]
        languages = self.tags.source_languages(src_tokens) if self.tags.knows_source else None
        lengths = self.lengths(
            sentence_means(states, padding),
            self.tags.source_lengths(src_tokens),
            None if self.centric is None else languages.eq(self.centric),
            gold_lengths,
        )
        chosen = lengths.chosen if interlingua_lengths is None else interlingua_lengths
        h, h_padding = self.interlingua(states, padding, languages, chosen)
        optional = {"length_logits": lengths.logits, "length_targets": lengths.targets}
        return {
            **encoded,
            "encoder_out": [h],
            "encoder_padding_mask": [h_padding],
            "token_states": [states],
            "token_padding_mask": [padding],
            "interlingua_lengths": [chosen],
            **{name: [tensor] for name, tensor in optional.items() if tensor is not None},
            "mirror_arguments": {"interlingua_lengths": chosen},
        }

    def max_positions(self) -> int:
        """Longest sentence; of variable length at most K, so that every centric sentence has its queries."""
        longest = super().max_positions()
        return longest if self.centric is None else min(longest, self.lengths.longest)

    def gold_lengths(self, src_tokens: Tensor, prev_output_tokens: Tensor) -> Tensor | None:
        """Lengths in the centric language for teacher forcing, B, 0 where neither side is in it."""
        if self.centric is None:
            return None
        return self.tags.centric_lengths(src_tokens, prev_output_tokens, self.centric)

    def length_candidates(self, src_tokens: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """The most probable lengths of every sentence, one after the other; one for centric sentences.

        Args:
            src_tokens: B x S.
            count: how many per sentence; more than K are K.

        Returns:
            N sentence numbers, ascending, N lengths and their log-probabilities.

        Raises:
            InputError: the model predicts no lengths.
        """
        if self.centric is None:
            raise InputError("the interlingua has a fixed length, so there are no other lengths to search")
        encoded = self(src_tokens)
        logits, own = encoded["length_logits"][0], encoded["interlingua_lengths"][0]
        log_p, best = logits.float().log_softmax(dim=1).topk(min(count, logits.size(1)), dim=1)
        is_centric = self.tags.source_languages(src_tokens).eq(self.centric)[:, None]
        keep = (~is_centric).expand_as(best).clone()
        keep[:, 0] = True
        lengths = torch.where(is_centric, own[:, None], best + 1)
        return keep.nonzero()[:, 0], lengths[keep], log_p.masked_fill(is_centric, 0)[keep]
