"""Tables of embeddings from one dictionary to another: the rows of symbols that both have are carried over,
and those that are new begin as `--new-rows` says.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from command_line.errors import InputError
from data_prep.formats.dictionary import DUMMY
from data_prep.subword_models import SPECIAL_SYMBOLS

logger = logging.getLogger(__name__)
RANDOM, MEAN = "random", "mean"
OPTION = "--new-rows"
EXPECTED = f"{RANDOM}, {MEAN} or a symbol of the checkpoint's dictionary after '=', and then SYMBOL=SYMBOL"


@dataclass(frozen=True)
class NewRows:
    """How the row of a symbol begins that the checkpoint's dictionary does not have.

    Attributes:
        usual: `RANDOM` (as the model was initialized), `MEAN` of the checkpoint's rows of symbols that are
            neither special nor dummies, or "=SYMBOL", a copy of that row.
        named: symbol -> the symbol of the checkpoint whose row is copied for it.
    """

    usual: str
    named: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> "NewRows":
        """The rows that a text names, for example "mean,__af__=__nl__".

        Raises:
            InputError: it is something else.
        """
        usual, *others = str(text).split(",")
        pairs = [entry.rpartition("=") for entry in others]
        if usual not in (RANDOM, MEAN) and not (usual.startswith("=") and usual[1:]):
            raise InputError(f"{OPTION} {text}: found {usual!r}, expected {EXPECTED}")
        for entry, (symbol, _, origin) in zip(others, pairs, strict=True):
            if not symbol or not origin:
                raise InputError(f"{OPTION} {text}: found {entry!r}, expected {EXPECTED}")
        return cls(usual, {symbol: origin for symbol, _, origin in pairs})

    @property
    def is_unusual(self) -> bool:
        return self.usual != RANDOM or bool(self.named)

    def check(self, theirs: dict[str, int], new: Sequence[str]) -> None:
        """Refuse a copy of a row that there is not, or for a symbol that has one already.

        Args:
            new: symbols that it does not have.

        Raises:
            InputError: it names such a symbol.
        """
        origins = [*self.named.values(), *([self.usual[1:]] if self.usual.startswith("=") else [])]
        for origin in origins:
            if origin not in theirs:
                raise InputError(f"{OPTION}: {origin!r} is no symbol of the checkpoint's dictionary")
        for symbol in self.named:
            if symbol not in new:
                reason = "the checkpoint's dictionary has it" if symbol in theirs else "dict.*.txt lacks it"
                raise InputError(f"{OPTION} {symbol}={self.named[symbol]}: {symbol!r} is not new, {reason}")


@dataclass(frozen=True)
class RowPlan:
    """Which row of a table comes from where.

    Attributes:
        ours, theirs: rows of symbols that both dictionaries have.
        copied: row of a new symbol -> the checkpoint's row that it copies.
        averaged: rows of new symbols that begin with the mean of `words`.
        words: the checkpoint's rows of symbols that are neither special nor dummies.
        new: symbols that the checkpoint does not have.
    """

    ours: list[int]
    theirs: list[int]
    copied: dict[int, int]
    averaged: list[int]
    words: list[int]
    new: list[str]

    @classmethod
    def of(cls, ours: Sequence[str], theirs: Sequence[str], how: NewRows) -> "RowPlan":
        """The plan from the symbols of both dictionaries, tags included, in the order of their rows.

        Raises:
            InputError: as `NewRows.check`.
        """
        places = {symbol: row for row, symbol in enumerate(theirs)}
        both = [(row, places[symbol]) for row, symbol in enumerate(ours) if symbol in places]
        new = {symbol: row for row, symbol in enumerate(ours) if symbol not in places}
        how.check(places, list(new))
        origins = dict(how.named)
        if how.usual.startswith("="):
            origins = dict.fromkeys(new, how.usual[1:]) | origins
        return cls(
            ours=[row for row, _ in both],
            theirs=[row for _, row in both],
            copied={new[symbol]: places[origin] for symbol, origin in origins.items()},
            averaged=[row for symbol, row in new.items() if how.usual == MEAN and symbol not in how.named],
            words=[row for symbol, row in places.items() if _is_word(symbol)],
            new=list(new),
        )

    def table(self, own: Tensor, pretrained: Tensor) -> Tensor:
        """V x C as it was initialized and V' x C of the checkpoint -> V x C to begin with."""
        table = own.clone()
        table[self.ours] = pretrained[self.theirs].to(table)
        if self.copied:
            table[list(self.copied)] = pretrained[list(self.copied.values())].to(table)
        if self.averaged:
            table[self.averaged] = pretrained[self.words].float().mean(dim=0).to(table)
        return table

    def log(self, rows: int) -> None:
        """Say what happens to a checkpoint's table of so many rows."""
        logger.info(
            f"embeddings: {len(self.ours):,} rows taken over, {len(self.new):,} new ({len(self.copied):,} "
            f"copied, {len(self.averaged):,} mean), {rows - len(self.theirs):,} of the checkpoint left out"
        )


def _is_word(symbol: str) -> bool:
    return symbol not in SPECIAL_SYMBOLS and not symbol.startswith(DUMMY)
