"""The options of the model `sentence_encoder`: what is pooled, how, and what the encoder is."""

from dataclasses import dataclass
from typing import Optional

from fairseq.dataclass import ChoiceEnum

from command_line.errors import InputError
from command_line.numbers import natural
from fairseq_ext.models.mnmt_transformer import MnmtTransformerConfig
from fairseq_ext.modules.pooling import POOLINGS
from fairseq_ext.options import option

TOP, MIXTURE, AVERAGE = "top", "mix", "average"


@dataclass
class SentenceEncoderConfig(MnmtTransformerConfig):
    pooling: ChoiceEnum(list(POOLINGS)) = option(
        "how states become a sentence's vector: mean (equation 2.1), max or sum over tokens; "
        "cls = state of a token <s> in front of it; pooler = dense layer and tanh on that, as BERT's",
        "mean",
    )
    pooling_layer: str = option(
        f"whose states: {TOP}, the number of an encoder layer (0: embeddings; layers above it "
        f"are not trained), {MIXTURE} = mixture of all with learned softmax weights, or {AVERAGE} of all",
        TOP,
    )
    pooling_without_eos: bool = option(
        "</s> does not count in mean, max and sum, nor in the length ||S|| of 2.1", False
    )
    sentence_width: Optional[int] = option(
        "width of a linear map on top of the pooling (default: none, the encoder's width)"
    )
    pooler_width: Optional[int] = option(
        "width of the dense layer of --pooling pooler (default: the encoder's); with another "
        "pooling, of a linear map below that of --sentence-width (thesis A.1, distillation-first)"
    )
    pretrained_encoder: Optional[str] = option(
        "folder of transformers (XLM-R, LaBSE, …) whose encoder takes the place of ours; data of "
        "its tokenizer: `data_prep subword --tokenizer`. It has its own dropout"
    )
    freeze_encoder: bool = option(
        "train what is above the layers alone: mixture, pooler, linear map and the losses' own; "
        "the layers compute without dropout and gradients (thesis 3.2.2; dual-pivot transfer 3.1). The "
        "pooler of a --pretrained-encoder is fixed, too, if --sentence-width puts a linear map above it",
        False,
    )
    token_encoder: str = option("what --pretrained-encoder is, in checkpoints; set by it", "")
    token_encoder_checksum: str = option("checksum of its tokenizer, in checkpoints; set by it", "")


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
    number = natural(text)
    if number is None or number > layers:
        raise InputError(
            f"--pooling-layer {text}: expected {TOP}, {MIXTURE}, {AVERAGE} or a number from 0 to {layers}"
        )
    return number


def check_options(args) -> None:
    """Refuse widths and layers that there cannot be."""
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
