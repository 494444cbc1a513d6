"""The training text of the Tatoeba Challenge (Tiedemann, 2020), of any pair of languages."""

from collections.abc import Iterator

from command_line.errors import InputError
from data_prep.corpora.corpus import BitextRows, Corpus, rows_of, supervised_pairs
from data_prep.corpora.fetching import Source
from data_prep.corpora.flores200 import URL as FLORES
from data_prep.corpora.flores200 import flores_code
from data_prep.formats.texts import TRAIN, VALID
from data_prep.languages import find_language

RELEASE = "v2021-08-07"
URL = "https://object.pouta.csc.fi/Tatoeba-Challenge-{release}/{pair}.tar"
VALIDATED_AS = {"sh": "hr"}  # Flores-200 has no Serbo-Croatian


def challenge_code(code: str) -> str:
    """The name of a language in the challenge, of ISO 639-3: `deu` of `de`, `hbs` of `sh`.

    Raises:
        InputError: the code is in no registry.
    """
    import langcodes

    if (language := find_language(code)) is None:
        raise InputError(f"--langs: {code!r} is no language of the challenge; expected a code such as de")
    return langcodes.Language.make(language.subtag).to_alpha3()


def read(source: Source, languages: list[str], centric: str) -> Iterator[BitextRows]:
    """The pairs of the centric language."""
    for pair in supervised_pairs(languages, centric):
        yield from read_pair(source, pair)


def read_pair(source: Source, pair: str) -> Iterator[BitextRows]:
    """Its training text, and Flores-200 dev for validation: the development sets of the challenge are
    sentences of Tatoeba, as test sets of retrieval are.
    """
    codes = pair.split("-")
    published = [challenge_code(code) for code in codes]
    name = "-".join(sorted(published))
    sides = [f"data/release/{RELEASE}/{name}/train.{side}.gz" for side in ("src", "trg")]
    files = source.members(URL.format(release=RELEASE, pair=name), f"{name}.tar", sides)
    paths = dict(zip(sorted(published), (files[side] for side in sides), strict=True))
    yield BitextRows(TRAIN, pair, rows_of(*(paths[code] for code in published)))
    flores = [f"flores200_dataset/dev/{flores_code(VALIDATED_AS.get(code, code))}.dev" for code in codes]
    files = source.members(FLORES, "flores200_dataset.tar.gz", flores)
    yield BitextRows(VALID, pair, rows_of(*(files[side] for side in flores)))


CORPUS = Corpus(
    description=(
        "Tatoeba Challenge (Tiedemann, 2020), release v2021-08-07: training text of many pairs, the largest "
        "of hundreds of millions of lines; valid is Flores-200 dev"
    ),
    languages=("ar", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "zh"),
    further_languages=None,
    read=read,
    english_centric=False,
    read_pair=read_pair,
)
