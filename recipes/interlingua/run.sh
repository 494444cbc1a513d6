#!/usr/bin/env bash
# Neural interlingua of fixed and variable length: the systems of chapter 7 of the thesis, from text to tables.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=recipes/common.sh
source "$HERE/../common.sh"

SYSTEMS="pivot mnmt fixed-universal fixed-specific variable"
REPAIRS="candidates ordinal source-length jitter repaired"
ENCODER_LAYERS=6 # of MNMT: M + N (7.2.1)
LENGTH_CANDIDATES=5

CONFIG=
SYSTEM_LIST=${SYSTEMS// /,}
SEEDS=1,10
ALL_STAGES="prepare train translate score probe report"
STAGES=${ALL_STAGES// /,}
DATA_ROOT=
OUTPUT=

usage() {
  cat << END
usage: bash recipes/interlingua/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Trains systems of Table 7.2 on English-centric data, translates supervised and zero-shot directions, scores, compares,
probes the interlingua, reports. What is complete is skipped, what was killed continues. README.md beside this file has
the paper's numbers.

  --config NAME       opus, iwslt, europarl (the paper's), multi30k (small), or a file like those in configs/
  --systems LIST      of ${SYSTEMS// /, } (Table 7.2);
                      ${REPAIRS// /, } (repairs of the length predictor, see README.md);
                      or 'all' (default: $SYSTEM_LIST)
  --seeds LIST        one training per system and seed (default: $SEEDS)
  --stages LIST       some of ${ALL_STAGES// /,} (default: all)
  --data-root DIR     local folder of the corpus, in place of a download
  --output DIR        folder for everything (default: outputs/interlingua/CONFIG)
$(usage_of_training)
$(usage_of_all)

Example: bash recipes/interlingua/run.sh --config multi30k --systems mnmt,variable --seeds 1,10 --jobs 2
END
}

read_options "$RECIPE_OPTIONS" "" "$@"

# --- check everything before anything is run --------------------------------------------------------------------

load_config "$HERE" INTERLINGUA_LENGTH
[[ $SYSTEM_LIST != all ]] || SYSTEM_LIST=$(tr ' ' , <<< "$SYSTEMS $REPAIRS")
split_lists DATA_ROOT
# shellcheck disable=SC2086  # lists of words
for system in "${SYSTEM_IDS[@]}"; do one_of --systems "$system" $SYSTEMS $REPAIRS; done

use_environment
check_launcher

OUTPUT=${OUTPUT:-outputs/interlingua/$(basename "$CONFIG_FILE" .sh)}
DATA=$OUTPUT/data/$(basename "$CONFIG_FILE" .sh) # the folder's name becomes the name of the test set in tables
PAIRS=$(english_centric "${LANGUAGES[@]}")

# The system whose model translates: pivot translation is MNMT's, and several lengths need no training of their own.
model_of() { # SYSTEM
  case $1 in
    pivot) echo mnmt ;;
    candidates) echo variable ;;
    *) echo "$1" ;;
  esac
}

name_of() { # SYSTEM: as in Table 7.2
  case $1 in
    pivot | mnmt) echo "MNMT" ;; # pivot translation is named by eval itself
    fixed-universal) echo "Len-fix. Uni. Intl." ;;
    fixed-specific) echo "Len-fix. LS. Intl." ;;
    variable) echo "Len-vari. Intl." ;;
    *) echo "Len-vari. Intl. $1" ;;
  esac
}

# Options of the model and its losses, one per line.
model_options() { # SYSTEM
  local losses=interlingua_alignment,length_prediction half=$((ENCODER_LAYERS / 2)) options=()
  if [[ $1 == mnmt ]]; then
    printf '%s\n' --arch "mnmt_$ARCHITECTURE" --encoder-layers "$ENCODER_LAYERS" "${MODEL_OPTIONS[@]}" \
      --dropout "$DROPOUT" --criterion fused_label_smoothed_cross_entropy
    return
  fi
  case $1 in
    fixed-universal) options=(--interlingua fixed-universal --interlingua-length "$INTERLINGUA_LENGTH") ;;
    fixed-specific) options=(--interlingua fixed-language-specific --interlingua-length "$INTERLINGUA_LENGTH") ;;
    ordinal) options=(--length-prediction-deviation 1) ;;
    source-length) options=(--length-predictor-source-length) ;;
    jitter) options=(--interlingua-length-jitter 0.2) ;;
    repaired) options=(--length-prediction-deviation 1 --length-predictor-source-length --interlingua-length-jitter 0.2) ;;
  esac
  [[ $1 != fixed-* ]] || losses=interlingua_alignment
  printf '%s\n' --arch "interlingua_$ARCHITECTURE" --encoder-layers "$half" \
    --interlingua-layers $((ENCODER_LAYERS - half)) "${MODEL_OPTIONS[@]}" "${options[@]}" --dropout "$DROPOUT" \
    --criterion nmt_with_auxiliary_losses --fused-vocabulary-loss --auxiliary-losses "$losses" \
    --best-checkpoint-metric nmt_loss # 7.3.2: the lowest validation loss of translation
}

