"""Model `mnmt_transformer`: the Transformer with the residual block axis of thesis chapter 8.

With `--norm-placement post` or `pre` it computes what fairseq's `transformer` computes, from the same
parameters, faster. `--target-embedding-layers` tells the top of the encoder the target language.
"""

import contextlib
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from fairseq.dataclass import ChoiceEnum
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import (
    TransformerConfig,
    TransformerDecoderBase,
    TransformerEncoderBase,
    TransformerModelBase,
    base_architecture,
)
from torch import Tensor, nn

from command_line.errors import InputError
from command_line.numbers import natural
from fairseq_ext.modules.checkpointed_layers import checkpointed
from fairseq_ext.modules.dropout import EmbeddingDropout
from fairseq_ext.modules.language_embeddings import added_to
from fairseq_ext.modules.residual_block import PLACEMENTS, layer_norm, placement_of
from fairseq_ext.modules.tag_reader import TagReader
from fairseq_ext.modules.transformer_layers import DecoderLayer, EncoderLayer
from fairseq_ext.options import option

WITHOUT_ATTENTION_WEIGHTS = -1  # an `alignment_layer` that no layer has
WITH_FINAL_NORM = [name for name, placement in PLACEMENTS.items() if placement.final_norm]


@dataclass
class MnmtTransformerConfig(TransformerConfig):
    norm_placement: ChoiceEnum(list(PLACEMENTS)) = option(
        "layer norm: "
        + ", ".join(f"{name} = {placement.formula}" for name, placement in PLACEMENTS.items())
        + " (thesis 8.1, E.2)",
        "post",
    )
    no_norm_affine: bool = option(
        "layer normalization without gain and bias: LayerNorm-simple (thesis E.3)", False
    )
    no_encoder_final_norm: bool = option(
        f"{', '.join(WITH_FINAL_NORM)}: no norm after the last encoder layer (thesis E.1)", False
    )
    drop_residual_layers: str = option(
        "encoder layers, counted from 1, without residual connection around self-attention; "
        '"4" is "w/o Res." of thesis 8.2.1',
        "",
    )
    target_embedding_layers: int = option(
        "add the embedding of the target's language tag to the input of every one of the top so"
        " many encoder layers: LCS (Sun et al. 2024; theirs of 6 layers: 5, on OPUS-100 2)",
        0,
    )

    @property
    def norm_affine(self) -> bool:
        return not self.no_norm_affine


# Options of fairseq's transformer that change what a layer computes and that no system of the papers has. The
# `scale_` ones are none of `TransformerConfig`: fairseq's layers look for them in checkpoints.
UNSUPPORTED = (
    "quant_noise_pq",
    "quant_noise_scalar",
    "encoder_xformers_att_config",
    "decoder_xformers_att_config",
    "cross_self_attention",
    "base_layers",
    "scale_attn",
    "scale_fc",
    "scale_heads",
    "scale_resids",
)


class MnmtEncoder(TransformerEncoderBase):
    """fairseq's encoder with our layers and final norm.

    Attributes:
        tags: the `TagReader` of a model that reads languages from token ids, or None.
        languages: `LanguageEmbeddings`, where tags are embedded, or None.
    """

    tags: TagReader | None

    def __init__(self, cfg, dictionary, embed_tokens):
        super().__init__(cfg, dictionary, embed_tokens)
        self.tags = self.languages = None
        self.dropout_module = EmbeddingDropout(cfg.dropout, module_name="TransformerEncoder")
        if self.layer_norm is not None:
            norm = layer_norm(cfg.encoder.embed_dim, cfg.norm_affine)
            self.layer_norm = None if cfg.no_encoder_final_norm else norm
        for number in parse_layers(cfg.drop_residual_layers, cfg.encoder.layers):
            self.layers[number - 1].self_attention_residual = False

    def build_encoder_layer(self, cfg):
        return checkpointed(EncoderLayer(cfg), cfg)

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        return_all_hiddens: bool = False,
        token_embeddings: Tensor | None = None,
    ) -> dict:
        """As fairseq's. Layers that are told the target read h + s E[tag], with the scale s that embeddings
        of tokens have; a tag that is only announced counts as padding.
        """
        layers, told = self.cfg.target_embedding_layers, contextlib.nullcontext()
        if layers:
            tags, src_tokens = self.tags.target(src_tokens)
            embeddings = self.embed_scale * self.embed_tokens(tags)  # B x C, the same for all T of T x B x C
            told = added_to_inputs(list(self.layers.children())[-layers:], embeddings)
        if self.languages is not None:
            src_tokens, token_embeddings = self.languages.source(src_tokens, self.embed_tokens)
        with told:
            return super().forward(src_tokens, src_lengths, return_all_hiddens, token_embeddings)


