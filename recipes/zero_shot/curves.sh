# shellcheck shell=bash
# Learning curves: how zero-shot translation and language recognition change while a model is trained. Sourced by run.sh.

# Every checkpoint that is kept, on the validation set, with greedy search.
stage_curves() {
  [[ $KEEP_UPDATES != 1 ]] || return 0
  local llr=()
  CURVE=() RECOGNIZED=()
  for_each_model curve
  [[ ${#RECOGNIZED[@]} == 0 ]] || llr=(--llr "${RECOGNIZED[@]}")
  [[ ${#CURVE[@]} == 0 ]] || run python -m eval probe learning-curves "${CURVE[@]}" "${llr[@]}" --output "$OUTPUT/curves"
}

# Of some checkpoints of a model, the one with the most updates.
last_checkpoint() { # CHECKPOINT...
  printf '%s\n' "$@" | sed 's/.*_\([0-9]*\)\.pt$/\1 &/' | sort -n | tail -1 | cut -d' ' -f2-
}

curve() { # SYSTEM SEED
  local name checkpoint updates folder decoding last
  [[ ${TRAINED_AS[$1]} == "$1" ]] || return 0
  name=$(model_name "$@")
  decoding=(--data "$DATA" --beam 1 "${SEARCH_OPTIONS[@]}")
  [[ -z ${TABLE_NAME[$1]} ]] || decoding+=(--name "${TABLE_NAME[$1]}")
  [[ $LAUNCHER != cpu ]] || decoding+=(--cpu)
  find_course "$OUTPUT/models/$name"
  last=$(last_checkpoint "${COURSE[@]}")
  for checkpoint in "${COURSE[@]}"; do
    updates=${checkpoint##*_} updates=${updates%.pt}
    folder=$OUTPUT/curves/$name/$updates
    run python -m eval translate --checkpoint "$checkpoint" "${decoding[@]}" --split valid --output "$folder"
    run python -m eval score "$folder"
    CURVE+=("$folder")
    [[ $CURVE_LLR == none || ($CURVE_LLR == last && $checkpoint != "$last") ]] || curve_llr "$checkpoint" "$folder"
  done
}

# Classifiers learn from states of the validation set and are tested on those of the test set, as for the final model. States are not
# extracted again for what is recognized already: they take much room, and are gone.
curve_llr() { # CHECKPOINT FOLDER
  local results=$2/llr
  [[ $LLR_PROTOCOL == converged ]] || results+=-$LLR_PROTOCOL
  RECOGNIZED+=("$results")
  [[ ! $results/llr.json -nt $1 ]] || return 0
  run python -m eval probe states --checkpoint "$1" "${decoding[@]}" --max-lines "$CURVE_LINES" --output "$2/states"
  recognize "$2/states" "$results"
  run rm -r "$2/states"
}
