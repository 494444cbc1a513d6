#!/usr/bin/env bash
# Neural interlingua of fixed and variable length: the systems of chapter 7 of the thesis, from text to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"

RECIPE=interlingua TITLE="Neural interlingua"
ENCODER_LAYERS=6 # of MNMT: M + N (7.2.1)
INTERLINGUA_LENGTH=
REQUIRED_SETTINGS=(INTERLINGUA_LENGTH)
# shellcheck source=recipes/shared/alignment.sh
source "$HERE/../shared/alignment.sh"

usage() {
  cat << END
usage: bash recipes/interlingua/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Trains systems of Table 7.2 on English-centric data, translates supervised and zero-shot directions, compares, probes,
reports. What is complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       opus, iwslt, europarl (the paper's), multi30k, phrasebook (small), or a file like those in configs/
  --systems LIST      of pivot, mnmt, fixed-universal, fixed-specific, variable (Table 7.2);
                      mnmt+w2w, variable+w2w, t-enc, t-enc+w2w (free combination, 9.2);
                      candidates, ordinal, source-length, jitter, repaired (repairs of the length predictor, see README.md);
                      or 'all' (default: $(list_systems))
$(usage_of_experiment)
$(usage_of_all)

Example: bash recipes/interlingua/run.sh --config multi30k --systems mnmt,variable --seeds 1,10 --jobs 2
END
}

stage_prepare() {
  prepare
  [[ $SYSTEM_LIST != *+w2w* ]] || align
}

# All systems of a seed and of one placement of tags start from one MNMT if the configuration has `start_settings`, the settings
# that it is trained with.
has_start() {
  declare -F start_settings > /dev/null
}

start_of() { # SYSTEM
  if [[ $1 == t-enc* ]]; then echo t-enc; else echo mnmt; fi
}

start_folder() { # STARTING_SYSTEM SEED
  local name=start-$1
  echo "$OUTPUT/models/${name%-mnmt}-seed$2"
}

train_start() ( # STARTING_SYSTEM SEED
  start_settings
  load_systems "$HERE/systems.sh"
  read -ra options <<< "${TRAINING_OPTIONS[$1]}"
  train_translation "$(start_folder "$@")" "$2" "${options[@]}"
)

train_system() { # SYSTEM SEED
  local options start=()
  ! has_start || start=(--pretrained-checkpoint "$(start_folder "$(start_of "$1")" "$2")/checkpoint_best.pt")
  read -ra options <<< "${TRAINING_OPTIONS[$1]}"
  train_translation "$OUTPUT/models/$(model_name "$@")" "$2" "${options[@]}" "${start[@]}"
}

stage_train() {
  local start seed starts system
  if has_start; then
    need_data "$DATA"
    starts=$(for system in "${SYSTEM_IDS[@]}"; do start_of "$system"; done | sort -u)
    for start in $starts; do
      for seed in "${SEED_LIST[@]}"; do start_job train_start "$start" "$seed"; done
    done
    finish_jobs
  fi
  train_systems
}

probe() { # SYSTEM SEED
  [[ ${TRAINING_OPTIONS[${TRAINED_AS[$1]}]} == *"--arch interlingua_"* ]] || return 0
  set_evaluated "$@"
  run python -m eval probe interlingua "${EVALUATED[@]}" --output "$OUTPUT/probes/$1-seed$2"
}

add_log() { # SYSTEM SEED
  [[ ${TRAINED_AS[$1]} != "$1" ]] || LOGS+=("${TABLE_NAME[$1]}=$OUTPUT/models/$1-seed$2/train.log")
}

# Validation losses of all trainings (Figure 7.3), besides.
stage_probe() {
  for_each_model probe
  LOGS=()
  for_each_model add_log
  [[ ${#LOGS[@]} == 0 ]] ||
    run python -m eval probe validation-curves "${LOGS[@]}" --dataset "$NAME" --output "$OUTPUT/probes"
}

add_probe_results() { # SYSTEM SEED
  add_results "$OUTPUT/probes/$1-seed$2/interlingua.json"
}

stage_report() {
  for_each_model add_probe_results
  add_results "$OUTPUT/probes/validation-curves.json"
  report "$OUTPUT" "$TITLE: $NAME" "${#SYSTEM_IDS[@]}" "${FOLDERS[@]}"
}

experiment "" "" "$@"
