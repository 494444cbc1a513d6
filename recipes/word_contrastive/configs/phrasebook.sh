# shellcheck shell=bash disable=SC2034
# A toy setting (not in the paper): model, corpus and schedule are those of the recipe zero_shot, so that `mlsc` is its system 2.
source "$ROOT/recipes/zero_shot/configs/phrasebook.sh"
