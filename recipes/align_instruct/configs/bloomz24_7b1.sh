# shellcheck shell=bash disable=SC2034
# BLOOMZ+24 as bloomz24, with the update of the thesis's BLOOMZ-7b1: 128 GPUs with 4 instructions each (6.3.2).
source "$ROOT/recipes/align_instruct/configs/bloomz24.sh"
UPDATE_SENTENCES=512
BATCH_SENTENCES=4
PARAMETERS=7.07e9
