# shellcheck shell=bash disable=SC2034
# The configuration of that name for a table of some sentences, and in seconds.
source "$ROOT/recipes/one_aligner/configs/l10n.sh"
CORPUS_OPTIONS=()
LANGUAGES=(de en fr)
MULTIWAY=(de fr)
PRETRAINING_OPTIONS=(--layers 2 --width 32 --heads 2 --inner-width 32 --vocabulary-size 300 --batch-tokens 512 --updates 4
  --warmup-updates 1 --save-updates 2)
PRETRAINING_UPDATES=(2 4)
LAYERS=(1 average)
MAX_LENGTH=60
EXTRA_OPTIONS+=(--max-update 4 --log-interval 2)
