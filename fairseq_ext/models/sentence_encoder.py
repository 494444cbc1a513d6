"""Model `sentence_encoder`: the encoder of `mnmt_transformer` with one vector per sentence on top (thesis
2.2.1, equation 2.1), the *sentence encoder* axis.

A decoder exists only with `--decoder-layers` above 0, for losses that translate. As LASER's it sees nothing
of the source but the vector (Artetxe and Schwenk 2019). There the vector is concatenated to every input of an
LSTM; here it is the only state that encoder-decoder attention can look at, so that every layer adds it,
projected, at every position.
"""

import copy
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import torch
from fairseq.dataclass import ChoiceEnum
from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from torch import Tensor, nn

from command_line.errors import InputError
from fairseq_ext.models.mnmt_transformer import (
    MnmtEncoder,
    MnmtTransformerConfig,
    MnmtTransformerModel,
    mnmt_base_architecture,
    set_own_defaults,
    with_defaults,
)
from fairseq_ext.models.pretrained_encoder import TransformersTokens, adopt
from fairseq_ext.modules.pooling import POOLINGS, not_counted, sentence_sums

logger = logging.getLogger(__name__)
TOP, MIXTURE, AVERAGE = "top", "mix", "average"
ABOVE_THE_LAYERS = ("layer_weights", "pooler.", "sentence_map.")  # names of parameters


@dataclass
class SentenceEncoderConfig(MnmtTransformerConfig):
    pooling: ChoiceEnum(list(POOLINGS)) = field(
        default="mean",
        metadata={
            "help": "how the states of a sentence become its vector: mean (2.1), max or sum over its tokens; "
            "cls = state of a token <s> in front of it; pooler = dense layer and tanh on that, as BERT's"
        },
    )
    pooling_layer: str = field(
        default=TOP,
        metadata={
            "help": f"whose states: {TOP}, the number of an encoder layer (0: embeddings; layers above it "
            f"are not trained), {MIXTURE} = mixture of all with learned softmax weights, or {AVERAGE} of all"
        },
    )
    pooling_without_eos: bool = field(
        default=False,
        metadata={"help": "</s> does not count in mean, max and sum, nor in the length ||S|| of 2.1"},
    )
    sentence_width: Optional[int] = field(
        default=None,
        metadata={"help": "width of a linear map on top of the pooling (default: none, the encoder's width)"},
    )
    pooler_width: Optional[int] = field(
        default=None,
        metadata={
            "help": "width of the dense layer of --pooling pooler (default: the encoder's); with another "
            "pooling, of a linear map below that of --sentence-width (thesis A.1, distillation-first)"
        },
    )
    pretrained_encoder: Optional[str] = field(
        default=None,
        metadata={
            "help": "folder of transformers (XLM-R, LaBSE, …) whose encoder takes the place of ours; data of "
            "its tokenizer: `data_prep subword --tokenizer`. It has its own dropout"
        },
    )
    freeze_encoder: bool = field(
        default=False,
        metadata={
            "help": "train what is above the layers alone: mixture, pooler, linear map and the losses' own; "
            "the layers compute without dropout and gradients (thesis 3.2.2; dual-pivot transfer 3.1)"
        },
    )
    token_encoder: str = field(
        default="", metadata={"help": "what --pretrained-encoder is, in checkpoints; set by it"}
    )
    token_encoder_checksum: str = field(
        default="", metadata={"help": "checksum of its tokenizer, in checkpoints; set by it"}
    )


