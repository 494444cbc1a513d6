# shellcheck shell=bash disable=SC2034
# The configuration of that name for the encoder of `small/sentence_embedding`, and in seconds.
source "$ROOT/recipes/distillation/configs/l10n.sh"
LANGUAGES=(de en fr)
MULTIWAY=(de fr)
SAVE_UPDATES=0
EPOCHS=100
STUDENTS=()
shaped thin-half 3 16 32 2
shaped shallow-quarter 1 32 32 2
TEACHER_WIDTH=32
TEACHER_MODEL=(--finetune-from-model "$TEACHER" --arch ems_small --encoder-layers 2 --encoder-embed-dim 32 --encoder-ffn-embed-dim 32)
REDUCTIONS=(16)
EXTRA_OPTIONS+=(--max-update 4)
