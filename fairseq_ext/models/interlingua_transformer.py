"""Model `interlingua_transformer`: `mnmt_transformer` with a neural interlingua between encoder and decoder
(thesis chapter 7), the *bridge* axis.

The decoder sees the interlingua in place of the encoder's states. Languages and lengths are read from the
token ids (`fairseq_ext.modules.tag_reader`), so fairseq's own commands work as they are.
"""

import logging

from fairseq.models import register_model, register_model_architecture

from command_line.errors import InputError
from fairseq_ext.models import mnmt_architectures
from fairseq_ext.models.interlingua_encoder import InterlinguaEncoder
from fairseq_ext.models.interlingua_options import (
    UNIVERSAL,
    VARIABLE,
    InterlinguaTransformerConfig,
    centric_language,
    check_options,
)
from fairseq_ext.models.mnmt_transformer import (
    MnmtTransformerConfig,
    MnmtTransformerModel,
    mnmt_base_architecture,
    set_own_defaults,
    with_defaults,
)
from fairseq_ext.modules.checkpointed_layers import checkpointed
from fairseq_ext.modules.interlingua import Interlingua, InterlinguaLayer, LengthPredictor, Queries
from fairseq_ext.modules.interlingua_lengths import CentricLength, FixedLength
from fairseq_ext.modules.residual_block import layer_norm
from fairseq_ext.modules.tag_reader import TagReader

logger = logging.getLogger(__name__)


@register_model("interlingua_transformer")
class InterlinguaTransformerModel(MnmtTransformerModel):
    """Encoder, interlingua, decoder; see `InterlinguaTransformerConfig`.

    Train it with `--criterion weighted_losses --losses
    translation,interlingua_alignment,length_prediction` (equation 7.5).
    """

    Config = InterlinguaTransformerConfig

    @classmethod
    def build_model(cls, args, task):
        interlingua_base_architecture(args)
        model = super().build_model(args, task)
        add_interlingua(model.encoder, model.cfg, task)
        if model.encoder.centric is not None:  # into the checkpoint: other --lang-pairs do not change it
            args.centric_language = task.tags.languages[model.encoder.centric]
        return model

    @property
    def required_losses(self) -> tuple[str, ...]:
        """Auxiliary losses without which a part would never be trained (and stop distributed training)."""
        return ("length_prediction",) if self.encoder.centric is not None else ()

    @classmethod
    def build_encoder(cls, cfg, src_dict, embed_tokens):
        return InterlinguaEncoder(cfg, src_dict, embed_tokens)

    def forward(
        self, src_tokens, src_lengths, prev_output_tokens, return_all_hiddens=True, **decoder_options
    ):
        """As fairseq's; the encoder is given the centric side's length (thesis 7.2.1, teacher forcing)."""
        encoder_out = self.encoder(
            src_tokens,
            src_lengths,
            return_all_hiddens,
            gold_lengths=self.encoder.gold_lengths(src_tokens, prev_output_tokens),
        )
        return self.decoder(
            prev_output_tokens,
            encoder_out=encoder_out,
            src_lengths=src_lengths,
            return_all_hiddens=return_all_hiddens,
            **decoder_options,
        )

    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """Also takes a checkpoint without interlingua (of `mnmt_transformer`, or fairseq's `transformer`):
        embeddings, the first encoder layers and the decoder are initialized from it.
        """
        if not any(name.startswith(f"encoder.{part}.") for name in state_dict for part in OWN_PARTS):
            state_dict = self._shared_with(state_dict)
        self._check_length(state_dict)
        return super().load_state_dict(state_dict, strict, model_cfg, args)

    def _check_length(self, state_dict: dict) -> None:
        predictor, queries = "encoder.lengths.predictor.linear.bias", "encoder.interlingua.queries.weight"
        own = self.state_dict()
        if not {predictor, queries} <= own.keys() & state_dict.keys():
            return
        ours, theirs = (weights[queries].size(1) for weights in (own, state_dict))  # languages x K x C
        if ours != theirs:
            raise InputError(
                f"--interlingua-max-length {ours}: the checkpoint's interlingua has at most {theirs} queries;"
                f" give --interlingua-max-length {theirs}"
            )
        if own[predictor].shape != state_dict[predictor].shape:
            raise InputError(
                "--length-predictor-regression: the checkpoint predicts lengths in the other way; give the"
                " option or leave it out, as its training did"
            )

    def _shared_with(self, state_dict: dict) -> dict:
        own = self.state_dict()
        left_out = [name for name in state_dict if name.startswith("encoder.layers.") and name not in own]
        added = [name for name in own if name.split(".")[:2] in [["encoder", part] for part in OWN_PARTS]]
        logger.warning(
            f"the checkpoint has no interlingua: its {len(added)} tensors begin untrained, and "
            f"{len(left_out)} tensors of further encoder layers are left out"
        )
        shared = {name: tensor for name, tensor in state_dict.items() if name not in left_out}
        return shared | {name: own[name] for name in added}


