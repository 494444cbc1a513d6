"""What a masked language model reads: batches of tokens, of which some are masked.

Which examples a batch has and which of their tokens are masked is a function of its number and the seed
alone, so that a training that was killed goes on with the batches that it would have had.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import read_lines
from embeddings.encoders.huggingface import token_ids
from embeddings.pretraining.options import BLOCKS
from embeddings.pretraining.vocabulary import sampling_shares, windows_of

POOL = 64  # batches that are drawn at once, so that sentences of one length come together
UNCHANGED, RANDOM = 0.1, 0.1  # of the masked tokens (Devlin et al. 2019, 3.1)


@dataclass(frozen=True)
class Examples:
    """Token ids of many examples.

    Attributes:
        tokens: of all of them, one after the other.
        starts: where each begins, and where the last one ends.
    """

    tokens: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, examples: Iterator[Sequence[int]]) -> "Examples":
        tokens, starts = array("i"), array("q", [0])  # not a list of arrays, each a hundred bytes larger
        for ids in examples:
            tokens.extend(ids)
            starts.append(len(tokens))
        return cls(np.asarray(tokens, dtype=np.int32), np.asarray(starts, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> np.ndarray:
        return self.tokens[self.starts[number] : self.starts[number + 1]]


def read_examples(path: Path, tokenizer, kind: str, longest: int, most: int | None = None) -> Examples:
    """The examples of a text.

    Args:
        kind: SENTENCES, each an example; BLOCKS, as many as fit into `longest` tokens.
        most: lines that are read; None for all.

    Raises:
        InputError: there is no line with words.
    """
    lines = islice(read_lines(path), most)
    special = set(tokenizer.all_special_ids)
    sentences = (
        ids
        for window in windows_of(lines)
        for ids in token_ids(tokenizer, window, longest)
        if not special.issuperset(ids)
    )
    examples = Examples.of(blocks(sentences, longest) if kind == BLOCKS else sentences)
    if not len(examples):
        raise InputError(f"{path}: has no words, expected a sentence per line")
    return examples


def blocks(sentences: Iterator[list[int]], longest: int) -> Iterator[list[int]]:
    """Whole sentences, `<s> A </s> B </s>`, as many as fit into `longest` tokens."""
    block: list[int] = []
    for sentence in sentences:
        if block and len(block) + len(sentence) - 1 > longest:
            yield block
            block = []
        block = block + sentence[1:] if block else sentence
    if block:
        yield block


class Batches:
    """The batches of a training.

    In every pool of POOL batches the languages have their shares exactly; an example comes again when all
    of its language have come. Batches of a pool hold examples of similar lengths, and equally many tokens.

    Args:
        temperature: a language's share is proportional to its tokens^(1 / temperature).
        tokens: of a batch on average.

    Raises:
        InputError: a batch has no room for several examples.
    """

    def __init__(
        self, languages: Sequence[Examples], temperature: float, tokens: int, number: int, seed: int
    ):
        self.languages, self.number, self.seed = languages, number, seed
        shares = sampling_shares([len(each.tokens) for each in languages], temperature)
        lengths = np.array([len(each.tokens) / len(each) for each in languages])
        self.draws = shares * POOL * tokens / lengths  # examples of each language in a pool
        if self.draws.sum() - len(languages) < POOL:
            raise InputError(
                f"--batch-tokens {tokens}: expected room for several examples, which have"
                f" {lengths.mean():.0f} tokens on average"
            )
        self._pool: tuple[int, list[list[np.ndarray]]] = (-1, [])
        self._orders: dict[int, tuple[int, np.ndarray]] = {}  # language -> pass over its text, and its order

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, number: int) -> tuple[int, list[np.ndarray]]:
        """The number of a batch, and its examples."""
        pool = number // POOL
        if self._pool[0] != pool:
            self._pool = pool, self._make(pool)
        return number, self._pool[1][number % POOL]

    def _make(self, pool: int) -> list[list[np.ndarray]]:
        drawn = [
            examples[row]
            for language, examples in enumerate(self.languages)
            for row in self._drawn(language, len(examples), pool)
        ]
        random = np.random.default_rng([self.seed, 1, pool])
        random.shuffle(drawn)
        drawn.sort(key=len)
        ends = np.cumsum([len(sentence) for sentence in drawn])
        cuts = np.searchsorted(ends, np.linspace(0, ends[-1], POOL + 1)[1:-1])
        inner = np.arange(1, POOL)  # none is without examples
        cuts = cuts.clip(inner, len(drawn) - POOL + inner)
        parts = [drawn[begin:end] for begin, end in pairwise([0, *cuts, len(drawn)])]
        random.shuffle(parts)
        return parts

    def _drawn(self, language: int, size: int, pool: int) -> Iterator[int]:
        """The examples of a language in a pool: its shuffled passes over its text, one behind the other."""
        begin, end = (int(self.draws[language] * place) for place in (pool, pool + 1))
        for place in range(begin, end):
            number, order = self._orders.get(language, (-1, None))
            if place // size != number:
                random = np.random.default_rng([self.seed, 0, language, place // size])
                order = random.permutation(size)
                self._orders[language] = place // size, order
            yield order[place % size]


class Masking:
    """Masks tokens: of those that are chosen 80 % become the symbol for masks, 10 % any other token, and 10 %
    stay.

    Args:
        rate: of the tokens of a batch that are no special symbols, so many are chosen, at least one.
    """

    def __init__(self, tokenizer, rate: float, seed: int):
        special = set(tokenizer.all_special_ids)
        self.ordinary = np.array([token for token in range(len(tokenizer)) if token not in special])
        self.special = np.array(sorted(special))
        self.mask, self.padding = tokenizer.mask_token_id, tokenizer.pad_token_id
        self.rate, self.seed = rate, seed

    def __call__(self, items: list[tuple[int, list[np.ndarray]]]) -> dict:
        """What the model reads of one batch.

        Returns:
            "input_ids" and "attention_mask", B x T; "positions" of the chosen tokens among all B T; "labels",
            what they were.
        """
        import torch

        ((number, examples),) = items
        random = np.random.default_rng([self.seed, 2, number])
        tokens = np.full((len(examples), max(map(len, examples))), self.padding, dtype=np.int64)
        for row, ids in zip(tokens, examples, strict=True):
            row[: len(ids)] = ids
        attended = np.arange(tokens.shape[1]) < np.array([[len(example)] for example in examples])
        read = tokens.reshape(-1)
        candidates = np.flatnonzero(attended.reshape(-1) & ~np.isin(read, self.special))
        count = max(1, round(self.rate * len(candidates)))
        chosen = np.sort(random.choice(candidates, count, replace=False))
        labels, kind = read[chosen], random.random(count)
        read[chosen] = np.where(kind < UNCHANGED, labels, self.mask)
        others = chosen[(kind >= UNCHANGED) & (kind < UNCHANGED + RANDOM)]
        read[others] = random.choice(self.ordinary, len(others))
        return {
            "input_ids": torch.from_numpy(tokens),
            "attention_mask": torch.from_numpy(attended.astype(np.int64)),
            "positions": torch.from_numpy(chosen),
            "labels": torch.from_numpy(labels),
        }
