# shellcheck shell=bash disable=SC2034
# Multi30k (not in the paper): 3 x 29,000 pairs of image captions. Model and schedule are those of the recipe zero_shot, so
# that `mlsc` is its system 2, for two CPU cores (3,602 updates).
source "$ROOT/recipes/zero_shot/configs/multi30k.sh"
