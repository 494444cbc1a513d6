# shellcheck shell=bash disable=SC2034
# --finished-only: evaluate what there is while other trainings go on, whatever number of seeds each system has by then. Sourced.

FINISHED_ONLY=no
PROBE_READS=translate.json # what stage probe needs of translations, besides their model; '': nothing
declare -A FINISHED # the models that are left, as list_models writes them

# The stages after the last one that trains.
stages_after_training() {
  # shellcheck disable=SC2086  # a list of words
  echo ${ALL_STAGES##*"${TRAINING_STAGES##* }"}
}

# A line per model whose training has come to its end.
list_finished() {
  python -m fairseq_ext finished-trainings "$OUTPUT/models"
}

# Leave systems and seeds out that the stages asked for could not go on with.
choose_finished() {
  local line model name ended systems=() listed
  [[ $FINISHED_ONLY == yes ]] || return 0
  mapfile -t listed < <(list_models)
  ended=$(list_finished) || exit 2
  mapfile -t ended <<< "$ended"
  for line in "${listed[@]}"; do
    read -ra model <<< "$line"
    name=$(model_name "${TRAINED_AS[${model[0]}]}" "${model[@]:1}")
    is_among "$name" "${ended[@]}" || continue
    has_what_is_read "${model[@]}" || continue
    FINISHED[$line]=yes
    is_among "${model[0]}" "${systems[@]}" || systems+=("${model[0]}")
  done
  [[ ${#systems[@]} -gt 0 ]] || die "--finished-only: $OUTPUT: no system and seed is there yet for --stages $STAGES"
  SYSTEM_IDS=("${systems[@]}")
  note "finished: ${#FINISHED[@]} of ${#listed[@]} systems and seeds"
}

# Whether what the stages read besides the model is there: stages that make no translations read those of before.
has_what_is_read() { # SYSTEM SEED
  local needed=translate.json FOLDERS=() folder
  ! has_stage translate || return 0
  if has_stage report && ! has_stage score; then
    needed=scores.json
  elif ! has_stage score; then
    needed=
    ! has_stage probe || needed=$PROBE_READS
  fi
  [[ -n $needed ]] || return 0
  add_folder "$@"
  for folder in "${FOLDERS[@]}"; do [[ -e $folder/$needed ]] || return 1; done
}