# --- stages ------------------------------------------------------------------------------------------------------

# All systems of a seed start from one MNMT if the configuration has `start_settings`, the settings that it is trained with.
has_start() {
  declare -F start_settings > /dev/null
}

start_folder() { # SEED
  echo "$OUTPUT/models/start-seed$1"
}

train_start() ( # SEED
  start_settings
  train_model "$(start_folder "$1")" "$1" mnmt
)

train_system() { # SYSTEM SEED
  local start=()
  ! has_start || start=(--pretrained-checkpoint "$(start_folder "$2")/checkpoint_best.pt")
  train_model "$OUTPUT/models/$1-seed$2" "$2" "$1" "${start[@]}"
}

train_model() { # FOLDER SEED SYSTEM OPTION...
  local options
  mapfile -t options < <(model_options "$3")
  train_translation "$1" "$2" --norm-placement post --language-tags s-enc-t-dec "${options[@]}" "${@:4}"
}

train_all() {
  local system seed trained=" "
  [[ $DRY_RUN == yes || -d $DATA ]] || die "$DATA: no such folder; run the stage prepare first"
  if has_start; then
    for seed in "${SEED_LIST[@]}"; do start_job train_start "$seed"; done
    finish_jobs
  fi
  for seed in "${SEED_LIST[@]}"; do
    for system in "${SYSTEM_IDS[@]}"; do
      system=$(model_of "$system")
      [[ $trained == *" $system/$seed "* ]] && continue # asked for by several systems
      trained+="$system/$seed "
      start_job train_system "$system" "$seed"
    done
  done
  finish_jobs
}

# Fill EVALUATED, the options that translate and the probe share.
set_evaluated() { # SYSTEM SEED
  local checkpoint
  checkpoint=$OUTPUT/models/$(model_of "$1")-seed$2/checkpoint_best.pt
  [[ $DRY_RUN == yes || -e $checkpoint ]] || die "$checkpoint: no such file; run the stage train first"
  EVALUATED=(--checkpoint "$checkpoint" --data "$DATA" --beam "$BEAM" --name "$(name_of "$1")")
  [[ $1 != candidates && $1 != repaired ]] || EVALUATED+=(--length-candidates "$LENGTH_CANDIDATES")
  [[ $LAUNCHER != cpu ]] || EVALUATED+=(--cpu)
}

translate() { # SYSTEM SEED
  local pivot=()
  set_evaluated "$@"
  [[ $1 != pivot ]] || pivot=(--pivot en)
  run python -m eval translate "${EVALUATED[@]}" "${pivot[@]}" --output "$OUTPUT/translations/$1-seed$2"
}

probe() { # SYSTEM SEED
  [[ $1 != pivot && $1 != mnmt ]] || return 0 # no interlingua
  set_evaluated "$@"
  run python -m eval probe interlingua "${EVALUATED[@]}" --output "$OUTPUT/probes/$1-seed$2"
}

# Validation losses of all trainings (Figure 7.3).
probe_curves() {
  local system seed logs=()
  for system in "${SYSTEM_IDS[@]}"; do
    for seed in "${SEED_LIST[@]}"; do
      [[ $(model_of "$system") != "$system" ]] || logs+=("$(name_of "$system")=$OUTPUT/models/$system-seed$seed/train.log")
    done
  done
  [[ ${#logs[@]} == 0 ]] ||
    run python -m eval probe validation-curves "${logs[@]}" --dataset "$(basename "$DATA")" --output "$OUTPUT/probes"
}

FOLDERS=()
for system in "${SYSTEM_IDS[@]}"; do
  for seed in "${SEED_LIST[@]}"; do
    FOLDERS+=("$OUTPUT/translations/$system-seed$seed")
    PROBE_RESULTS+=("$OUTPUT/probes/$system-seed$seed/interlingua.json")
  done
done
PROBE_RESULTS+=("$OUTPUT/probes/validation-curves.json")

if has_stage prepare; then
  note "prepare: $CORPUS (${LANGUAGES[*]})"
  prepare
fi
if has_stage train; then
  note "train: systems $SYSTEM_LIST, seeds $SEEDS"
  train_all
fi
if has_stage translate; then
  for_each translate
fi
if has_stage score; then
  note "score"
  score "${FOLDERS[@]}"
fi
if has_stage probe; then
  for_each probe
  probe_curves
fi
if has_stage report; then
  note "report"
  EXISTING=()
  for file in "${PROBE_RESULTS[@]}"; do [[ ! -e $file ]] || EXISTING+=("$file"); done
  PROBE_RESULTS=("${EXISTING[@]}")
  report "$OUTPUT" "Neural interlingua: $(basename "$CONFIG_FILE" .sh)" "${FOLDERS[@]}"
fi
