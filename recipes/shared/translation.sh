# shellcheck shell=bash disable=SC2034,SC2153
# What recipes share that translate: the options of eval, COMET, learning curves, comparisons and the report. Sourced.

COMET='' COMET_PYTHON='' COMET_BATCH_SIZE=16
SCORE_OPTIONS=() # of eval score: how BLEU tokenizes
COMPARISONS=()   # BASELINE:SYSTEM that are compared besides systems that differ on one axis only
PROBE_RESULTS=() # files, in the order of the report
PROBE_READS=translate.json # what the stage probe needs of translations, besides their model; '': nothing

check_comet() {
  positive --comet-batch-size "$COMET_BATCH_SIZE"
  [[ -z $COMET_PYTHON || -n $COMET ]] || die "--comet-python: expected together with --comet"
  COMET_OPTIONS=() METRICS=()
  [[ -z $COMET ]] || COMET_OPTIONS=(--comet-model "$COMET" --comet-batch-size "$COMET_BATCH_SIZE") METRICS=(--metric "bleu,comet")
  [[ -z $COMET_PYTHON ]] || COMET_OPTIONS+=(--comet-python "$COMET_PYTHON")
}

# Fill EVALUATED, the options that translation and probes share.
set_evaluated() { # SYSTEM SEED
  local OPTIONS checkpoint
  checkpoint=$(checkpoint_of "$@")
  set_evaluation_options "$1"
  EVALUATED=(--checkpoint "$checkpoint" --data "$DATA" --beam "$BEAM" "${SEARCH_OPTIONS[@]}" "${OPTIONS[@]}")
  [[ -z ${TABLE_NAME[$1]} ]] || EVALUATED+=(--name "${TABLE_NAME[$1]}")
  EVALUATED+=("${DEVICE[@]}")
}

# Call `"$@" NAME-UPDATES FOLDER CHECKPOINT` for every checkpoint of the course of a training, the last one last. LAST is that one.
for_each_checkpoint() { # MODEL_NAME COMMAND...
  local lines=() line
  [[ ! -d $OUTPUT/models/$1 ]] || mapfile -t lines < <(python -m fairseq_ext checkpoints "$OUTPUT/models/$1")
  if [[ ${#lines[@]} == 0 ]]; then
    [[ $DRY_RUN == yes || $FINISHED_ONLY == yes ]] || die "$OUTPUT/models/$1: no checkpoints for learning curves; run the stage train first"
    note "$OUTPUT/models/$1: no checkpoints, no learning curve"
    return 0
  fi
  LAST=${lines[-1]#* }
  for line in "${lines[@]}"; do "${@:2}" "$1-${line%% *}" "$OUTPUT/curves/$1/${line%% *}" "${line#* }"; done
}

# --- scores and report ---------------------------------------------------------------------------------------------

# Whether what the stages read besides the model is there: stages that make no translations read those of before.
has_what_is_read() { # SYSTEM SEED
  local file=translate.json FOLDERS=() folder
  ! has_stage translate || return 0
  if ! has_stage score; then
    file=''
    ! has_stage probe || file=$PROBE_READS
    ! has_stage report || file=scores.json
  fi
  [[ -n $file ]] || return 0
  add_folder "$@"
  for folder in "${FOLDERS[@]}"; do [[ -e $folder/$file ]] || return 1; done
}

score() { run python -m eval score "${FOLDERS[@]}" "${SCORE_OPTIONS[@]}" "${COMET_OPTIONS[@]}"; }

# Add those results of probes that there are.
add_probe_files() { # FILE...
  local file
  for file in "$@"; do [[ ! -e $file ]] || PROBE_RESULTS+=("$file"); done
}

# What the trainings took, the comparison of every two systems that differ on one axis and of COMPARISONS, and the report.
report() { # OUTPUT TITLE NUMBER_OF_SYSTEMS FOLDER...
  local logs=() pairs=() comparison=() reference=()
  set_logs "${@:4}"
  if [[ ${#logs[@]} -gt 0 ]]; then
    run python -m eval probe cost "${logs[@]}" --dataset "$NAME" --reference "$ROOT/recipes/zero_shot/reference.csv" --output "$1/cost"
    PROBE_RESULTS+=("$1/cost/cost.json")
  fi
  if [[ $3 -gt 1 ]]; then
    set_pairs "${@:4}"
    run python -m eval compare "${@:4}" "${METRICS[@]}" "${pairs[@]}" --output "$1/comparison.json"
    comparison=("$1/comparison.json")
  fi
  [[ ! -f $HERE/reference.csv ]] || reference=(--reference "$HERE/reference.csv")
  run python -m eval report "${@:4}" "${comparison[@]}" "${PROBE_RESULTS[@]}" "${reference[@]}" --output "$1/report" --title "$2"
  note_report "$1"
}

# Fill `logs`, NAME=LOG of the trainings that have ended: of translations, and of what their models started from.
set_logs() { # FOLDER...
  local folder model prefix
  for folder in "$@" "$OUTPUT"/models/{start,pretrained}*-seed* "$OUTPUT"/pretrained/*-seed*; do
    model=$OUTPUT/models/${folder##*/} prefix=''
    [[ $folder != "$OUTPUT"/pretrained/* ]] || model=$folder prefix=pretrained- # of jass_enss
    [[ ! -e $model/train.log ]] || ! has_ended "$model" || logs+=("$prefix$(basename "${model%-seed*}")=$model/train.log")
  done
}

# Fill `pairs`: the option with those COMPARISONS of which both systems are among the folders.
set_pairs() { # FOLDER...
  local pair baseline system
  for pair in "${COMPARISONS[@]}"; do
    baseline=$(folder_of "${pair%:*}" "$@") system=$(folder_of "${pair#*:}" "$@")
    [[ -z $baseline || -z $system ]] || pairs+=("$baseline:$system")
  done
  [[ ${#pairs[@]} == 0 ]] || pairs=(--pairs "${pairs[@]}")
}

# The first of the folders that is of a system; nothing where there is none.
folder_of() { printf '%s\n' "${@:2}" | grep -m 1 -x ".*/$(model_name "$1" '')[0-9]\+" || true; } # SYSTEM FOLDER...