class PooledEncoder:
    """Pooling, and perhaps a linear map, on top of an encoder of tokens, of which this is the first base.

    Attributes:
        reads_cls: is every sentence read with `<s>` in front, whatever the pooling?
        sentence_width: C' of the vectors.
        pooled_width: of the vectors below the last linear map.
    """

    reads_cls = False

    def __init__(self, cfg, dictionary, embed_tokens):
        super().__init__(cfg, dictionary, embed_tokens)
        self.kind = POOLINGS[str(cfg.pooling)]
        self.layer = parse_layer(cfg.pooling_layer, cfg.encoder.layers)
        width = cfg.encoder.embed_dim
        self.pooled_width = cfg.pooler_width or width
        self.sentence_width = cfg.sentence_width or self.pooled_width
        self.cls = dictionary.bos() if self.kind.has_cls or self.reads_cls else None
        left_out = [dictionary.bos(), dictionary.eos()] if cfg.pooling_without_eos else []
        self.register_buffer("left_out", torch.tensor(left_out, dtype=torch.long), persistent=False)
        self.layer_weights = None
        if self.layer is None:
            learned = str(cfg.pooling_layer) == MIXTURE
            self.layer_weights = nn.Parameter(torch.zeros(len(self.layers) + 1), requires_grad=learned)
        has_pooler = self.kind.is_dense or cfg.pooler_width
        self.pooler = nn.Linear(width, self.pooled_width) if has_pooler else None
        self.sentence_map = nn.Linear(self.pooled_width, self.sentence_width) if cfg.sentence_width else None
        if self.layer is not None:
            self.layers[self.layer :].requires_grad_(False)  # distributed training waits for every gradient
        self.frozen = cfg.freeze_encoder
        if self.frozen:
            for name, parameter in self.named_parameters():
                parameter.requires_grad_(name.startswith(ABOVE_THE_LAYERS) and parameter.requires_grad)

    def train(self, mode: bool = True) -> "PooledEncoder":
        """A frozen encoder has no dropout in training, either."""
        return super().train(mode and not self.frozen)

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        return_all_hiddens: bool = False,
        token_embeddings: Tensor | None = None,
        pooled_vectors: Tensor | None = None,
        layer_sums: Tensor | None = None,
    ) -> dict:
        """fairseq's dictionary with the sentence vectors as the only states that a decoder sees,
        "encoder_out", 1 x B x C', and their padding mask, B x 1.

        Args:
            src_tokens: B x S, padded on the right.
            return_all_hiddens: also "encoder_states".
            pooled_vectors: B x C, of a frozen encoder, stored: nothing below the last linear map runs, and
                there are no states.
            layer_sums: B x (L + 1) x C, what `sums_of_layers` has given for the sentences; nothing below the
                pooling runs, and there are no states.

        Returns:
            Further keys: "sentence_vectors", one tensor, B x C', and "pooled_vectors", those below the last
            linear map; and, lists of one tensor each, the states of the given tokens that are pooled,
            "token_states", S x B x C, and "token_padding_mask", B x S.
        """
        if layer_sums is not None:
            pooled_vectors = self._above(self._pool_sums(layer_sums, src_tokens))
        if pooled_vectors is not None:
            return self._of_pooled(pooled_vectors)
        if self.cls is not None:
            src_tokens = torch.cat([src_tokens.new_full((len(src_tokens), 1), self.cls), src_tokens], dim=1)
        every_layer = return_all_hiddens or self.layer != len(self.layers)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            encoded = super().forward(src_tokens, src_lengths, every_layer, token_embeddings)
        states, padding = encoded["encoder_out"][0], encoded["encoder_padding_mask"][0]
        left_out = not_counted(src_tokens, self.padding_idx, self.left_out)
        pooled_states = self._pooled_states(encoded)
        pooled = self._above(self.kind.apply(pooled_states, left_out))
        vectors = self._mapped(pooled)
        begin = 0 if self.cls is None else 1
        return {
            **encoded,
            "encoder_out": [vectors.unsqueeze(0).type_as(states)],
            "encoder_padding_mask": [padding.new_zeros(len(padding), 1)],
            "sentence_vectors": vectors,
            "pooled_vectors": pooled,
            "token_states": [pooled_states[begin:]],
            "token_padding_mask": [padding[:, begin:]],
        }

    def _mapped(self, pooled: Tensor) -> Tensor:
        """The vectors, B x C', of those below the last linear map."""
        if self.sentence_map is None:
            return pooled
        return self.sentence_map(pooled.to(self.sentence_map.weight.dtype))

    def _of_pooled(self, pooled: Tensor) -> dict:
        """What the encoder returns, of vectors that it has made before."""
        vectors = self._mapped(pooled)
        return {
            **{name: [] for name in ("encoder_embedding", "encoder_states", "src_tokens", "src_lengths")},
            "encoder_out": [vectors.unsqueeze(0)],
            "encoder_padding_mask": [vectors.new_zeros(len(vectors), 1, dtype=torch.bool)],
            "sentence_vectors": vectors,
            "pooled_vectors": pooled,
        }

    def sums_of_layers(self, src_tokens: Tensor) -> Tensor:
        """The sum over the tokens of a sentence of the states of every layer, the embeddings being the
        lowest, B x (L + 1) x C, in float32 or better. Pooling by sum and by mean needs nothing else, as a sum
        commutes with the mixture of layers.

        Args:
            src_tokens: B x S, padded on the right, as `forward` has them.
        """
        if self.cls is not None:
            src_tokens = torch.cat([src_tokens.new_full((len(src_tokens), 1), self.cls), src_tokens], dim=1)
        encoded = super().forward(src_tokens, src_tokens.ne(self.padding_idx).sum(dim=1), True)
        padding = src_tokens.eq(self.padding_idx)
        return torch.stack([sentence_sums(states, padding) for states in self._every_layer(encoded)], dim=1)

    def _pool_sums(self, sums: Tensor, src_tokens: Tensor) -> Tensor:
        """As the pooling of the states that were summed, B x C."""
        if self.layer is not None:
            pooled = sums[:, self.layer]
        else:
            pooled = torch.einsum("l,blc->bc", self.layer_weights.softmax(0).type_as(sums), sums)
        if self.kind is POOLINGS["sum"]:
            return pooled
        lengths = src_tokens.ne(self.padding_idx).sum(dim=1, keepdim=True)
        return pooled / (lengths + (self.cls is not None))

    def _pooled_states(self, encoded: dict) -> Tensor:
        """The states that are pooled, T x B x C: what the encoder returns if it ends at that layer, that is,
        after the final norm, if there is one.
        """
        if self.layer == len(self.layers):
            return encoded["encoder_out"][0]
        if self.layer is not None:
            return self._normalized(encoded["encoder_states"][self.layer])
        layers = torch.stack(self._every_layer(encoded))
        return torch.einsum("l,ltbc->tbc", self.layer_weights.softmax(0).type_as(layers), layers)

    def _every_layer(self, encoded: dict) -> list[Tensor]:
        """L + 1, T x B x C each: what the encoder would return if it ended there."""
        return [*map(self._normalized, encoded["encoder_states"][:-1]), encoded["encoder_out"][0]]

    def _normalized(self, states: Tensor) -> Tensor:
        return states if self.layer_norm is None else self.layer_norm(states)

    def _above(self, vectors: Tensor) -> Tensor:
        """Pooled states -> the vectors below the last linear map, B x C."""
        if self.pooler is not None:
            vectors = self.pooler(vectors.to(self.pooler.weight.dtype))
        return torch.tanh(vectors) if self.kind.is_dense else vectors

    @property
    def above_tokens(self) -> tuple[str, ...]:
        """The options that gave it parameters above the states of tokens."""
        pooler = "--pooling pooler" if self.kind.is_dense else "--pooler-width"
        given = {"--sentence-width": self.sentence_map, pooler: self.pooler}
        return tuple(option for option, module in given.items() if module is not None)

    def pooling_state(self) -> dict[str, Tensor]:
        """The parameters that an encoder without pooling lacks."""
        return {name: value for name, value in self.state_dict().items() if name.startswith(ABOVE_THE_LAYERS)}

    def max_positions(self) -> int:
        return super().max_positions() - (self.cls is not None)


