"""What is in the file of a sentencepiece model: pieces with scores, and how text is normalized.

The library's own classes for that need a newer protobuf than COMET allows; the few fields that are read here
are declared as sentencepiece_model.proto has them.
"""

from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError

UNIGRAM, BPE = "unigram", "bpe"
_KINDS = {1: UNIGRAM, 2: BPE}  # of TrainerSpec.ModelType
_NORMAL, _UNKNOWN, _CONTROL, _UNUSED = 1, 2, 3, 5  # of SentencePiece.Type
_NUMBER, _BOOL, _FLOAT, _TEXT, _BYTES, _MESSAGE = 5, 8, 2, 9, 12, 11  # of FieldDescriptorProto.Type
_FIELDS = {  # message -> field: (number, type, repeated or of which message, default)
    "SentencePiece": {"piece": (1, _TEXT), "score": (2, _FLOAT), "type": (3, _NUMBER)},
    "TrainerSpec": {"model_type": (3, _NUMBER)},
    "NormalizerSpec": {
        "precompiled_charsmap": (2, _BYTES),
        "add_dummy_prefix": (3, _BOOL),
        "remove_extra_whitespaces": (4, _BOOL),
        "escape_whitespaces": (5, _BOOL),
    },
    "ModelProto": {"pieces": (1, _MESSAGE), "trainer_spec": (2, _MESSAGE), "normalizer_spec": (3, _MESSAGE)},
}
_MESSAGES = {"pieces": "SentencePiece", "trainer_spec": "TrainerSpec", "normalizer_spec": "NormalizerSpec"}
_DEFAULTS = {"type": "1", "model_type": "1", **dict.fromkeys(list(_FIELDS["NormalizerSpec"])[1:], "true")}


@dataclass(frozen=True)
class PieceModel:
    """A sentencepiece model.

    Attributes:
        kind: UNIGRAM or BPE.
        pieces: those that text can be split into, with scores, in the model's order.
        character_map: of the normalization, as the library compiled it; empty for none.
        with_prefix: text begins with a space.
        single_spaces: spaces at the ends are removed, and several in a row are one.
    """

    kind: str
    pieces: dict[str, float]
    character_map: bytes
    with_prefix: bool
    single_spaces: bool


def read_sentencepiece_model(path: Path) -> PieceModel:
    """The model in a file.

    Raises:
        InputError: no sentencepiece model, or one of words, characters, bytes or symbols of the user's.
    """
    from google.protobuf.message import DecodeError

    model = _message_class()()
    try:
        model.ParseFromString(Path(path).read_bytes())
    except DecodeError as error:
        raise InputError(f"{path}: not a sentencepiece model: {error}") from None
    kind = _KINDS.get(model.trainer_spec.model_type)
    others = {piece.type for piece in model.pieces} - {_NORMAL, _UNKNOWN, _CONTROL, _UNUSED}
    if kind is None or others or not model.normalizer_spec.escape_whitespaces:
        raise InputError(
            f"{path}: a sentencepiece model of words, characters, bytes or own symbols; expected one of"
            " unigrams or byte pairs, as data_prep subword makes it"
        )
    return PieceModel(
        kind=kind,
        pieces={entry.piece: entry.score for entry in model.pieces if entry.type == _NORMAL},
        character_map=model.normalizer_spec.precompiled_charsmap,
        with_prefix=model.normalizer_spec.add_dummy_prefix,
        single_spaces=model.normalizer_spec.remove_extra_whitespaces,
    )


def _message_class():
    """The class of ModelProto."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    package = "fairseq_ext.sentencepiece"
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            field = described.field.add(name=name, number=number, type=kind, label=1)
            if name in _DEFAULTS:
                field.default_value = _DEFAULTS[name]
            if name in _MESSAGES:
                field.type_name = f".{package}.{_MESSAGES[name]}"
            if name == "pieces":
                field.label = field.LABEL_REPEATED
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.ModelProto"))
