#!/usr/bin/env bash
# PreNorm against PostNorm (systems #1 and #2 of Table 8.2) in minutes on two CPU cores, from nothing to the report.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/translation.sh
source "$HERE/../shared/translation.sh"

LANGUAGES=en,de,fr,ru
TRAIN_LINES=8000
TEST_LINES=200
MERGES=4000
UPDATES=450
SEED=1
OUTPUT=outputs/quickstart
JOBS=2
PRECISION=float32 # bfloat16 does not pay for a model this small
ARCHITECTURE=mnmt_transformer_tiny
MODEL_OPTIONS=(--encoder-layers 2 --decoder-layers 2)
DROPOUT=0 # no training line is seen twice
RESIDUAL_LAYER=2
TARGET_LAYERS=2

usage() {
  cat << END
usage: bash recipes/quickstart/run.sh [options] [-- OPTION of fairseq-train ...]

Builds a small multi-parallel corpus of English with other languages, trains two many-to-many models that differ only
in where layer normalization sits, translates every direction (supervised and zero-shot), scores, compares, reports.
What is complete is skipped, what was killed continues.

  --output DIR        folder for everything (default: $OUTPUT)
  --languages LIST    of the corpus, with English (default: $LANGUAGES)
  --train-lines N     training lines per pair (default: $TRAIN_LINES)
  --test-lines N      lines of the valid and of the test set (default: $TEST_LINES)
  --merges N          BPE merge operations (default: $MERGES)
  --updates N         updates of each training (default: $UPDATES)
  --seed N            of corpus and training (default: $SEED)
  --jobs N            trainings and translations at a time; they share the CPU cores (default: $JOBS)
  --launcher NAME     cpu or gpu (default: $LAUNCHER)
$(help_of comet)
  --force             retrain what is trained or was begun, also with other options
  --precision NAME    auto, bf16, fp16 or float32; auto is the fastest that the device which trains has in hardware,
                      and that of its beginning for a training that resumes (default: $PRECISION)
$(help_of all)
END
}

read_options "$@"

use_environment
one_of --launcher "$LAUNCHER" cpu gpu
[[ $LAUNCHER == cpu ]] || JOBS_PER_GPU=$JOBS # models this small
check_launcher
check_output
check_comet
# shellcheck source=recipes/zero_shot/systems.sh
source "$ROOT/recipes/zero_shot/systems.sh"
for number in TRAIN_LINES TEST_LINES MERGES UPDATES SEED; do positive "$(option_of "$number")" "${!number}"; done

NAME=${OUTPUT##*/} # the data set, in what the trainings took
TEXT=$OUTPUT/text
DATA=$OUTPUT/data/phrasebook
split_list --languages "$LANGUAGES" LANGUAGE_LIST

quickstart() {
  [[ $DRY_RUN != yes ]] || { exec 3>&1 && NOTE='#'; }
  note "corpus"
  run python -m data_prep phrasebook --langs "$LANGUAGES" --train-lines "$TRAIN_LINES" --valid-lines "$TEST_LINES" \
    --test-lines "$TEST_LINES" --seed "$SEED" --output "$TEXT"
  run python -m data_prep tokenize --input "$TEXT" --output "$OUTPUT/tokenized"
  run python -m data_prep subword --merges "$MERGES" --input "$OUTPUT/tokenized" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$TEXT" --output "$DATA"

  note "training of two systems, $UPDATES updates each"
  PAIRS=$(english_centric "${LANGUAGE_LIST[@]}")
  FOLDERS=()
  for system in 1 2; do
    folder=system$system-seed$SEED
    set_training_options "$system"
    start_job '' train fairseq-train "$DATA" --save-dir "$OUTPUT/models/$folder" --seed "$SEED" --task multilingual_nmt --lang-pairs "$PAIRS" \
      "${OPTIONS[@]}" --label-smoothing 0.1 \
      --optimizer fused_adam --lr 3e-3 --lr-scheduler polynomial_decay --total-num-update "$UPDATES" --warmup-updates 100 --clip-norm 1.0 \
      --max-tokens 1024 --max-update "$UPDATES" --num-workers 0 \
      --no-epoch-checkpoints --save-interval-updates 150 --keep-interval-updates 1 --log-format simple --log-interval 50 "${EXTRA_OPTIONS[@]}"
    FOLDERS+=("$OUTPUT/translations/$folder")
  done
  finish_jobs trainings

  note "translation of every direction"
  for folder in "${FOLDERS[@]}"; do
    start_job "${folder##*/}" run python -m eval translate --checkpoint "$OUTPUT/models/$(basename "$folder")/checkpoint_best.pt" \
      --data "$DATA" --max-len-a 1.5 --max-len-b 20 "${DEVICE[@]}" --output "$folder"
  done
  finish_jobs translations

  note "scores and report"
  score
  report "$OUTPUT" "Quickstart: PreNorm against PostNorm" "${#FOLDERS[@]}" "${FOLDERS[@]}"
}

if [[ $DRY_RUN == yes ]]; then quickstart | python -m fairseq_ext dry-run; else quickstart; fi
