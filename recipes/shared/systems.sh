# shellcheck shell=bash disable=SC2034
# The table of a recipe's systems, `systems.sh` beside its run.sh. Sourced. A row is
#
#   id | trained as | training options | evaluation options | name in tables
#
# "trained as" is the system whose model this one uses, for systems without a training of their own; without a name, eval
# makes one from the model's options. Settings of the configuration ($NAME) may stand in a row.

KNOWN_SYSTEMS=()
DEFAULT_SYSTEMS=() # what is trained without --systems
declare -A TRAINED_AS TRAINING_OPTIONS EVALUATION_OPTIONS TABLE_NAME

# Rows from standard input: systems that are trained by default, and others.
default_systems() {
  local before=${#KNOWN_SYSTEMS[@]}
  other_systems
  DEFAULT_SYSTEMS+=("${KNOWN_SYSTEMS[@]:before}")
}

other_systems() {
  local id trained_as training evaluation name
  while IFS='|' read -r id trained_as training evaluation name; do
    read -r id <<< "$id" # without the blanks around it
    KNOWN_SYSTEMS+=("$id")
    read -r trained_as <<< "$trained_as"
    TRAINED_AS[$id]=${trained_as:-$id}
    TRAINING_OPTIONS[$id]=$training
    EVALUATION_OPTIONS[$id]=$evaluation
    read -r name <<< "$name"
    TABLE_NAME[$id]=$name
  done
}

# Read the table, after the configuration whose settings it uses.
load_systems() { # FILE
  KNOWN_SYSTEMS=() DEFAULT_SYSTEMS=()
  # shellcheck disable=SC1090
  source "$1"
}
