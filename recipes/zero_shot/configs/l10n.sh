# shellcheck shell=bash disable=SC2034
# Translations of programs' messages and help pages (not in the papers): 3 x 50,000 pairs of English with German, French and
# Russian, multi-way valid and test (1,000 lines each), 6 supervised and 6 zero-shot directions. --data-root DIR holds the table.
#
# Why these sizes (pilot on an earlier cut with 3 x 75,000 pairs, one epoch of 4,697 updates, seed 1): zero-shot BLEU 3.2 (off-target
# 23.6%) of PreNorm and 5.6 (0.7%) of PostNorm, supervised BLEU 16.1 and 13.3, in 50 minutes of a core each. The number of updates
# is that pilot's, one and a half epochs of the smaller table.
CORPUS=l10n
LANGUAGES=(de en fr ru)
MERGES=8000
TOKENIZER_OPTIONS=(--tokenizer moses) # as the papers' configurations
ARCHITECTURE=mnmt_transformer
MODEL_OPTIONS=(--encoder-layers 3 --encoder-embed-dim 192 --encoder-ffn-embed-dim 512 --encoder-attention-heads 4
  --decoder-layers 3 --decoder-embed-dim 192 --decoder-ffn-embed-dim 512 --decoder-attention-heads 4)
RESIDUAL_LAYER=2
TARGET_LAYERS=2
DROPOUT=0.1
LEARNING_RATE=2e-3
WARMUP_UPDATES=600
SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 4700 --max-update 4700)
MAX_TOKENS=2500
EPOCHS=100 # the number of updates ends it
SAVE_UPDATES=940
KEEP_UPDATES=-1 # all, for learning curves
CURVE_LINES=100 # lines of each set whose states the curves have
BATCH_GPUS=1
SEARCH_OPTIONS=(--max-len-a 1.5 --max-len-b 20) # off-target output runs on
