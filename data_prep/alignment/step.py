"""Align the words of every bitext, and store the aligned subwords beside the binarized data (thesis 5.1.1).

`--input` is a folder of words, the output of `tokenize`. `--subword` and `--data` are the outputs of
`subword` and `binarize`. Words and subwords must spell the same text, but need not come from one
tokenization: for sentencepiece on raw text, `tokenize` the same text into another folder.

The aligner of a pair learns from its training lines, or from its valid and test lines if it has none.
`--out-of-domain` text of the same pair joins for training only (thesis 5.2.1); a sample limits the sum. The
aligner then aligns every file in shards, so memory grows with the sample and not with the corpus.

The paper has fast_align's 1-to-1 links, or pairs from a word2word lexicon that are combined to phrases. The
step writes OUTPUT/SPLIT.A-B.align (words; `i-j` and `i:k-j:l`), OUTPUT/alignments.json and .md (counts as in
Table 5.1), and DATA/SPLIT.A-B.NAME.alignment (subwords).
"""

from command_line.workers import make_workers
from data_prep.alignment.job import AlignmentJob
from data_prep.alignment.subword_alignment import store_subword_spans
from data_prep.alignment.word_alignment import align_words
from data_prep.formats.texts import find_bitexts
from data_prep.subword_spans import type_of_spelled


def main(job: AlignmentJob) -> None:
    bitexts = find_bitexts(job.input)
    if job.data:
        type_of_spelled(job.subword)  # what will not do is refused before hours of alignment
    with make_workers(job.workers, job.dask) as workers:
        align_words(job, bitexts, workers)
        print((job.output / "alignments.md").read_text(encoding="utf-8"), end="")
        if job.data:
            store_subword_spans(job, bitexts, workers)
