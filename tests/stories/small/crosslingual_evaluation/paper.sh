# shellcheck shell=bash disable=SC2034
# The configuration of that name for a few sentences, and in seconds.
source "$ROOT/recipes/crosslingual_evaluation/configs/paper.sh"
LAYER_OF[mbert]=1
XNLI_LANGUAGES=(en de)
GAP_SOURCE=de
NAME_LANGUAGES=(en de)
STS_LANGUAGES=(en)
VALID_LANGUAGES=(de)
FEW=(--epochs 1 --batch-size 4 --warmup 0 --max-length 32 --checkpoints 2)
XNLI_OPTIONS=("${FEW[@]}") MANUAL_OPTIONS=() NAMES_OPTIONS=("${FEW[@]}") ANSWERS_OPTIONS=("${FEW[@]}")
CALIBRATION_OF[mbert]="--sts-epochs 1 --batch-size 8"
CALIBRATION_OF[labse]=${CALIBRATION_OF[mbert]}