OWN_PARTS = ("interlingua", "lengths")  # of the encoder, with parameters


def add_interlingua(encoder: InterlinguaEncoder, cfg, task) -> None:
    """Put the interlingua on top of an encoder.

    Raises:
        InputError: options that contradict each other, or that the task's tags or directions do not allow.
    """
    width, vocabulary = cfg.encoder.embed_dim, len(encoder.dictionary)
    kind = str(cfg.interlingua)
    check_options(cfg, task)
    encoder.tags = TagReader(task.tags, vocabulary, encoder.padding_idx)
    if kind == VARIABLE:
        longest = cfg.interlingua_max_length  # K
        languages = task.tags.languages
        encoder.centric = languages.index(centric_language(cfg.centric_language, languages, task.supervised))
        predictor = LengthPredictor(
            width, longest, cfg.length_predictor_source_length, cfg.length_predictor_regression
        )
        encoder.lengths = CentricLength(predictor, longest, cfg.interlingua_length_jitter)
    else:
        longest, encoder.centric = cfg.interlingua_length, None
        encoder.lengths = FixedLength(longest)
    matrices = 1 if kind == UNIVERSAL else len(task.tags.languages)
    norm = None if encoder.layer_norm is None else layer_norm(width, cfg.norm_affine)
    layers = [
        checkpointed(InterlinguaLayer(cfg, _hidden_width(cfg), is_first=number == 0), cfg)
        for number in range(cfg.interlingua_layers)
    ]
    encoder.interlingua = Interlingua(Queries(matrices, longest, width), layers, norm, cfg.dropout)


def _hidden_width(cfg) -> int:
    """The width of the feed-forward networks of an interlingua layer."""
    if cfg.interlingua_full_ffn:
        return cfg.encoder.ffn_embed_dim
    return cfg.interlingua_ffn_embed_dim or cfg.encoder.ffn_embed_dim // 2


# --- named architectures: what differs from `mnmt_transformer`'s


@register_model_architecture("interlingua_transformer", "interlingua_transformer")
def interlingua_base_architecture(args):
    """3 encoder, 3 interlingua and 6 decoder layers of width 512 (thesis 7.3.3: OPUS and IWSLT)."""
    with_defaults(args, encoder_layers=3)
    set_own_defaults(args, InterlinguaTransformerConfig, MnmtTransformerConfig)
    mnmt_base_architecture(args)


@register_model_architecture("interlingua_transformer", "interlingua_transformer_big")
def interlingua_big_architecture(args):
    """Width 1024 (thesis 7.3.2: Europarl)."""
    with_defaults(args, encoder_layers=3)
    mnmt_architectures.mnmt_big_architecture(args)
    interlingua_base_architecture(args)


@register_model_architecture("interlingua_transformer", "interlingua_transformer_tiny")
def interlingua_tiny_architecture(args):
    """Small enough for two CPU cores: width 128."""
    with_defaults(args, encoder_layers=3)
    mnmt_architectures.mnmt_tiny_architecture(args)
    interlingua_base_architecture(args)
