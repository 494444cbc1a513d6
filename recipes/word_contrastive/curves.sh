# shellcheck shell=bash
# Learning curves: retrieval on top of the encoder as the loss falls (5.3.2). Sourced by run.sh.

# Every checkpoint that is kept, on the validation set.
stage_curves() {
  [[ $KEEP_UPDATES == 1 ]] || for_each_baseline curves
}

curves() { # BASELINE
  CURVE=()
  for_each_model curve
  [[ ${#CURVE[@]} == 0 ]] || run python -m eval probe retrieval-curves "${CURVE[@]}" --output "$OUTPUT/curves/$1"
}

# States are not extracted again for what is probed already: they take much room, and are gone.
curve() { # SYSTEM SEED
  local name checkpoint updates folder states device=()
  name=$(model_name "$@")
  [[ $LAUNCHER != cpu ]] || device=(--cpu)
  find_course "$OUTPUT/models/$name"
  for checkpoint in "${COURSE[@]}"; do
    updates=${checkpoint##*_} updates=${updates%.pt}
    folder=$OUTPUT/curves/$name/$updates states=$OUTPUT/curves/$name/$updates/states
    CURVE+=("$folder")
    [[ ! $folder/retrieval.json -nt $checkpoint ]] || continue
    run python -m eval probe states --checkpoint "$checkpoint" --data "$DATA" --name "${TABLE_NAME[$1]}" --splits valid \
      --valid-directions all --forced reference --layers encoder-norm "${device[@]}" --output "$states"
    run python -m eval probe retrieval "$states" --split valid --words "$DATA" --output "$folder"
    run rm -r "$states"
  done
}
