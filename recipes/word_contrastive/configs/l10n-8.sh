# shellcheck shell=bash disable=SC2034
# Real text in eight languages, 28 pairs for retrieval (not in the paper): model, corpus and schedule are those of the recipe zero_shot,
# so that `mlsc` is its system 2.
source "$ROOT/recipes/zero_shot/configs/l10n-8.sh"
