# shellcheck shell=bash
# Learning curves: how zero-shot translation and language recognition change while a model is trained. Sourced by run.sh.

# Every checkpoint that is kept, on the validation set, with greedy search.
stage_curves() {
  [[ $KEEP_UPDATES != 1 ]] || return 0
  CURVE=() CURVE_LLR=()
  for_each_model curve
  [[ ${#CURVE[@]} == 0 ]] ||
    run python -m eval probe learning-curves "${CURVE[@]}" --llr "${CURVE_LLR[@]}" --output "$OUTPUT/curves"
}

curve() { # SYSTEM SEED
  local name checkpoint updates folder decoding
  [[ ${TRAINED_AS[$1]} == "$1" ]] || return 0
  name=$(model_name "$@")
  decoding=(--data "$DATA" --beam 1 "${SEARCH_OPTIONS[@]}")
  [[ $LAUNCHER != cpu ]] || decoding+=(--cpu)
  for checkpoint in "$OUTPUT/models/$name"/checkpoint_*_*.pt; do
    if [[ ! -e $checkpoint ]]; then
      [[ $DRY_RUN == yes ]] || die "$OUTPUT/models/$name: no checkpoints for learning curves; run the stage train first"
      return 0
    fi
    updates=${checkpoint##*_} updates=${updates%.pt}
    folder=$OUTPUT/curves/$name/$updates
    run python -m eval translate --checkpoint "$checkpoint" "${decoding[@]}" --split valid --output "$folder"
    run python -m eval score "$folder"
    CURVE+=("$folder")
    curve_llr "$checkpoint" "$folder"
  done
}

# States are not extracted again for what is recognized already: they take much room, and are gone.
curve_llr() { # CHECKPOINT FOLDER
  CURVE_LLR+=("$2/llr")
  [[ ! $2/llr/llr.json -nt $1 ]] || return 0
  run python -m eval probe states --checkpoint "$1" "${decoding[@]}" --max-lines "$CURVE_LINES" --output "$2/states"
  run python -m eval probe llr "$2/states" --output "$2/llr"
  run rm -r "$2/states"
}
