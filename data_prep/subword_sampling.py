"""Other segmentations of a segmented sentence, drawn at random: BPE dropout (Provilkov et al. 2020) and
subword regularization (Kudo 2018), by subword-nmt and sentencepiece.

A sentence is given as the units that it has without dropout, which is what a binarized folder holds, and
comes back as units of the same text: they spell their words, which are joined and split anew. A word
stays as it is

* if one of its units is `<unk>`, whose text is lost;
* if its units are not what the model makes of the joined word (a symbol that text may not contain);
* if a unit of the draw is in no dictionary.

So that the text of a sentence never changes, nor is a word lost that was known.
"""

import codecs
import io
import random
import threading
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

from command_line.errors import InputError
from data_prep.subword_models import CACHED_WORDS, SEPARATOR, SPECIAL_SYMBOLS, WORD_BEGINNING, text_of_pairs

UNKNOWN = SPECIAL_SYMBOLS[-1]
RANDOM = random.Random()  # what subword-nmt draws from, in place of the module: it has no argument for it


class BytePairDropout:
    """BPE dropout: every merge of every word is left out with a probability, by subword-nmt.

    Units that the dictionary lacks, for no word of the training text ended with them, are split further, as
    subword-nmt does with a vocabulary.

    Args:
        dropout: p of Provilkov et al. 2020.
    """

    def __init__(self, path, dropout: float, vocabulary: Container[str]):
        from subword_nmt import apply_bpe

        with codecs.open(str(path), encoding="utf-8") as codes:
            text = codes.read()
        # the library keeps what it has drawn for a word, so what is drawn and what is not need a model each
        self._plain, self._drawn = (
            apply_bpe.BPE(io.StringIO(text), separator=SEPARATOR, vocab=vocabulary) for _ in range(2)
        )
        self.dropout, self.vocabulary = dropout, vocabulary
        apply_bpe.random = RANDOM

    def draw(self, units: Sequence[str], seed: int) -> list[str]:
        """Units of the same text; the same for the same seed.

        Args:
            units: of the sentence without dropout.
        """
        RANDOM.seed(seed)
        for model in (self._plain, self._drawn):
            if len(model.cache) > CACHED_WORDS:
                model.cache.clear()
        return [unit for word in words_of_pairs(units) for unit in self._word(word)]

    def _word(self, units: list[str]) -> list[str]:
        text = text_of_pairs(units)
        if UNKNOWN in units or self._plain.segment_tokens([text]) != units:
            return units
        drawn = self._drawn.segment_tokens([text], self.dropout)
        return drawn if all(unit in self.vocabulary for unit in drawn) else units


def words_of_pairs(units: Sequence[str]) -> Iterator[list[str]]:
    """Units of every word of byte pair encoding."""
    word: list[str] = []
    for unit in units:
        word.append(unit)
        if not unit.endswith(SEPARATOR):
            yield word
            word = []
    if word:
        yield word


class SentencePieceSampling:
    """Segmentations drawn by a sentencepiece model: of a unigram model with p ~ P(segmentation)^alpha among
    the best n or all, of a BPE model with dropout.

    Args:
        alpha: smoothing of Kudo 2018, or the dropout of a BPE model.
        nbest: how many are drawn from; -1: all. A BPE model knows nothing of it.
    """

    def __init__(self, path, alpha: float, nbest: int, vocabulary: Container[str]):
        import sentencepiece

        self._model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        self._set_seed = sentencepiece.set_random_generator_seed
        self.alpha, self.nbest, self.vocabulary = alpha, nbest, vocabulary

    @property
    def is_unigram(self) -> bool:
        try:
            self._model.nbest_encode("a", nbest_size=2)
        except RuntimeError:
            return False
        return True

    def draw(self, units: Sequence[str], seed: int) -> list[str]:
        """As `BytePairDropout.draw`; the whole sentence stays as it is where its text is lost."""
        text = "".join(units).replace(WORD_BEGINNING, " ").strip()
        if self._model.encode(text, out_type=str) != list(units):
            return list(units)
        words, stored = words_of_pieces(self._sampled(text, seed)), words_of_pieces(units)
        if len(words) != len(stored):  # a model whose pieces go beyond a word
            return list(units)
        chosen = (
            word if all(unit in self.vocabulary for unit in word) else usual
            for word, usual in zip(words, stored, strict=True)
        )
        return [unit for word in chosen for unit in word]

    def _sampled(self, text: str, seed: int) -> list[str]:
        """The library seeds its generator once per thread, so that a draw has a thread of its own."""
        self._set_seed(seed % 2**32)
        sampled: list[str] = []

        def sample() -> None:
            sampled.extend(
                self._model.encode(
                    text, out_type=str, enable_sampling=True, alpha=self.alpha, nbest_size=self.nbest
                )
            )

        thread = threading.Thread(target=sample)
        thread.start()
        thread.join()
        return sampled


def words_of_pieces(units: Sequence[str]) -> list[list[str]]:
    """Pieces of every word; a word begins where its mark does."""
    words: list[list[str]] = []
    for unit in units:
        if unit.startswith(WORD_BEGINNING) or not words:
            words.append([])
        words[-1].append(unit)
    return words


def make_sampler(preparation, vocabulary: Container[str], dropout: float, alpha: float, nbest: int):
    """What draws segmentations by the subword model of a binarized folder.

    Args:
        dropout: of BPE, or 0.
        alpha, nbest: of a unigram model; alpha 0 if there is to be dropout.
    """
    kind, file = preparation.subword["type"], preparation.subword["model"]
    path = file and Path(preparation.folder) / file
    option, expected = ("--subword-dropout", "BPE") if dropout else ("--subword-alpha", "a unigram model")
    if kind == "subword-nmt" and dropout:
        return BytePairDropout(path, dropout, vocabulary)
    if kind == "sentencepiece":
        sampler = SentencePieceSampling(path, dropout or alpha, -1 if dropout else nbest, vocabulary)
        if sampler.is_unigram != bool(dropout):
            return sampler
        kind = "sentencepiece, unigram" if sampler.is_unigram else "sentencepiece, BPE"
    raise InputError(f"{option}: subwords of {preparation.folder} are of type {kind}, expected {expected}")
