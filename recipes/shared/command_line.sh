# shellcheck shell=bash disable=SC2034,SC2153
# Reading a recipe's command line, checking it, and saying what goes on. Sourced.

DRY_RUN=no
PLAN=no

die() {
  local message=$*
  echo "error: ${message//$'\n'/ }" >&2
  exit 2
}

note() {
  echo "== $*" >&2
}

# Read a command line. Option --x-y VALUE sets X_Y (or NAME, given as x-y=NAME), a flag sets it to yes, and what follows
# -- goes into EXTRA_OPTIONS. All recipes have --dry-run and --help.
read_options() { # OPTIONS FLAGS ARGUMENT...
  local options=" $1 " flags=" $2 dry-run " given=" " name variable
  shift 2
  while [[ $# -gt 0 && $1 != -- ]]; do
    [[ $1 != --help && $1 != -h ]] || { usage && exit 0; }
    [[ $1 =~ ^--([a-z][a-z0-9-]*)$ ]] || die "unknown option '$1'; --help lists the options"
    name=${BASH_REMATCH[1]} variable=${BASH_REMATCH[1]^^} variable=${variable//-/_}
    [[ $given != *" $name "* ]] || die "$1: given twice, expected once"
    given+="$name "
    if [[ $flags == *" $name "* ]]; then
      printf -v "$variable" yes
      shift
    elif [[ $options =~ " $name"(=([A-Z_]+))?" " ]]; then
      [[ -n ${2:-} && $2 != --* ]] || die "$1: expected a value"
      printf -v "${BASH_REMATCH[2]:-$variable}" %s "$2"
      shift 2
    else
      die "unknown option '$1'; --help lists the options"
    fi
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

# Whether what stages leave to each other need not be there.
leaves_nothing() {
  [[ $DRY_RUN == yes || $PLAN == yes ]]
}

# Whether a pattern, which the shell leaves as it is where no file has it, names files.
any_file() { # FILE...
  [[ -e $1 ]]
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
  [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1: found '$2', expected a whole number above 0"
  [[ ${#2} -lt 10 ]] || die "$1: found '$2', expected at most 999999999" # numpy takes no larger seeds, bash no larger sums
}

# The last lines of --help.
usage_of_all() {
  cat << END
  --dry-run           print the commands, run nothing
  --help              this text
END
}
