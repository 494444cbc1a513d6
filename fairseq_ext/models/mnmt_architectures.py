"""Named architectures of `mnmt_transformer`: what differs from their parent."""

from fairseq.models import register_model_architecture

from fairseq_ext.models.mnmt_transformer import mnmt_base_architecture, with_defaults


@register_model_architecture("mnmt_transformer", "mnmt_transformer_big")
def mnmt_big_architecture(args):
    """Transformer-big, width 1024 (thesis 8.2.1: Europarl)."""
    with_defaults(args, encoder_embed_dim=1024, encoder_ffn_embed_dim=4096, encoder_attention_heads=16)
    with_defaults(args, decoder_embed_dim=1024, decoder_ffn_embed_dim=4096, decoder_attention_heads=16)
    mnmt_base_architecture(args)


@register_model_architecture("mnmt_transformer", "mnmt_transformer_mbart")
def mnmt_mbart_architecture(args):
    """mBART-25, 12+12 layers of width 1024 (thesis 5.2.3): fairseq's `mbart_large` from the same weights."""
    with_defaults(args, norm_placement="pre", layernorm_embedding=True, activation_fn="gelu")
    with_defaults(args, encoder_layers=12, encoder_learned_pos=True)
    with_defaults(args, decoder_layers=12, decoder_learned_pos=True)
    mnmt_big_architecture(args)


@register_model_architecture("mnmt_transformer", "mnmt_transformer_tiny")
def mnmt_tiny_architecture(args):
    """Small enough for two CPU cores: 6+6 layers, as in the papers' analyses, of width 128."""
    with_defaults(args, encoder_embed_dim=128, encoder_ffn_embed_dim=512, encoder_attention_heads=4)
    with_defaults(args, decoder_embed_dim=128, decoder_ffn_embed_dim=512, decoder_attention_heads=4)
    mnmt_base_architecture(args)


@register_model_architecture("mnmt_transformer", "mnmt_transformer_optimized_50k")
def mnmt_optimized_50k_architecture(args):
    """Optimized Transformer of Table B.1 for 50,000 to 94,000 pairs (thesis B.2, after Araabi and Monz)."""
    for side in ("encoder", "decoder"):
        defaults = {"layers": 2, "attention_heads": 2, "embed_dim": 512, "ffn_embed_dim": 2048}
        with_defaults(args, **{f"{side}_{name}": value for name, value in defaults.items()})
    with_defaults(args, dropout=0.3)
    mnmt_base_architecture(args)


@register_model_architecture("mnmt_transformer", "mnmt_transformer_optimized_10k")
def mnmt_optimized_10k_architecture(args):
    """Table B.1 for 10,000 and 20,000 pairs."""
    with_defaults(args, encoder_ffn_embed_dim=1024, decoder_ffn_embed_dim=1024)
    mnmt_optimized_50k_architecture(args)


@register_model_architecture("mnmt_transformer", "mnmt_transformer_optimized_3k")
def mnmt_optimized_3k_architecture(args):
    """Table B.1 for 3,000 pairs."""
    with_defaults(args, encoder_ffn_embed_dim=512, decoder_ffn_embed_dim=512)
    mnmt_optimized_50k_architecture(args)
