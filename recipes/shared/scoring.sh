# shellcheck shell=bash
# Scores, comparisons and the report. Sourced.

# With COMET where a model is given.
COMET='' COMET_PYTHON='' COMET_BATCH_SIZE=16
SCORE_OPTIONS=() # of eval score: how BLEU tokenizes
score() {
  local comet=()
  [[ -z $COMET ]] || comet=(--comet-model "$COMET" --comet-batch-size "$COMET_BATCH_SIZE")
  [[ -z $COMET_PYTHON ]] || comet+=(--comet-python "$COMET_PYTHON")
  run python -m eval score "${FOLDERS[@]}" "${SCORE_OPTIONS[@]}" "${comet[@]}"
}

check_comet() {
  positive --comet-batch-size "$COMET_BATCH_SIZE"
  [[ -z $COMET_PYTHON || -n $COMET ]] || die "--comet-python: expected together with --comet"
}

usage_of_comet() {
  cat << END
  --comet MODEL       score with COMET, too: a name such as Unbabel/wmt22-comet-da, or a local folder or checkpoint
  --comet-python PATH interpreter of an environment that has unbabel-comet (default: that of the recipe)
  --comet-batch-size N  lines that COMET reads at a time (default: $COMET_BATCH_SIZE)
END
}

# What the probes found, in the order of the report: those files of run.sh's probes that there are.
PROBE_RESULTS=()
add_probe_files() { # FILE...
  local file
  for file in "$@"; do [[ ! -e $file ]] || PROBE_RESULTS+=("$file"); done
}

# Fill PAIRS_TO_COMPARE: those of COMPARISONS, BASELINE:SYSTEM each, of which both are among the folders.
COMPARISONS=() # what a recipe compares besides systems that differ on one axis only
set_pairs() { # FOLDER...
  local pair baseline system
  PAIRS_TO_COMPARE=()
  for pair in "${COMPARISONS[@]}"; do
    baseline=$(folder_of "${pair%:*}" "$@") system=$(folder_of "${pair#*:}" "$@")
    [[ -z $baseline || -z $system ]] || PAIRS_TO_COMPARE+=("$baseline:$system")
  done
  [[ ${#PAIRS_TO_COMPARE[@]} == 0 ]] || PAIRS_TO_COMPARE=(--pairs "${PAIRS_TO_COMPARE[@]}")
}

# The first of the folders that is of a system; nothing where there is none.
folder_of() { # SYSTEM FOLDER...
  local folder name
  name=$(model_name "$1" "")
  for folder in "${@:2}"; do
    [[ ! ${folder##*/} =~ ^"$name"[0-9]+$ ]] || { echo "$folder" && return 0; }
  done
}

# What the trainings took that have ended: those of the folders of translations, and all starts that there are.
measure_cost() { # OUTPUT FOLDER...
  local model logs=()
  for model in "${@:2}" "$OUTPUT"/models/{start,pretrained}*-seed*; do
    add_log_of "$OUTPUT/models/${model##*/}"
  done
  for model in "$OUTPUT"/pretrained/*-seed*; do add_log_of "$model" pretrained-; done # of jass_enss
  [[ ${#logs[@]} -gt 0 ]] || return 0
  run python -m eval probe cost "${logs[@]}" --dataset "${NAME:-$(basename "$OUTPUT")}" \
    --reference "$ROOT/recipes/zero_shot/reference.csv" --output "$1/cost"
  PROBE_RESULTS+=("$1/cost/cost.json")
}

add_log_of() { # RUN_FOLDER [PREFIX_OF_NAME]
  [[ ! -e $1/train.log ]] || ! has_ended "$1" || logs+=("${2:-}$(basename "${1%-seed*}")=$1/train.log")
}

# Compare every two systems that differ on one axis, and those of COMPARISONS, if there are several systems, and write the
# report, with what probes found and what the trainings took.
report() { # OUTPUT TITLE NUMBER_OF_SYSTEMS FOLDER...
  local comparison=() metrics=() PAIRS_TO_COMPARE
  measure_cost "$1" "${@:4}"
  [[ -z $COMET ]] || metrics=(--metric "bleu,comet")
  set_pairs "${@:4}"
  if [[ $3 -gt 1 ]]; then
    run python -m eval compare "${@:4}" "${metrics[@]}" "${PAIRS_TO_COMPARE[@]}" \
      --output "$1/comparison.json"
    comparison=("$1/comparison.json")
  fi
  run python -m eval report "${@:4}" "${comparison[@]}" "${PROBE_RESULTS[@]}" --output "$1/report" --title "$2"
  [[ $DRY_RUN == yes ]] || note "report: $1/report/report.html"
}
