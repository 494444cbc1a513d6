# shellcheck shell=bash disable=SC2034
# The configuration of that name for a table of some sentences, and in seconds.
source "$ROOT/recipes/dual_pivot/configs/l10n.sh"
CORPUS_OPTIONS=()
LANGUAGES=(de en fr)
MULTIWAY=(de fr)
LAYERS=(1 average)
MAX_LENGTH=60
EXTRA_OPTIONS+=(--max-update 4 --log-interval 2)
