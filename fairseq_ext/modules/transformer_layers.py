"""Encoder and decoder layers: sublayers in residual blocks, with fairseq's names and conventions."""

from fairseq import utils
from torch import Tensor, nn

from fairseq_ext.modules.attention import Attention
from fairseq_ext.modules.dropout import Dropout
from fairseq_ext.modules.residual_block import PLACEMENTS, block_norms


class Layer(nn.Module):
    """What all layers share: self-attention, feed-forward network, norms, dropout."""

    def __init__(self, cfg, side):
        super().__init__()
        self.norm_placement = PLACEMENTS[str(cfg.norm_placement)]
        width = side.embed_dim
        self._build_first(cfg, side)
        self.self_attn_layer_norm = self._norms(cfg, width)
        self.dropout_module = Dropout(cfg.dropout, module_name=self.__class__.__name__)
        self.activation_dropout_module = Dropout(
            float(cfg.activation_dropout or cfg.relu_dropout or 0), module_name=self.__class__.__name__
        )
        self.activation_fn = utils.get_activation_fn(cfg.activation_fn)
        self._build_between(cfg, width)
        self.fc1 = nn.Linear(width, side.ffn_embed_dim)
        self.fc2 = nn.Linear(side.ffn_embed_dim, width)
        self.final_layer_norm = self._norms(cfg, width)

    def _build_first(self, cfg, side) -> None:
        """Hook for the first sublayer."""
        self.self_attn = Attention(side.embed_dim, side.attention_heads, cfg.attention_dropout)

    def _build_between(self, cfg, width: int) -> None:
        """Hook for what lies between self-attention and feed-forward network."""

    def _norms(self, cfg, width: int) -> nn.Module:
        return block_norms(width, cfg.norm_affine, self.norm_placement.norms)

    def upgrade_state_dict_named(self, state_dict: dict, name: str) -> None:
        """fairseq asks every layer to rename parameters of checkpoints from before 2019: none here."""

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.activation_dropout_module(self.activation_fn(self.fc1(x))))

    def _block(self, x: Tensor, sublayer, norm: nn.Module, residual: bool = True) -> Tensor:
        return self.norm_placement.apply(x, sublayer, norm, self.dropout_module, residual)


class EncoderLayer(Layer):
    """Self-attention and feed-forward network (Figure 8.1).

    Attributes:
        self_attention_residual: False drops the residual connection around self-attention ("w/o Res.").
    """

    def __init__(self, cfg):
        super().__init__(cfg, cfg.encoder)
        self.self_attention_residual = True

    def forward(self, x: Tensor, encoder_padding_mask: Tensor | None) -> Tensor:
        """x: S x B x C; encoder_padding_mask: B x S, true at padding, or None without padding."""
        x = self._block(
            x,
            lambda states: self.self_attn(states, padding_mask=encoder_padding_mask)[0],
            self.self_attn_layer_norm,
            self.self_attention_residual,
        )
        return self._block(x, self._feed_forward, self.final_layer_norm)


class DecoderLayer(Layer):
    """Causal self-attention, encoder-decoder attention and feed-forward network.

    Self-attention has no padding mask: target sentences are padded on the right, where no position of the
    sentence looks.
    """

    def __init__(self, cfg, no_encoder_attn: bool = False):
        self._has_encoder_attention = not no_encoder_attn
        super().__init__(cfg, cfg.decoder)

    def _build_between(self, cfg, width: int) -> None:
        self.encoder_attn = self.encoder_attn_layer_norm = None
        if self._has_encoder_attention:
            self.encoder_attn = Attention(
                width,
                cfg.decoder.attention_heads,
                cfg.attention_dropout,
                key_width=cfg.encoder.embed_dim,
                self_attention=False,
            )
            self.encoder_attn_layer_norm = self._norms(cfg, width)

    def forward(
        self,
        x: Tensor,
        encoder_out: Tensor | None,
        encoder_padding_mask: Tensor | None,
        incremental_state: dict | None,
        self_attn_mask: Tensor | None = None,
        self_attn_padding_mask: Tensor | None = None,
        need_attn: bool = False,
        need_head_weights: bool = False,
    ):
        """fairseq's convention: x is T x B x C; returns (x, head weights H x B x T x S or None, None).

        `self_attn_mask` only says whether attention is causal (None: full context, or one incremental step).
        """
        weights = None
        causal = self_attn_mask is not None
        padding_mask = None if causal or incremental_state is not None else self_attn_padding_mask

        def self_attention(states):
            return self.self_attn(
                states, padding_mask=padding_mask, causal=causal, incremental_state=incremental_state
            )[0]

        def encoder_attention(states):
            nonlocal weights
            context, weights = self.encoder_attn(
                states,
                encoder_out,
                encoder_padding_mask,
                incremental_state=incremental_state,
                need_head_weights=need_head_weights,
            )
            return context

        x = self._block(x, self_attention, self.self_attn_layer_norm)
        if self.encoder_attn is not None and encoder_out is not None:
            x = self._block(x, encoder_attention, self.encoder_attn_layer_norm)
        return self._block(x, self._feed_forward, self.final_layer_norm), weights, None
