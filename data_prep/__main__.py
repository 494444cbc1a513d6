"""Raw text to binarized data (thesis 7.3.1 and 8.2.1), in the order in which a corpus takes the steps."""

import sys

from command_line.dispatch import run

DESCRIPTION = (
    "Raw text to binarized data. Steps work on whole folders and in this order; each skips what is done, but"
    " those that only measure: position-changes, alignment-error, corpus-stats."
)
STEPS = {
    "phrasebook": (
        "data_prep.phrasebook.step",
        "make a real multi-parallel corpus offline (CLDR, spelled-out numbers)",
    ),
    "phrasebook-tasks": (
        "data_prep.phrasebook.tasks",
        "make toy tasks of the phrasebook in the formats of XNLI, MLQA, STS, WikiANN and Tatoeba",
    ),
    "download": (
        "data_prep.download",
        "fetch a public corpus, or lay out a local folder as if it had been fetched",
    ),
    "import": (
        "data_prep.importing.step",
        "lay out TSV, CSV, JSONL, Parquet, TMX, XLIFF, WMT's files and plain text; cut valid and test sets",
    ),
    "clean": ("data_prep.clean", "normalize, filter, de-duplicate, remove evaluation lines from training"),
    "low-resource": (
        "data_prep.low_resource",
        "draw small fine-tuning sets, and lay out monolingual text for pre-training",
    ),
    "new-tatoeba": (
        "data_prep.new_tatoeba",
        "draw a test set of sentence retrieval from the Tatoeba Challenge (OneAligner)",
    ),
    "xnli-manual": (
        "data_prep.xnli_manual",
        "cut the human translations of XNLI into training, validation and test set",
    ),
    "tokenize": (
        "data_prep.tokenize",
        "split lines into words: by Unicode, Moses, jieba, MeCab, Juman++ or not at all, per language",
    ),
    "bunsetsu": ("data_prep.parsing.bunsetsu", "Japanese: find the bunsetsu, for BMASS and BRSS"),
    "phrases": ("data_prep.parsing.phrases", "find head-marked phrases, for PMASS and HFSS"),
    "position-changes": (
        "data_prep.parsing.position_changes",
        "the share of words that BRSS, HFSS and deshuffling move",
    ),
    "subword": ("data_prep.subword", "learn and apply joint subwords, write the joint dictionary"),
    "binarize": ("data_prep.binarize", "write the folder that fairseq-train reads"),
    "structures": (
        "data_prep.parsing.structures",
        "carry bunsetsu and phrases to the subwords of binarized text",
    ),
    "align": (
        "data_prep.alignment.step",
        "align words, store the aligned subword spans beside the binarized data",
    ),
    "lexicon": (
        "data_prep.lexicon",
        "write bilingual dictionaries from word alignments, for --word-substitution",
    ),
    "alignment-error": ("data_prep.alignment.error_rate", "alignment error rate against gold links"),
    "corpus-stats": ("data_prep.corpus_stats", "lines, tokens and lengths per language and direction"),
}

if __name__ == "__main__":
    sys.exit(run("data_prep", DESCRIPTION, STEPS))
