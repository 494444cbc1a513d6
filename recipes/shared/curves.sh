# shellcheck shell=bash
# Learning curves: how zero-shot translation and, if CURVE_LLR asks for it, language recognition change while a model is trained.
# Sourced by run.sh, which has `recognize` then.

# Every checkpoint that is kept, on the validation set, with greedy search.
stage_curves() {
  [[ $KEEP_UPDATES != 1 ]] || return 0
  local llr=()
  CURVE=() RECOGNIZED=()
  for_each_model curve
  finish_jobs checkpoints
  [[ ${#RECOGNIZED[@]} == 0 ]] || llr=(--llr "${RECOGNIZED[@]}")
  [[ ${#CURVE[@]} == 0 ]] || run python -m eval probe learning-curves "${CURVE[@]}" "${llr[@]}" --output "$OUTPUT/curves"
}

# Of some checkpoints of a model, the one with the most updates.
last_checkpoint() { # CHECKPOINT...
  local checkpoint
  for checkpoint in "$@"; do echo "$(updates_of "$checkpoint") $checkpoint"; done | sort -n | tail -n 1 | cut -d' ' -f2-
}

curve() { # SYSTEM SEED
  local name checkpoint updates folder results decoding last
  [[ ${TRAINED_AS[$1]} == "$1" ]] || return 0
  name=$(model_name "$@")
  decoding=(--data "$DATA" --beam 1 "${SEARCH_OPTIONS[@]}")
  [[ -z ${TABLE_NAME[$1]} ]] || decoding+=(--name "${TABLE_NAME[$1]}")
  [[ $LAUNCHER != cpu ]] || decoding+=(--cpu)
  find_course "$OUTPUT/models/$name"
  last=$(last_checkpoint "${COURSE[@]}")
  for checkpoint in "${COURSE[@]}"; do
    updates=$(updates_of "$checkpoint")
    folder=$OUTPUT/curves/$name/$updates
    CURVE+=("$folder")
    results=''
    if [[ $CURVE_LLR == all || ($CURVE_LLR == last && $checkpoint == "$last") ]]; then
      results=$folder/llr
      [[ $LLR_PROTOCOL == optimum ]] || results+=-$LLR_PROTOCOL
      RECOGNIZED+=("$results")
    fi
    start_job named "$name-$updates" alone "$folder" measured measure_checkpoint "$checkpoint" "$folder" "$results"
  done
}

measure_checkpoint() { # CHECKPOINT FOLDER RESULTS_OF_RECOGNITION
  run python -m eval translate --checkpoint "$1" "${decoding[@]}" --split valid --output "$2"
  run python -m eval score "$2"
  [[ -z $3 ]] || recognize_checkpoint "$@"
}

# Classifiers learn from states of the validation set and are tested on those of the test set, as for the final model. States are not
# extracted again for what is recognized already: they take much room, and are gone.
recognize_checkpoint() { # CHECKPOINT FOLDER RESULTS
  ! is_measured "$3/llr.json" "$1" || [[ -e $3/.llr.unfinished ]] || return 0
  run python -m eval probe states --checkpoint "$1" "${decoding[@]}" ${CURVE_LINES:+--max-lines "$CURVE_LINES"} \
    --output "$2/states"
  recognize "$2/states" "$3"
  run rm -r "$2/states"
}
