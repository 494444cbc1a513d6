# shellcheck shell=bash disable=SC2034
# What systems start from. All of a seed and of one placement of tags start from one MNMT if the configuration has `start_settings`, the
# settings that it is trained with. That of SYSTEM@PRETRAINING is trained half as long, with `pretraining_settings`, from a model that
# was pre-trained for the other half, so that all systems see as many updates. Sourced by run.sh.

has_start() {
  declare -F start_settings > /dev/null
}

has_pretraining() {
  declare -F pretraining_settings > /dev/null
}

# The system that the start of a system is, but for its training.
start_of() { # SYSTEM
  local start=mnmt
  [[ $1 != t-enc* ]] || start=t-enc
  [[ $1 != *@* ]] || start+=@${1##*@}
  echo "$start"
}

start_folder() { # STARTING_SYSTEM SEED
  local name=start-$1
  echo "$OUTPUT/models/${name/start-mnmt/start}-seed$2"
}

pretrained_folder() { # PRETRAINING SEED
  echo "$OUTPUT/models/pretrained-$1-seed$2"
}

# Pre-trainings first: starts that differ in their tags share one.
train_starts() {
  local start starts pretrainings system one seed
  need_data "$DATA"
  [[ $FORCE != yes ]] ||
    note "--force: what these systems start from is trained anew, too; systems that are not among them no longer share it"
  starts=$(for system in "${SYSTEM_IDS[@]}"; do start_of "$system"; done | sort -u)
  pretrainings=$(for start in $starts; do [[ $start != *@* ]] || echo "${start##*@}"; done | sort -u)
  for one in $pretrainings; do
    for seed in "${SEED_LIST[@]}"; do start_job apart pretrain "$one" "$seed"; done
  done
  finish_jobs
  for start in $starts; do
    for seed in "${SEED_LIST[@]}"; do start_job apart train_start "$start" "$seed"; done
  done
  finish_jobs
}

# Of a shell of its own, as the settings are those of this training (`apart`).
pretrain() { # PRETRAINING SEED
  pretraining_settings
  read -ra options <<< "$(pretraining_options "$1")"
  train_configured "$(pretrained_folder "$@")" "$2" --task linguistic_pretraining "${options[@]}"
}

# Likewise.
train_start() { # STARTING_SYSTEM SEED
  from=()
  if [[ $1 == *@* ]]; then
    pretraining_settings
    from=(--pretrained-checkpoint "$(pretrained_folder "${1##*@}" "$2")/checkpoint_best.pt")
  else
    start_settings
  fi
  load_systems "$HERE/systems.sh"
  read -ra options <<< "${TRAINING_OPTIONS[$1]}"
  train_translation "$(start_folder "$@")" "$2" "${options[@]}" "${from[@]}"
}
