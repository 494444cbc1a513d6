# shellcheck shell=bash disable=SC2034
# The configuration of that name for a few sentences, and in seconds.
source "$ROOT/recipes/post_pretraining/configs/ppa.sh"
CORPUS=text
CORPUS_OPTIONS=()
LANGUAGES=(de en)
BATCH_PAIRS=8
MIN_TOKENS=3
QUEUE=16
SIZES=()
size 250k 40 10
XNLI_LANGUAGES=(en de)
MLQA_LANGUAGES=(en de)
FINETUNE_OPTIONS=(--epochs 1 --batch-size 4 --warmup 1 --max-length 48 --checkpoints 2)
