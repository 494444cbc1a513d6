#!/usr/bin/env bash
# Neural interlingua of fixed and variable length: the systems of chapter 7 of the thesis, from text to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"

RECIPE=interlingua TITLE="Neural interlingua"
ENCODER_LAYERS=6 # of MNMT: M + N (7.2.1)
INTERLINGUA_LENGTH=
INTERLINGUA_OPTIONS=() # of the model of all systems that have one
REQUIRED_SETTINGS=(INTERLINGUA_LENGTH)
SPACY_MODEL=''
ALL_STAGES="prepare train translate score curves probe report"
CURVE_LLR=none # checkpoints of the learning curves whose languages are recognized
PROBE_READS='' # what it translates, the probe translates itself
COMPARISONS=( # differ on two axes: bridge and losses, language tags and initialization
  mnmt:fixed-universal mnmt:fixed-specific mnmt:variable fixed-universal:variable fixed-specific:variable mnmt:t-enc
  mnmt:variable-per-token mnmt:variable+w2w mnmt:t-enc+w2w mnmt+w2w:variable+w2w mnmt+w2w:t-enc+w2w
)
# shellcheck source=recipes/shared/alignment.sh
source "$HERE/../shared/alignment.sh"
# shellcheck source=recipes/shared/curves.sh
source "$HERE/../shared/curves.sh"
# shellcheck source=recipes/interlingua/starts.sh
source "$HERE/starts.sh"

usage() {
  cat << END
usage: bash recipes/interlingua/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Trains systems of Table 7.2 on English-centric data, translates supervised and zero-shot directions, compares, probes,
reports. What is complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       opus, iwslt, europarl (the paper's), multi30k, l10n, phrasebook (small), or a file like
                      those in configs/
  --systems LIST      of pivot, mnmt, fixed-universal, fixed-specific, variable (Table 7.2);
                      variable-per-token (the other reading of equation 7.6);
                      mnmt+w2w, variable+w2w, t-enc, t-enc+w2w (free combination, 9.2);
                      with l10n and phrasebook each of mnmt, variable, t-enc, also +w2w, with @deshuffling or @enss
                      (initialized from linguistic pre-training);
                      candidates, ordinal, source-length, jitter, repaired (repairs of the length predictor, see README.md);
                      or 'all' (default: $(list_systems))
  --spacy-model NAME  English spaCy pipeline, or its folder, that parses the text of @enss
$(usage_of_experiment)
$(usage_of_all)

Example: bash recipes/interlingua/run.sh --config multi30k --systems mnmt,variable --seeds 1,10 --jobs 2
END
}

check_recipe() {
  [[ $SYSTEM_LIST != *@enss* || -n $SPACY_MODEL ]] || ! has_stage prepare ||
    die "--systems: @enss needs the phrases of English text; give a spaCy pipeline with --spacy-model, a name or a path"
}

stage_prepare() {
  prepare
  [[ $SYSTEM_LIST != *+w2w* ]] || align
  [[ $SYSTEM_LIST != *@enss* ]] || parse
}

# Phrases of the English side of all pairs, which HFSS reorders.
parse() {
  run python -m data_prep phrases --parser spacy --model "$SPACY_MODEL" --lang en --input "$OUTPUT/tokenized" \
    --text "$OUTPUT/text" --output "$OUTPUT/structures"
  run python -m data_prep structures --input "$OUTPUT/structures" --tokenized "$OUTPUT/tokenized" --subword "$OUTPUT/subword" \
    --data "$DATA"
}

train_system() { # SYSTEM SEED
  local options start=()
  ! has_start || start=(--pretrained-checkpoint "$(start_folder "$(start_of "$1")" "$2")/checkpoint_best.pt")
  read -ra options <<< "${TRAINING_OPTIONS[$1]}"
  train_translation "$OUTPUT/models/$(model_name "$@")" "$2" "${options[@]}" "${start[@]}"
}

stage_train() {
  if has_start; then train_starts; fi
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
  for_each_model_at_once probe
  LOGS=()
  for_each_model add_log
  [[ ${#LOGS[@]} == 0 ]] ||
    run python -m eval probe validation-curves "${LOGS[@]}" --dataset "$NAME" --output "$OUTPUT/probes"
}

add_probe_results() { # SYSTEM SEED
  add_probe_files "$OUTPUT/probes/$1-seed$2/interlingua.json"
}

# Do gains add up (9.2)? Where all four systems are asked for, and one seed of all is there: without, with each, with both changes.
COMBINATIONS=(
  mnmt:variable:mnmt+w2w:variable+w2w mnmt:t-enc:mnmt+w2w:t-enc+w2w mnmt:variable:mnmt@deshuffling:variable@deshuffling
)
combine() {
  local four seed folders chosen=()
  for four in "${COMBINATIONS[@]}"; do
    for seed in "${SEED_LIST[@]}"; do
      folders=$(folders_of_four "$four" "$seed") || continue
      chosen+=("$folders")
      break # the probe finds the other seeds
    done
  done
  [[ ${#chosen[@]} -gt 0 ]] || return 0
  run python -m eval probe combination "${FOLDERS[@]}" --combine "${chosen[@]}" --paired --output "$OUTPUT/probes"
  add_probe_files "$OUTPUT/probes/combination.json"
}

# Their translations, if all four are asked for.
folders_of_four() { # SYSTEM:SYSTEM:SYSTEM:SYSTEM SEED
  local system folder folders=
  for system in ${1//:/ }; do
    folder=$OUTPUT/translations/$(model_name "$system" "$2")
    is_among "$folder" "${FOLDERS[@]}" || return 1
    folders+=:$folder
  done
  echo "${folders#:}"
}

stage_report() {
  for_each_model add_probe_results
  add_probe_files "$OUTPUT/probes/validation-curves.json" "$OUTPUT/curves/learning-curves.json"
  combine
  report "$OUTPUT" "$TITLE: $NAME" "${#SYSTEM_IDS[@]}" "${FOLDERS[@]}"
}

experiment "spacy-model" "" "$@"
