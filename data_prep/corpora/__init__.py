"""The corpora by name, the papers' (Tables 7.1 and 8.1) and smaller ones: one file and one line here each."""

from data_prep.corpora import enja, europarl, flores200, iwslt17, l10n, multi30k, opus100, tatoeba_challenge
from data_prep.corpora.corpus import Corpus

CORPORA: dict[str, Corpus] = {
    "opus100": opus100.CORPUS,
    "iwslt17": iwslt17.CORPUS,
    "europarl": europarl.CORPUS,
    "multi30k": multi30k.CORPUS,
    "enja": enja.CORPUS,
    "l10n": l10n.CORPUS,
    "flores200": flores200.CORPUS,
    "challenge": tatoeba_challenge.CORPUS,
}
