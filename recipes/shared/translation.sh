# shellcheck shell=bash disable=SC2034,SC2153
# What recipes share that translate: the options of eval, COMET, learning curves, comparisons and the report. Sourced.

SCORE_OPTIONS=() # of eval score: how BLEU tokenizes
COMPARISONS=()   # BASELINE:SYSTEM that are compared besides systems that differ on one axis only
PROBE_RESULTS=() # files, in the order of the report
PROBE_READS=translate.json # what the stage probe needs of translations, besides their model; '': nothing

usage_of_comet() {
  cat << END
  --comet MODEL       score with COMET, too: a name such as Unbabel/wmt22-comet-da, or a local folder or checkpoint
  --comet-python PATH interpreter of an environment that has unbabel-comet (default: that of the recipe)
  --comet-batch-size N  lines that COMET reads at a time (default: $COMET_BATCH_SIZE)
END
}

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

# --- learning curves of the checkpoints that are kept ---------------------------------------------------------------

# Call `"$@" NAME-UPDATES FOLDER CHECKPOINT` for every checkpoint of the course of a training, the last one last.
for_each_checkpoint() { # MODEL_NAME COMMAND...
  local lines line
  mapfile -t lines < <(course_of "$OUTPUT/models/$1")
  if [[ ${#lines[@]} == 0 ]]; then
    leaves_nothing || [[ $FINISHED_ONLY == yes ]] || die "$OUTPUT/models/$1: no checkpoints for learning curves; run the stage train first"
    note "$OUTPUT/models/$1: no checkpoints, no learning curve"
  fi
  for line in "${lines[@]}"; do "${@:2}" "$1-${line%% *}" "$OUTPUT/curves/$1/${line%% *}" "${line#* }"; done
}

# A line "UPDATES CHECKPOINT" per checkpoint of the course of a training that is kept, and of its end, in this order.
course_of() { # RUN_FOLDER
  local path updates
  any_file "$1"/checkpoint_*_*.pt || return 0
  for path in "$1"/checkpoint_*_*.pt; do
    updates=${path##*_}
    echo "${updates%.pt} $path"
  done | sort -n
  updates=$(grep -o 'num_updates [0-9]*' "$1/train.log" 2> /dev/null | tail -n 1 | cut -d' ' -f2) || true
  [[ -z $updates ]] || any_file "$1"/checkpoint_*_"$updates".pt || echo "$updates $1/checkpoint_last.pt"
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
  local logs=() pairs=() comparison=()
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
  run python -m eval report "${@:4}" "${comparison[@]}" "${PROBE_RESULTS[@]}" --output "$1/report" --title "$2"
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
folder_of() { # SYSTEM FOLDER...
  local folder name
  name=$(model_name "$1" "")
  for folder in "${@:2}"; do
    [[ ! ${folder##*/} =~ ^"$name"[0-9]+$ ]] || { echo "$folder" && return 0; }
  done
}
