# shellcheck shell=bash disable=SC2034
# The toy setting of the recipe in seconds: it learns some words, and every stage has something to do.
source "$ROOT/recipes/zero_shot/configs/phrasebook.sh"
CORPUS_OPTIONS=(--train-lines 120 --valid-lines 40 --test-lines 8 --seed 1)
LANGUAGES=(cs de en fr)
MERGES=300
MODEL_OPTIONS=(--encoder-layers 2 --encoder-embed-dim 64 --encoder-ffn-embed-dim 64 --decoder-layers 2
  --decoder-embed-dim 64 --decoder-ffn-embed-dim 64)
LEARNING_RATE=5e-3
WARMUP_UPDATES=20
MAX_TOKENS=512
SCHEDULE_OPTIONS=(--lr-scheduler inverse_sqrt --max-update 100)
SAVE_UPDATES=50
CURVE_LINES=12
BEAM=2
SEARCH_OPTIONS=(--max-len-b 10)
