"""Model `sentence_encoder`: the encoder of `mnmt_transformer` with one vector per sentence on top (thesis
2.2.1, equation 2.1), the *sentence encoder* axis.

A decoder exists only with `--decoder-layers` above 0, for losses that translate. As LASER's it sees nothing
of the source but the vector (Artetxe and Schwenk 2019). There the vector is concatenated to every input of an
LSTM; here it is the only state that encoder-decoder attention can look at, so that every layer adds it,
projected, at every position.
"""

import copy
import logging
from pathlib import Path

import torch
from fairseq.models import BaseFairseqModel, register_model, register_model_architecture

from fairseq_ext.models.mnmt_transformer import (
    MnmtEncoder,
    MnmtTransformerConfig,
    MnmtTransformerModel,
    mnmt_base_architecture,
    set_own_defaults,
    with_defaults,
)
from fairseq_ext.models.pooled_encoder import PooledEncoder
from fairseq_ext.models.pretrained_encoder import TransformersTokens, adopt
from fairseq_ext.models.sentence_encoder_options import SentenceEncoderConfig, check_options
from fairseq_ext.modules.pooling import POOLINGS

logger = logging.getLogger(__name__)
POSITIONS = "encoder.embed_positions.weight"  # in a checkpoint with learned ones


class SentenceEncoder(PooledEncoder, MnmtEncoder):
    """Encoder layers of our own, and the pooling. `<s>`, where it is read, takes no token's position."""

    def __init__(self, cfg, dictionary, embed_tokens):
        if POOLINGS[str(cfg.pooling)].has_cls:
            cfg = copy.copy(cfg)
            cfg.max_source_positions += 1
        super().__init__(cfg, dictionary, embed_tokens)


class PretrainedSentenceEncoder(PooledEncoder, TransformersTokens):
    """An encoder of `transformers`, and the pooling. It reads `<s> A </s>`, as it was trained."""

    reads_cls = True


@register_model("sentence_encoder")
class SentenceEncoderModel(MnmtTransformerModel):
    """Sentence encoder, and a decoder if there are layers of one; see `SentenceEncoderConfig`."""

    Config = SentenceEncoderConfig

    def __init__(self, cfg, encoder, decoder):
        BaseFairseqModel.__init__(self)  # fairseq's encoder-decoder models insist on a decoder
        self.cfg, self.encoder, self.decoder = cfg, encoder, decoder
        self.supports_align_args = True

    @classmethod
    def build_model(cls, args, task):
        sentence_encoder_architecture(args)
        tokenizer = adopt(args, task) if args.pretrained_encoder or args.token_encoder else None
        check_options(args)
        model = super().build_model(args, task)
        if tokenizer:
            model.encoder.mask = tokenizer.mask_in(model.encoder.dictionary)
        if args.pretrained_encoder:
            model.encoder.start_from(Path(args.pretrained_encoder), tokenizer)
        return model

    @classmethod
    def build_encoder(cls, cfg, src_dict, embed_tokens):
        kind = PretrainedSentenceEncoder if cfg.token_encoder else SentenceEncoder
        return kind(cfg, src_dict, embed_tokens)

    @classmethod
    def build_decoder(cls, cfg, tgt_dict, embed_tokens):
        if not cfg.decoder.layers:
            return None
        seen = copy.deepcopy(cfg)
        seen.encoder.embed_dim = cfg.sentence_width or cfg.pooler_width or cfg.encoder.embed_dim
        if cfg.max_target_positions is None:  # any sentence may be the target, behind its language
            seen.max_target_positions = cfg.max_source_positions + 1
        return super().build_decoder(seen, tgt_dict, embed_tokens)

    def forward(
        self,
        src_tokens,
        src_lengths=None,
        prev_output_tokens=None,
        pooled_vectors=None,
        layer_sums=None,
        **decoder_options,
    ):
        """What the decoder returns, as fairseq's encoder-decoder models; without one, what the encoder
        returns.
        """
        stored = {"pooled_vectors": pooled_vectors, "layer_sums": layer_sums}
        encoder_out = self.encoder(src_tokens, src_lengths, **stored)
        if self.decoder is None:
            return encoder_out
        return self.decoder(
            prev_output_tokens, encoder_out=encoder_out, src_lengths=src_lengths, **decoder_options
        )

    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """Load weights. Without a decoder, it also takes a translation model's checkpoint: training starts
        from its encoder. It also takes a sentence encoder's without the linear map that this one has (thesis
        3.2.2).
        """
        decoder = [name for name in state_dict if name.startswith("decoder.")] if self.decoder is None else []
        own = {f"encoder.{name}": value for name, value in self.encoder.pooling_state().items()}
        new = {name: value for name, value in own.items() if name not in state_dict}
        if decoder or new:
            logger.warning(
                f"of the checkpoint, {len(decoder)} tensors of a decoder are left out; {len(new)} of the"
                " pooling begin untrained"
            )
            state_dict = new | {name: value for name, value in state_dict.items() if name not in decoder}
        state_dict = self._with_position_of_cls(state_dict)
        return super().load_state_dict(state_dict, strict, model_cfg, args)

    def _with_position_of_cls(self, state_dict: dict) -> dict:
        """Where `<s>` is read, learned positions of a model that does not read it: the new one, behind all
        others, begins as the last of them.
        """
        saved = state_dict.get(POSITIONS)
        own = self.encoder.state_dict().get(POSITIONS.removeprefix("encoder."))
        if self.encoder.cls is None or saved is None or own is None or len(saved) + 1 != len(own):
            return state_dict
        logger.warning(
            "the checkpoint has no position for <s> beside those of tokens: its last one is there twice"
        )
        return {**state_dict, POSITIONS: torch.cat([saved, saved[-1:]])}

    def max_positions(self) -> tuple[int, int]:
        longest = self.encoder.max_positions()
        return (longest, longest if self.decoder is None else self.decoder.max_positions())


# --- named architectures


@register_model_architecture("sentence_encoder", "sentence_encoder")
def sentence_encoder_architecture(args):
    """Transformer-base's encoder, without decoder; one that is asked for is as wide as the encoder."""
    set_own_defaults(args, SentenceEncoderConfig, MnmtTransformerConfig)
    with_defaults(args, decoder_layers=0, encoder_attention_heads=8)
    with_defaults(args, decoder_attention_heads=args.encoder_attention_heads)
    mnmt_base_architecture(args)


@register_model_architecture("sentence_encoder", "ems")
def ems_architecture(args):
    """EMS: 6 layers of width 1024 (thesis 2.3.3, Table 2.2)."""
    with_defaults(args, encoder_embed_dim=1024, encoder_ffn_embed_dim=4096, encoder_attention_heads=16)
    with_defaults(args, dropout=0.1, attention_dropout=0.1)
    sentence_encoder_architecture(args)


@register_model_architecture("sentence_encoder", "ems_small")
def ems_small_architecture(args):
    """Small enough for two CPU cores: 4 layers of width 256."""
    with_defaults(args, encoder_embed_dim=256, encoder_ffn_embed_dim=1024, encoder_attention_heads=4)
    with_defaults(args, encoder_layers=4)
    ems_architecture(args)
