"""The public corpora of the papers (Tables 7.1 and 8.1) by name: a new one is one file and one line here."""

from data_prep.corpora import enja, europarl, iwslt17, multi30k, opus100
from data_prep.corpora.corpus import Corpus

CORPORA: dict[str, Corpus] = {
    "opus100": opus100.CORPUS,
    "iwslt17": iwslt17.CORPUS,
    "europarl": europarl.CORPUS,
    "multi30k": multi30k.CORPUS,
    "enja": enja.CORPUS,
}
