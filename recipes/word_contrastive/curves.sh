# shellcheck shell=bash
# Learning curves: retrieval on top of the encoder as the loss falls (5.3.2). Sourced by run.sh.

# Every checkpoint that is kept, on the validation set.
stage_curves() {
  [[ $KEEP_UPDATES == 1 ]] || for_each_baseline curves
}

curves() { # BASELINE
  CURVE=()
  for_each_model curve
  finish_jobs checkpoints
  [[ ${#CURVE[@]} == 0 ]] || run python -m eval probe retrieval-curves "${CURVE[@]}" --output "$OUTPUT/curves/$1"
}

curve() { # SYSTEM SEED
  local name checkpoint updates folder device=()
  name=$(model_name "$@")
  [[ $LAUNCHER != cpu ]] || device=(--cpu)
  find_course "$OUTPUT/models/$name"
  for checkpoint in "${COURSE[@]}"; do
    updates=${checkpoint##*_} updates=${updates%.pt}
    folder=$OUTPUT/curves/$name/$updates
    CURVE+=("$folder")
    start_job named "$name-$updates" retrieve "$checkpoint" "$folder" --name "${TABLE_NAME[$1]}" "${device[@]}"
  done
}

# States are not extracted again for what is probed already: they take much room, and are gone.
retrieve() { # CHECKPOINT FOLDER OPTION...
  [[ ! $2/retrieval.json -nt $1 ]] || return 0
  run python -m eval probe states --checkpoint "$1" --data "$DATA" "${@:3}" --splits valid --valid-directions all \
    --forced reference --layers encoder-norm --output "$2/states"
  run python -m eval probe retrieval "$2/states" --split valid --words "$DATA" --output "$2"
  run rm -r "$2/states"
}
