"""The sentence encoder axis: how a model makes one vector of a sentence."""

from dataclasses import fields

from fairseq_ext.axes.axis import Axis, Record, Training, is_sentence_encoder
from fairseq_ext.axes.options import default_of, option, shown, unusual
from fairseq_ext.models.mnmt_transformer import MnmtTransformerConfig
from fairseq_ext.models.pretrained_configuration import kind_of_config
from fairseq_ext.models.sentence_encoder_options import SentenceEncoderConfig
from fairseq_ext.modules.pooling import POOLINGS

_OPTIONS = {
    field.name: default_of(field)
    for field in fields(SentenceEncoderConfig)
    if field.name not in MnmtTransformerConfig.__dataclass_fields__
}
_USUAL = "mean"
_TOKEN_ENCODER = ("pretrained_encoder", "token_encoder", "token_encoder_checksum")


def _read(training: Training) -> dict:
    pooling = option(training.model, "pooling")
    if not pooling:
        return {}
    others = {name: usual for name, usual in _OPTIONS.items() if name not in ("pooling", *_TOKEN_ENCODER)}
    fields = {"pooling": str(pooling), "pooling_options": unusual(training.model, others)}
    if config := option(training.model, "token_encoder"):
        fields["token_encoder"] = kind_of_config(config)
    return fields


def _label(record: Record) -> str:
    """CLS pooling, mean pooling (layer 2, sentence width 256), xlm-roberta, …; empty for the mean of the top
    layer of our own encoder.
    """
    if not is_sentence_encoder(record):
        return ""
    kind, options = record["pooling"], record.get("pooling_options") or {}
    encoder = record.get("token_encoder") or ""
    if kind == _USUAL and not options:
        return encoder
    label = POOLINGS[kind].label if kind in POOLINGS else kind
    return f"{encoder}{', ' if encoder else ''}{label} pooling{shown(options, 'pooling_')}"


SENTENCE_ENCODER = Axis(
    "sentence encoder",
    {
        "pooling": str | None,
        "pooling_options": dict | None,
        "token_encoder": str | None,
    },
    read=_read,
    label=_label,
    options=tuple(_OPTIONS),
)
