# shellcheck shell=bash disable=SC2034
# Translations of programs' messages and help pages (not in the paper), for an encoder of 4 layers of width 256 that `embeddings
# pretrain` made of the eleven languages' own text. --data-root DIR holds the table; --encoder is the folder.
#
# 20,000 pairs, or as many sentences of either language: 625 updates an epoch, with nothing below the module to be trained.
CORPUS=l10n
LANGUAGES=(cs de en es fr it ja pl pt ru zh)
MULTIWAY=(cs de es fr it ja pl pt ru zh)
LANGUAGE_GROUPS=l10n_one_pair
CORPUS_OPTIONS=(--further-pairs de-fr)
SUBWORD_OPTIONS=(--tokenizer "$ENCODER")
MAX_LENGTH=100
EPOCHS=5
LAYER_SUMS=yes # 5 layers of 256 numbers a sentence: 4 GB; all systems train on them
BUDGET=20000
LAYERS=(0 1 2 3 4 average)
SINGLE_LAYERS=(0 1 2 3 4)
SINGLE_PAIRS=(de-en ru-en ja-en de-fr)
several 2-pairs de-en ru-en
several 4-pairs de-en ru-en ja-en fr-en
several 10-pairs {cs,de,es,fr,it,ja,pl,pt,ru,zh}-en
