"""Find the bunsetsu of Japanese text, and reverse them as BRSS does (thesis 4.3.1, 4.4.2).

Writes `SPLIT.….ja.bunsetsu` for every `SPLIT.….ja` of tokenized text: which words form a bunsetsu, and BRSS'
order of the words. Masks are drawn from it anew in every epoch. The paper's parser is KNP (`knp`, needs the
programs knp and jumanpp); GiNZA needs nothing but `pip install '.[ja]'`. bunsetsu.ja-report.json counts
what could not be parsed (those lines fall back to MASS) and the share of words that the reordering moves
(thesis 4.5.1: 79.58%).
"""

from dataclasses import dataclass

from command_line.errors import InputError
from command_line.option_classes import option
from data_prep.formats.structures import BUNSETSU
from data_prep.formats.texts import LANGUAGE
from data_prep.parsing.parsers import BUNSETSU_PARSERS
from data_prep.parsing.step import ParsingJob, run


@dataclass(frozen=True, kw_only=True)
class BunsetsuJob(ParsingJob):
    """Which text is parsed for bunsetsu, and with what."""

    parser: str = option("4.4.2 uses knp", "ginza", choices=sorted(BUNSETSU_PARSERS))
    model: str | None = option("another pipeline of GiNZA (ja_ginza_electra), by name or path")
    lang: str = option("language of the files to parse", "ja", type=LANGUAGE)


def main(job: BunsetsuJob) -> None:
    if job.model and job.parser != "ginza":
        raise InputError(
            f"--model {job.model}: only --parser ginza reads a model, not {job.parser}; leave it out"
        )
    run(job, BUNSETSU)
