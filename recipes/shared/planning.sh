# shellcheck shell=bash
# --plan: what the trainings will take, from a pilot of each. Sourced.

PILOT_SECONDS=30
PLAN_FOLDER=

# Of the stages asked for, those that train.
plan_stages() {
  local stage asked=("${STAGE_LIST[@]}")
  [[ $DRY_RUN != yes ]] || die "--plan: runs a little of every training, and --dry-run nothing; expected one of them"
  STAGE_LIST=()
  # shellcheck disable=SC2086  # a list of words
  for stage in "${asked[@]}"; do ! is_among "$stage" $TRAINING_STAGES || STAGE_LIST+=("$stage"); done
  [[ ${#STAGE_LIST[@]} -gt 0 ]] || die "--plan: found --stages $STAGES, expected one of: $TRAINING_STAGES"
  PLAN_FOLDER=$(mktemp -d)
  trap 'rm -r "$PLAN_FOLDER"' EXIT
}

# Run the command of a training for a while, in a temporary folder; seeds are as fast as each other.
pilot() { # RUN_FOLDER DATA COMMAND...
  local name missing=()
  name=$(basename "$1")
  [[ -d $2 ]] || missing=(--not-prepared)
  [[ ${#missing[@]} -gt 0 || -e $PLAN_FOLDER/${name%-seed*}.json ]] || note "$name: a pilot of $PILOT_SECONDS seconds"
  python -m fairseq_ext pilot --output "$PLAN_FOLDER" --data "$2" "${missing[@]}" --name "${name%-seed*}" \
    --seconds "$PILOT_SECONDS" -- "${@:3}"
}

show_plan() {
  python -m fairseq_ext plan "$PLAN_FOLDER"
}
