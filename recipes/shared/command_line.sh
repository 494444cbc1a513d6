# shellcheck shell=bash disable=SC2034,SC2153
# Reading a recipe's command line, checking it, and saying what goes on. Sourced.

DRY_RUN=no
NOTE='=='
exec 3>&2 # of notes; in a dry run they go the way of its commands, to come in their order

die() {
  local message=$*
  echo "error: ${message//$'\n'/ }" >&2
  exit 2
}

note() { echo "$NOTE $*" >&3; }

# Texts of --help, with the values of their variables.
help_of() { # NAME...
  local name
  for name in "$@"; do eval "cat << END
$(< "$ROOT/recipes/shared/help/$name.txt")
END"; done
}

# Read a command line. The options are those of the recipe's `usage`: "  --x-y VALUE  …" sets X_Y, "  --x-y  …" sets it to yes. What
# follows -- goes into EXTRA_OPTIONS.
read_options() { # ARGUMENT...
  local usage given=" " name variable
  usage=$(usage)
  while [[ $# -gt 0 && $1 != -- ]]; do
    [[ $1 != --help && $1 != -h ]] || { echo "$usage" && exit 0; }
    [[ $1 =~ ^--([a-z][a-z0-9-]*)$ && $usage == *$'\n'"  $1 "* ]] || die "unknown option '$1'; --help lists the options"
    name=$1 variable=${BASH_REMATCH[1]^^}
    [[ $given != *" $name "* ]] || die "$name: given twice, expected once"
    given+="$name "
    if [[ $usage =~ $'\n'"  $name "[A-Z] ]]; then
      [[ -n ${2:-} && $2 != --* ]] || die "$name: expected a value"
      printf -v "${variable//-/_}" %s "$2"
      shift
    else
      printf -v "${variable//-/_}" yes
    fi
    shift
  done
  EXTRA_OPTIONS=("${@:2}")
  for name in "${EXTRA_OPTIONS[@]%%=*}"; do # what tells the trainings of a recipe apart
    ! is_among "$name" --seed --save-dir --user-dir --output ||
      die "$name: is the recipe's own, which has it of every training; expected seeds and the folder of results before --"
  done
  [[ $LAUNCHER != cpu ]] || DEVICE=(--cpu)
  [[ $FORCE != yes ]] || FORCED=(--force)
}

# Fill an array with the items of a list, none of them empty, none twice.
split_list() { # OPTION LIST ARRAY
  local rest=$2, item
  local -n items=$3
  items=()
  while [[ -n $rest ]]; do
    item=${rest%%,*} rest=${rest#*,}
    [[ -n $item ]] || die "$1: found '$2', expected a list without empty items"
    ! is_among "$item" "${items[@]}" || die "$1: found '$item' twice in '$2', expected every one once"
    items+=("$item")
  done
}

joined() { # ITEM...
  local IFS=,
  echo "$*"
}

option_of() { # VARIABLE
  local name=${1,,}
  echo "--${name//_/-}"
}

check_output() {
  [[ ! -e $OUTPUT || -d $OUTPUT ]] || die "--output: $OUTPUT: is a file, expected a folder"
  [[ $OUTPUT != *:* ]] || die "--output: $OUTPUT: has a colon, which separates folders in options; expected none"
}

check_folders() { # VARIABLE_OF_OPTION...
  local variable
  for variable in "$@"; do
    [[ $DRY_RUN == yes || -z ${!variable} || -d ${!variable} ]] || die "$(option_of "$variable"): ${!variable}: no such folder"
  done
}

is_among() { # VALUE CHOICE...
  local choice
  for choice in "${@:2}"; do [[ $choice != "$1" ]] || return 0; done
  return 1
}

one_of() { # OPTION VALUE CHOICE...
  is_among "${@:2}" || die "$1: found '$2', expected one of: ${*:3}"
}

positive() { # OPTION VALUE
  [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || die "$1: found '$2', expected a whole number from 1 to 999999999" # numpy takes no larger seeds
}
