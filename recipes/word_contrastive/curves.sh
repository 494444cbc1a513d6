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
    updates=$(updates_of "$checkpoint")
    folder=$OUTPUT/curves/$name/$updates
    CURVE+=("$folder")
    ! is_measured "$folder/retrieval.json" "$checkpoint" || [[ -e $folder/.retrieval.unfinished ]] || continue
    start_job named "$name-$updates" alone "$folder" measured retrieve "$folder/states" "$folder" --checkpoint "$checkpoint" --data "$DATA" \
      --name "${TABLE_NAME[$1]}" "${device[@]}"
  done
}
