"""The BUCC shared task in one command: bitext mining with the threshold of the training part.

DIR has BUCC's files, also below a folder `de-en`: for each pair of languages `de-en.training.de`,
`.training.en` and `.training.gold`, and the same of the part that is tested. Texts have lines
`identifier<TAB>sentence`, gold files `identifier<TAB>identifier`. Sentences that occur twice in a text are
one. A tested part without gold file is mined and has no F1.

Thesis 2.4.3 follows a script that measures the training part itself: `--tested training`. With
--universal-threshold, all pairs of languages have one threshold, that of the highest mean F1 over their
training parts. With --threshold-from de-en, every pair is scored with its own threshold and also with that of
this pair: the pivot pair of dual-pivot transfer (Tien and Steinert-Threlkeld 2022, 6.4, Table 6).
"""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.lines import find_text
from command_line.measurements import Measured
from command_line.option_classes import force_switch, option, output_folder, positional, switch
from command_line.result_file import write_result
from data_prep.formats.texts import LANGUAGE_CODE
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder
from embeddings.mine import KIND, about, counts, described, scored
from embeddings.mined_texts import PairLists, Side, pairs_of, read_gold, read_side
from embeddings.search.bucc import Ranking, Scheme
from embeddings.search.mining import MinedPairs, Mining, mine
from embeddings.search.rescoring import states_of

GOLD = "gold"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is mined."""

    folder: Path = positional("de-en.training.de, .en, .gold, …", metavar="DIR")
    pairs: list[str] = option("de-en,fr-en", required=True, type=types.items(types.split), metavar="PAIR,…")
    tuned: str = option("part that gives the threshold", "training", type=types.split)
    tested: str = option("part that it is used for", "test", type=types.split)
    universal_threshold: bool = switch("one for all pairs of languages")
    threshold_from: str | None = option(
        "score every pair with the threshold of this one, too (dual-pivot transfer, Table 6: de-en)",
        type=types.split,
        metavar="PAIR",
    )
    encoder: EncoderOptions
    mining: Mining
    output: Path = output_folder(f"{KIND}.json and the pairs of each part, de-en.test.tsv")
    force: bool = force_switch()

    def check(self) -> None:
        """Refuse options that do not fit each other."""
        self.mining.rescoring.check(self.mining.margin)
        if self.threshold_from is None:
            return
        if self.universal_threshold:
            raise InputError(
                f"--threshold-from {self.threshold_from}: found --universal-threshold, too; expected one of"
                " them"
            )
        if self.threshold_from not in self.pairs:
            raise InputError(
                f"--threshold-from {self.threshold_from}: expected one of --pairs {','.join(self.pairs)}"
            )

    def schemes(self) -> list[Scheme]:
        """Whose thresholds are used."""
        if self.universal_threshold:
            return [Scheme(tuple(self.pairs), "all pairs")]
        own, given = Scheme(), self.threshold_from
        return [own] if given is None else [own, Scheme((given,), given, is_further=True)]

    def texts(self, pair: str, part: str) -> list[Path]:
        """Both sides of a part.

        Raises:
            InputError: one is missing.
        """
        return [self._file(pair, part, language) for language in _languages(pair)]

    def gold(self, pair: str, part: str) -> Path | None:
        """The right pairs; those of the tuned part must be there."""
        return self._file(pair, part, GOLD, needed=part == self.tuned)

    def _file(self, pair: str, part: str, ending: str, needed: bool = True) -> Path | None:
        name = f"{pair}.{part}.{ending}"
        path = find_text(self.folder / name) or find_text(self.folder / pair / name)
        if path is None and needed:
            raise InputError(f"{self.folder / name}: no such file, nor below {pair}; expected that of BUCC")
        return path

    def parts(self) -> list[str]:
        return list(dict.fromkeys([self.tuned, self.tested]))

    def files(self) -> list[Path]:
        every = [(pair, part) for pair in self.pairs for part in self.parts()]
        paths = [path for of_part in every for path in [*self.texts(*of_part), self.gold(*of_part)]]
        return [path for path in paths if path]


def _languages(pair: str) -> list[str]:
    """Both languages of a pair, as `de-en`."""
    languages = pair.split("-")
    if len(set(languages)) != 2 or len(languages) != 2 or not all(map(LANGUAGE_CODE.fullmatch, languages)):
        raise InputError(f"--pairs {pair}: expected two languages, for example de-en")
    return languages


def main(job: Job) -> None:
    job.check()
    inputs = [*job.files(), *job.encoder.files(job.output)]
    lists = PairLists()
    write_result(
        "embeddings",
        KIND,
        job,
        inputs,
        lambda: measure(job, job.output, lists),
        job.output,
        job.force,
        beside=lambda file, record: lists.write(),
    )


@dataclass(frozen=True)
class Mined:
    """What was mined from a part.

    Attributes:
        gold: right pairs; None where they are not known.
    """

    sides: list[Side]
    gold: set[tuple[int, int]] | None
    candidates: MinedPairs


def measure(job: Job, output: Path, lists: PairLists) -> Measured:
    """A run per pair of languages, part and scheme of thresholds, for all of which a part is mined once."""
    encoder = job.encoder.load()
    mined_parts = {
        (pair, part): mine_part(job, encoder, pair, part) for pair in job.pairs for part in job.parts()
    }
    rankings = {pair: _ranking(mined_parts[pair, job.tuned]) for pair in job.pairs}
    measured = Measured(about=about(encoder))
    for scheme in job.schemes():
        for (pair, part), mined in mined_parts.items():
            run = {
                "dataset": f"BUCC {scheme.title(pair, part)}",
                **described(encoder, job.mining),
                "threshold_from": f"{job.tuned}, {scheme.origin or pair}",
            }
            file = output / scheme.file_name(pair, part)
            measured.add(run, _cut(scheme.threshold(rankings, pair), mined, file, lists))
    return measured


def _cut(threshold: float, mined: Mined, file: Path, lists: PairLists) -> list[dict]:
    """Rows of what reaches the threshold, which is kept for its file."""
    kept = mined.candidates.reaching(threshold)
    pairs = pairs_of(mined.sides, mined.candidates.first[:kept], mined.candidates.second[:kept])
    lists.add(file, mined.candidates.scores[:kept], pairs)
    scores = scored(mined.candidates.pairs(kept), mined.gold)
    return counts(
        mined.sides, kept, threshold, without_neighbourhood=mined.candidates.without_neighbourhood, **scores
    )


def _ranking(mined: Mined) -> Ranking:
    return Ranking(mined.candidates.scores, mined.candidates.pairs(), mined.gold)


def mine_part(job: Job, encoder: SentenceEncoder, pair: str, part: str) -> Mined:
    """The candidates of one part, whatever their scores."""
    sides = [read_side(path, identifiers=True) for path in job.texts(pair, part)]
    path = job.gold(pair, part)
    gold = read_gold(path, *sides) if path else None
    texts = [(side.sentences, language) for side, language in zip(sides, _languages(pair), strict=True)]
    with states_of(encoder, texts, job.mining.rescoring) as states:
        vectors = [encoder.encode(*text) for text in texts]
        return Mined(sides, gold, mine(*vectors, job.mining, states))
