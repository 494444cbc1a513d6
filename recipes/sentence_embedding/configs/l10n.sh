# shellcheck shell=bash disable=SC2034
# Translations of programs' messages and help pages (not in the paper): English with ten languages, 20,000 pairs each, multi-way
# valid and test (1,000 lines each). --data-root DIR holds the table.
#
# Why this size: with 64 pairs of 2 x 23 subwords an update takes 0.42 s of a core (float32, a core beside a busy one), so that
# two epochs, 6,250 updates, are 43 minutes; with width 256 and 1,024 it took 0.95 s, 99 minutes. 128 pairs are as many subwords
# a second (7,000) for half the updates.
CORPUS=l10n
CORPUS_OPTIONS=(--train-pairs 20000)
LANGUAGES=(cs de en es fr it ja pl pt ru zh)
MULTIWAY=(cs de es fr it ja pl pt ru zh)
LANGUAGE_GROUPS=l10n
TOKENIZER_OPTIONS=(--tokenizer moses ja=mecab zh=jieba --lowercase)
SUBWORD_OPTIONS=(--type sentencepiece --vocabulary-size 16000)
ARCHITECTURE=ems_small
MODEL_OPTIONS=(--encoder-embed-dim 192 --encoder-ffn-embed-dim 512 --encoder-attention-heads 4)
DROPOUT=0.1
LEARNING_RATE=1e-3
WARMUP_UPDATES=500
EPOCHS=2
TRAINING_PAIRS=200000
SAVE_UPDATES=1562 # half an epoch: save (and validate) there, too
BATCH_PAIRS=64
BATCH_GPUS=1
LANGUAGE_WIDTH=64
CONTRAST_WIDTH=64
DECODER_LAYERS=3
TRANSLATION_MODEL=(--arch mnmt_transformer --encoder-layers 4 "${MODEL_OPTIONS[@]}" --decoder-layers "$DECODER_LAYERS" --decoder-attention-heads 4)
SELECTION_OPTIONS=(--best-checkpoint-metric retrieval --maximize-best-checkpoint-metric)
