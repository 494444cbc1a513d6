# shellcheck shell=bash disable=SC2034
# BLOOMZ+3, ar-de-fr-nl-ru-zh (6.3.1): as bloomz3, taught the three languages that BLOOMZ knows, too.
source "$ROOT/recipes/align_instruct/configs/bloomz3.sh"
TAUGHT=("${LANGUAGES[@]}")
TRAINING_PAIRS=1200000