class SentenceEncoder(PooledEncoder, MnmtEncoder):
    """Encoder layers of our own, and the pooling."""


class PretrainedSentenceEncoder(PooledEncoder, TransformersTokens):
    """An encoder of `transformers`, and the pooling. It reads `<s> A </s>`, as it was trained."""

    reads_cls = True


def parse_layer(text: str, layers: int) -> int | None:
    """The layer whose states are pooled, 0 for the embeddings; None for a mixture or the average of all.

    Raises:
        InputError: no such layer.
    """
    text = str(text)
    if text in (MIXTURE, AVERAGE):
        return None
    if text == TOP:
        return layers
    if not (text.isdecimal() and text.isascii() and int(text) <= layers):
        raise InputError(
            f"--pooling-layer {text}: expected {TOP}, {MIXTURE}, {AVERAGE} or a number from 0 to {layers}"
        )
    return int(text)


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
        _check_options(args)
        model = super().build_model(args, task)
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
        """Also takes a translation model's checkpoint, if there is no decoder here: its encoder is where the
        training starts; and that of a sentence encoder without the linear map that is added here (3.2.2).
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
        return super().load_state_dict(state_dict, strict, model_cfg, args)

    def max_positions(self) -> tuple[int, int]:
        longest = self.encoder.max_positions()
        return (longest, longest if self.decoder is None else self.decoder.max_positions())


def _check_options(args) -> None:
    if args.target_embedding_layers:
        raise InputError(
            f"--target-embedding-layers {args.target_embedding_layers}: the vector of a"
            " sentence has no target language; expected 0, or a model that translates"
        )
    for name in ("sentence_width", "pooler_width"):
        width = getattr(args, name)
        if width is not None and width < 1:
            raise InputError(f"--{name.replace('_', '-')} {width}: expected a number above 0")
    layer = parse_layer(args.pooling_layer, args.encoder_layers)
    if layer != args.encoder_layers and getattr(args, "encoder_layerdrop", 0):
        raise InputError(
            f"--encoder-layerdrop {args.encoder_layerdrop}: --pooling-layer {args.pooling_layer} needs the "
            "states of every layer"
        )


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
