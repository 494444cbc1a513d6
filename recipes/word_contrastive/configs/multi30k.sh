# shellcheck shell=bash disable=SC2034
# Multi30k (not in the paper): 3 x 29,000 pairs of image captions. The model is that of the recipe zero_shot, in half of its
# time: one epoch (1,802 updates), since every system but the baseline encodes each batch twice.
source "$ROOT/recipes/zero_shot/configs/multi30k.sh"
SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 1802)
EPOCHS=1
