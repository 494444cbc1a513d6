"""The texts of a test set of retrieval and their vectors: of queries, and of candidates."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data_prep.formats.vectors import VectorsFile
from embeddings.distractors import Distractors
from embeddings.encoders.sentence_encoder import SentenceEncoder, TokenEncoder, TokenVectors
from embeddings.encoders.stored import StoredVectors
from embeddings.retrieval_options import Retrieval
from embeddings.search.blocks import in_memory
from embeddings.search.texts import LazyLines, rows_of

KEPT_STATES = 1 << 30  # bytes


def stored_candidates(job: Retrieval, encoder: SentenceEncoder) -> StoredVectors | None:
    """The vectors of --candidate-vectors.

    Raises:
        InputError: they are of another encoder.
    """
    if job.candidate_vectors is None:
        return None
    stored = StoredVectors.of_folder(job.candidate_vectors, "--candidate-vectors")
    stored.check_encoder(encoder)
    return stored


def among(system: dict, stored: StoredVectors) -> dict:
    """The system that looks for its queries among vectors as they are stored."""
    return {**system, "name": f"{system['name']}, {stored.dtype} candidates"}


class Sides:
    """The texts of a test set and their vectors; a file that is in many pairs is encoded once.

    Args:
        stored: of candidates; None for the same encoder.
    """

    def __init__(self, encoder: SentenceEncoder, distractors: Distractors, stored: StoredVectors | None):
        self.encoder, self.candidate_encoder, self.distractors = encoder, stored or encoder, distractors
        self._known: dict[tuple, np.ndarray | VectorsFile] = {}
        self._tokens: dict[Path, TokenVectors] = {}
        self._further = distractors.language and self.candidate_encoder.encode(
            distractors.sentences, distractors.language
        )

    @property
    def are_each_others_candidates(self) -> bool:
        """Whether those of a pair are found among each other's vectors as they are."""
        return self.candidate_encoder is self.encoder and self.distractors.language is None

    def vectors(
        self, path: Path, lines: Sequence[str], language: str, encoder: SentenceEncoder | None = None
    ) -> np.ndarray | VectorsFile:
        """n x C.

        Args:
            encoder: None for that of queries.
        """
        encoder = encoder or self.encoder
        rows = rows_of(lines)
        if _is_part(lines):
            return encoder.encode_lines(path, rows, lines, language)
        key = id(encoder), path
        if key not in self._known:
            self._known[key] = encoder.encode_lines(path, rows, lines, language)
        return self._known[key]

    def tokens(self, path: Path, lines: Sequence[str], language: str) -> TokenVectors:
        """The states of the tokens of a text; of the last few texts they are kept."""
        if _is_part(lines):
            return self.encoder.encode_tokens(lines, language)
        if path not in self._tokens:
            while self._tokens and sum(each.bytes for each in self._tokens.values()) > KEPT_STATES:
                self._tokens.pop(next(iter(self._tokens)))
            self._tokens[path] = self._encoded_tokens(path, lines, language)
        return self._tokens[path]

    def _encoded_tokens(self, path: Path, lines: Sequence[str], language: str) -> TokenVectors:
        """The token states of a whole text, with its vectors, unless they are known or stored."""
        key = id(self.encoder), path
        if key in self._known or not isinstance(self.encoder, TokenEncoder):
            return self.encoder.encode_tokens(lines, language)
        self._known[key], tokens = self.encoder.encode_with_tokens(lines, language)
        return tokens

    def candidates(self, path: Path, lines: Sequence[str], language: str):
        """The sentences that can be found and their vectors: those of the file, and distractors."""
        vectors = self.vectors(path, lines, language, self.candidate_encoder)
        if not self.distractors.of(language).sentences:
            return vectors, lines
        return np.concatenate([in_memory(vectors), self._further]), [*lines, *self.distractors.sentences]


def _is_part(lines: Sequence[str]) -> bool:
    """Whether they are some of a file's lines, others in every pair."""
    return isinstance(lines, LazyLines) and not lines.is_whole
