"""What is in the file of a sentencepiece model: pieces with scores, and how text is normalized."""

from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from data_prep.model_folders.libraries import make_sentencepiece_readable

UNIGRAM, BPE = "unigram", "bpe"
_KINDS = {1: UNIGRAM, 2: BPE}  # of TrainerSpec.ModelType
_NORMAL, _UNKNOWN, _CONTROL, _UNUSED = 1, 2, 3, 5  # of SentencePiece.Type


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

    make_sentencepiece_readable()
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

    model = ModelProto()
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