class MnmtDecoder(TransformerDecoderBase):
    """fairseq's decoder with our layers and final norm.

    Attributes:
        languages: `LanguageEmbeddings`, where tags are embedded, or None.
    """

    def __init__(self, cfg, dictionary, embed_tokens, no_encoder_attn=False, output_projection=None):
        super().__init__(cfg, dictionary, embed_tokens, no_encoder_attn, output_projection)
        self.dropout_module = EmbeddingDropout(cfg.dropout, module_name="TransformerDecoder")
        if self.layer_norm is not None:
            self.layer_norm = layer_norm(cfg.decoder.embed_dim, cfg.norm_affine)
        self.languages = None

    def build_decoder_layer(self, cfg, no_encoder_attn=False):
        return checkpointed(DecoderLayer(cfg, no_encoder_attn), cfg)

    def extract_features(
        self,
        prev_output_tokens,
        encoder_out=None,
        incremental_state=None,
        full_context_alignment=False,
        alignment_layer=None,
        alignment_heads=None,
    ):
        """As fairseq's, but attention weights are computed only where somebody can look at them, and those of
        an `alignment_layer` are float32 whatever the states are: their logarithms need it.
        """
        if alignment_layer is None and (self.training or incremental_state is not None):
            alignment_layer = WITHOUT_ATTENTION_WEIGHTS
        looked_at = alignment_layer not in (None, WITHOUT_ATTENTION_WEIGHTS)
        language = contextlib.nullcontext()
        if self.languages is not None:
            prev_output_tokens, tags = self.languages.target(prev_output_tokens)
            language = added_to(self.embed_positions, self._scaled_embedding(tags))
        weights = head_weights(self.layers[alignment_layer]) if looked_at else contextlib.nullcontext()
        with language, weights as seen:
            features, extra = super().extract_features(
                prev_output_tokens,
                encoder_out,
                incremental_state,
                full_context_alignment,
                alignment_layer,
                alignment_heads,
            )
        if seen:
            extra["attn"] = [seen[-1][:alignment_heads].mean(dim=0)]
        return features, extra

    def _scaled_embedding(self, tokens):
        """What the decoder adds to positions."""
        embedded = self.embed_scale * self.embed_tokens(tokens)
        return embedded if self.project_in_dim is None else self.project_in_dim(embedded)


@contextlib.contextmanager
def head_weights(layer: nn.Module) -> Iterator[list[Tensor]]:
    """Inside, what a decoder layer attends to is kept, H x B x T x S, if it is asked for."""
    seen: list[Tensor] = []

    def keep(_, arguments, output) -> None:
        if output[1] is not None:
            seen.append(output[1])

    with layer.register_forward_hook(keep):
        yield seen


@contextlib.contextmanager
def added_to_inputs(layers: Iterable[nn.Module], states: Tensor) -> Iterator[None]:
    """Inside, the layers add this to their first argument."""
    with contextlib.ExitStack() as hooks:
        for layer in layers:
            hooks.enter_context(
                layer.register_forward_pre_hook(lambda _, given: (given[0] + states, *given[1:]))
            )
        yield


def parse_layers(text: str, layers: int) -> list[int]:
    """Layer numbers from a comma-separated list, each in 1..layers.

    Raises:
        InputError: not a number, or no such layer.
    """
    numbers = []
    for entry in filter(None, str(text or "").split(",")):
        number = natural(entry.strip())
        if number is None or not 1 <= number <= layers:
            raise InputError(f"--drop-residual-layers {text}: expected encoder layers between 1 and {layers}")
        numbers.append(number)
    return numbers


