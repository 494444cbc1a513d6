# shellcheck shell=bash disable=SC2034
# Translations of programs' messages and help pages (not in the paper), for an encoder of 4 layers of width 256 that `embeddings
# pretrain` made of the eleven languages' own text. --data-root DIR holds the table; --encoder is the folder.
#
# One pair of the same size with English and German, Russian or Japanese, or German and French; four pairs; all ten with English.
# Learning rate: the encoder is a hundredth of XLM-R large, and sees a fiftieth of the pairs. An update of 64 pairs is of one core.
CORPUS=l10n
LANGUAGES=(cs de en es fr it ja pl pt ru zh)
MULTIWAY=(cs de es fr it ja pl pt ru zh)
CORPUS_OPTIONS=(--further-pairs de-fr)
SUBWORD_OPTIONS=(--tokenizer "$ENCODER")
LEARNING_RATE=1e-4
BUDGET=20000
OPTIMIZER_OPTIONS+=(--eval-retrieval-similarity bert-score --eval-retrieval-normalization 0.75)
LAYERS=(0 1 2 3 4 average)
SINGLE_PAIRS=(de-en ru-en ja-en de-fr)
several four-pairs de-en fr-en ja-en ru-en
several all-pairs {cs,de,es,fr,it,ja,pl,pt,ru,zh}-en
SIZE_PAIR=de-en
SIZES=(1000 2000 5000 10000 50000) # 20,000 is de-en itself; 50,000 are all that there are
