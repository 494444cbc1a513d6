# shellcheck shell=bash disable=SC2034
# Reading a recipe's command line, checking it, saying what goes on, and running a command or printing it. Sourced.

DRY_RUN=no

die() {
  echo "error: $*" >&2
  exit 2
}

note() {
  echo "== $*" >&2
}

# Run a command; with --dry-run print it so that it can be pasted into a shell.
run() {
  local word
  if [[ $DRY_RUN != yes ]]; then
    "$@"
    return
  fi
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_./:=,@+-]+$ ]]; then printf '%s ' "$word"; else printf '%q ' "$word"; fi
  done
  echo
}

# Read a command line. Option --x-y VALUE sets X_Y (or NAME, given as x-y=NAME), a flag sets it to yes, and what follows
# -- goes into EXTRA_OPTIONS. All recipes have --dry-run and --help.
read_options() { # OPTIONS FLAGS ARGUMENT...
  local options=" $1 " flags=" $2 dry-run " name variable
  shift 2
  while [[ $# -gt 0 && $1 != -- ]]; do
    [[ $1 != --help && $1 != -h ]] || { usage && exit 0; }
    name=${1#--} variable=$(tr 'a-z-' 'A-Z_' <<< "${1#--}")
    if [[ $1 == --* && $flags == *" $name "* ]]; then
      printf -v "$variable" yes
      shift
    elif [[ $1 == --* && $options =~ " $name"(=([A-Z_]+))?" " ]]; then
      [[ $# -ge 2 && $2 != --* ]] || die "$1: expected a value"
      printf -v "${BASH_REMATCH[2]:-$variable}" %s "$2"
      shift 2
    else
      die "unknown option '$1'; --help lists the options"
    fi
  done
  EXTRA_OPTIONS=("${@:2}")
}

# Split the lists of a command line into SYSTEM_IDS, SEED_LIST and STAGE_LIST, and check seeds and stages.
split_lists() {
  local seed stage
  # shellcheck disable=SC2034  # used by the driver
  IFS=, read -ra SYSTEM_IDS <<< "$SYSTEM_LIST"
  IFS=, read -ra SEED_LIST <<< "$SEEDS"
  IFS=, read -ra STAGE_LIST <<< "$STAGES"
  for seed in "${SEED_LIST[@]}"; do positive --seeds "$seed"; done
  # shellcheck disable=SC2086  # a list of words
  for stage in "${STAGE_LIST[@]}"; do one_of --stages "$stage" $ALL_STAGES; done
}

check_folders() { # VARIABLE_OF_OPTION...
  local option
  for option in "$@"; do
    [[ $DRY_RUN == yes || -z ${!option} || -d ${!option} ]] || die "--$(tr 'A-Z_' 'a-z-' <<< "$option"): ${!option}: no such folder"
  done
}

one_of() { # OPTION VALUE CHOICE...
  local option=$1 value=$2
  shift 2
  [[ " $* " == *" $value "* ]] || die "$option: found '$value', expected one of: $*"
}

positive() { # OPTION VALUE
  [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1: found '$2', expected a whole number above 0"
}

# The last lines of --help.
usage_of_all() {
  cat << END
  --dry-run           print the commands, run nothing
  --help              this text
END
}
