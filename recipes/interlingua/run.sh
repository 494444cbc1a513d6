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

usage() {
  cat << END
usage: bash recipes/interlingua/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Trains systems of Table 7.2 on English-centric data, translates supervised and zero-shot directions, scores, compares,
probes the interlingua, reports. What is complete is skipped, what was killed continues. README.md beside this file has
the paper's numbers.

  --config NAME       opus, iwslt, europarl (the paper's), multi30k, phrasebook (small), or a file like those in
                      configs/
  --systems LIST      of pivot, mnmt, fixed-universal, fixed-specific, variable (Table 7.2);
                      candidates, ordinal, source-length, jitter, repaired (repairs of the length predictor, see README.md);
                      or 'all' (default: $(list_systems))
$(usage_of_experiment)
$(usage_of_all)

Example: bash recipes/interlingua/run.sh --config multi30k --systems mnmt,variable --seeds 1,10 --jobs 2
END
}

# All systems of a seed start from one MNMT if the configuration has `start_settings`, the settings that it is trained with.
has_start() {
  declare -F start_settings > /dev/null
}

train_start() ( # SEED
  start_settings
  load_systems "$HERE/systems.sh"
  read -ra options <<< "${TRAINING_OPTIONS[mnmt]}"
  train_translation "$OUTPUT/models/start-seed$1" "$1" "${options[@]}"
)

train_system() { # SYSTEM SEED
  local options start=()
  ! has_start || start=(--pretrained-checkpoint "$OUTPUT/models/start-seed$2/checkpoint_best.pt")
  read -ra options <<< "${TRAINING_OPTIONS[$1]}"
  train_translation "$OUTPUT/models/$(model_name "$@")" "$2" "${options[@]}" "${start[@]}"
}

stage_train() {
  local seed
  if has_start; then
    need_data "$DATA"
    for seed in "${SEED_LIST[@]}"; do start_job train_start "$seed"; done
    finish_jobs
  fi
  train_systems
}

probe() { # SYSTEM SEED
  [[ ${TRAINED_AS[$1]} != mnmt ]] || return 0 # no interlingua
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
