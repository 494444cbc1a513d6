# shellcheck shell=bash disable=SC2034
# Translations of programs' messages and help pages (not in the paper): English with ten languages, 20,000 pairs each, multi-way
# valid and test (1,000 lines each). --data-root DIR holds the table.
CORPUS=l10n
CORPUS_OPTIONS=(--train-pairs 20000)
LANGUAGES=(cs de en es fr it ja pl pt ru zh)
MULTIWAY=(cs de es fr it ja pl pt ru zh)
TOKENIZER_OPTIONS=(--lowercase)
SUBWORD_OPTIONS=(--type sentencepiece --vocabulary-size 16000)
ARCHITECTURE=ems_small
DROPOUT=0.1
LEARNING_RATE=1e-3
WARMUP_UPDATES=500
EPOCHS=2
BATCH_PAIRS=64
BATCH_GPUS=1
CONTRAST_WIDTH=64
XTR_OPTIONS="--token-reconstruction-language-dim 64"
CONTRAST_OPTIONS="--sentence-contrast-dim $CONTRAST_WIDTH"
DECODER_LAYERS=3
SELECTION_OPTIONS=(--best-checkpoint-metric retrieval --maximize-best-checkpoint-metric)