@register_model("mnmt_transformer")
class MnmtTransformerModel(TransformerModelBase):
    """Encoder-decoder Transformer; see `MnmtTransformerConfig` for what it adds to fairseq's options."""

    Config = MnmtTransformerConfig  # a model on top of this one adds fields

    @classmethod
    def add_args(cls, parser):
        gen_parser_from_dataclass(parser, cls.Config(), delete_default=True, with_prefix="")

    @classmethod
    def build_model(cls, args, task):
        mnmt_base_architecture(args)  # a checkpoint of fairseq's transformer lacks our options
        _check_options(args)
        cfg = cls.Config.from_namespace(args)
        model = super().build_model(cfg, task)
        if cfg.target_embedding_layers:
            model.encoder.tags = target_reader(model.encoder, task)
        return model

    @classmethod
    def build_encoder(cls, cfg, src_dict, embed_tokens):
        return MnmtEncoder(cfg, src_dict, embed_tokens)

    @classmethod
    def build_decoder(cls, cfg, tgt_dict, embed_tokens):
        return MnmtDecoder(cfg, tgt_dict, embed_tokens, no_encoder_attn=cfg.no_cross_attention)


def _check_options(args: Namespace) -> None:
    """Settle what fairseq's own options say about norms, and refuse what our layers do not compute."""
    chosen = str(args.norm_placement)
    final_norm = PLACEMENTS[chosen].final_norm
    for name in ("encoder_normalize_before", "decoder_normalize_before"):
        if getattr(args, name, False) and not final_norm:
            raise InputError(
                f"--{name.replace('_', '-')} contradicts --norm-placement {chosen}; use --norm-placement"
                f" {WITH_FINAL_NORM[0]}"
            )
        setattr(args, name, final_norm)  # so fairseq ends encoder and decoder with a norm
    if args.no_encoder_final_norm and not final_norm:
        raise InputError(
            f"--no-encoder-final-norm: --norm-placement {chosen} has no final norm; use it with"
            f" {' or '.join(WITH_FINAL_NORM)}"
        )
    parse_layers(args.drop_residual_layers, args.encoder_layers)
    if args.target_embedding_layers and not 0 < args.target_embedding_layers <= args.encoder_layers:
        raise InputError(
            f"--target-embedding-layers {args.target_embedding_layers}: expected a number"
            f" between 0 and {args.encoder_layers}, the layers of the encoder"
        )
    for name in UNSUPPORTED:
        if getattr(args, name, None):
            raise InputError(f"--{name.replace('_', '-')}: mnmt_transformer lacks it; use --arch transformer")


def target_reader(encoder, task) -> TagReader:
    """Reads the tag of the target, which the task puts into every source from here on.

    Raises:
        InputError: the task has no language tags.
    """
    tags = getattr(task, "tags", None)
    if tags is None:
        raise InputError(
            "--target-embedding-layers: the task has no language tags; expected the task multilingual_nmt"
        )
    tags.announce_target()
    return TagReader(tags, len(encoder.dictionary), encoder.padding_idx)


@register_model_architecture("mnmt_transformer", "mnmt_transformer")
def mnmt_base_architecture(args):
    """Transformer-base, 6+6 layers of width 512 with one joint embedding (thesis 8.2.1: OPUS and IWSLT)."""
    args.norm_placement = placement_of(args)
    set_own_defaults(args, MnmtTransformerConfig, TransformerConfig)
    if not hasattr(args, "share_all_embeddings"):
        args.share_all_embeddings = True
    base_architecture(args)


def set_own_defaults(args, config: type, parent: type) -> None:
    """Defaults of the options that a configuration adds to its parent's."""
    for field in fields(config):
        if field.name not in parent.__dataclass_fields__ and getattr(args, field.name, None) is None:
            setattr(args, field.name, field.default)


def with_defaults(args, **defaults) -> None:
    for name, value in defaults.items():
        if not hasattr(args, name):
            setattr(args, name, value)
