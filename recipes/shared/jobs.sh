# shellcheck shell=bash disable=SC2030,SC2031,SC2034 # a job has variables of its own
# Several models at a time (--jobs), each with its share of the cores and with GPUs of its own; locks; Ctrl-C. Sourced.

JOBS=1
PLACES=() # the process in each of the --jobs places
FAILED_JOBS=0

# Run a command, beside others if --jobs allows. A job that fails does not stop the others; what it sets is lost, and its name stands in
# front of the lines that it writes.
start_job() { # NAME COMMAND...
  local place speaker
  if [[ $JOBS == 1 || $DRY_RUN == yes ]]; then
    "${@:2}"
    return
  fi
  trap stop_jobs INT TERM
  until find_place; do sleep 1; done
  {
    exec 8>&2 2> >(sed -u "s#^#${1:+$1: }#" >&2)
    speaker=$!
    trap 'exec 2>&8; wait "$speaker"' EXIT # what it said comes before our own words
    [[ $LAUNCHER == slurm ]] || export OMP_NUM_THREADS=$THREADS # cores there are other machines'
    [[ ${#GPUS_OF_JOB[@]} == 0 ]] || export CUDA_VISIBLE_DEVICES=${GPUS_OF_JOB[place]}
    "${@:2}"
  } &
  PLACES[place]=$!
}

# Set the caller's `place` to one that is free.
find_place() {
  local running
  running=$(jobs -pr) running=" ${running//$'\n'/ } "
  for ((place = 0; place < JOBS; place++)); do
    [[ $running == *" ${PLACES[place]:-none} "* ]] || { leave_place && return 0; }
  done
  return 1
}

# Note how the process in `place` ended. Not later: of each `sleep` meanwhile the shell forgets who had the same number before.
leave_place() {
  [[ -z ${PLACES[place]:-} ]] || wait "${PLACES[place]}" || FAILED_JOBS=$((FAILED_JOBS + 1))
  PLACES[place]=''
}

finish_jobs() { # WHAT_THEY_WERE
  local place failed
  for ((place = 0; place < JOBS; place++)); do leave_place; done
  failed=$FAILED_JOBS FAILED_JOBS=0
  [[ $failed == 0 ]] || die "$failed $1 failed; $(how_to_go_on they were)"
}

stop_jobs() {
  # shellcheck disable=SC2048,SC2086  # some places are empty
  kill ${PLACES[*]} 2> /dev/null || true
  wait || true
  die "stopped; $(how_to_go_on it was)"
}

# With --force what was trained again is so once more; without, what its turn had not come to stays as it was before.
how_to_go_on() { # WHERE_IT_WAS...
  if [[ $FORCE == yes ]]; then
    echo "the same command trains all anew; without --force those begun continue, and older ones stay"
  else
    echo "the same command continues where $*"
  fi
}

# Run a command, or a function in a shell of its own, which loses what it sets. It is stopped with this shell.
attended() { # COMMAND...
  local status=0
  "$@" &
  # shellcheck disable=SC2064 # the number of this process
  trap "kill $! 2> /dev/null; wait $! || true; exit 143" INT TERM
  wait $! || status=$?
  trap - INT TERM
  return "$status"
}

# The same, while a folder is locked; where a file system has no locks, nobody is refused. The lock is on the folder itself, not on
# the file of a training, which a recipe may lock meanwhile to find that it has finished.
alone() { # FOLDER WHAT_IS_DONE COMMAND...
  attended locked "$@"
}

locked() { # FOLDER WHAT_IS_DONE COMMAND...
  local status=0
  if [[ $DRY_RUN != yes ]]; then
    mkdir -p "$1"
    exec 9< "$1" # held by the commands, too, should this shell be killed before them
    flock --nonblock 9 2> /dev/null || status=$?
    [[ $status != 1 ]] || die "$1: is being $2 by another process; wait for its end"
    [[ $status == 0 ]] || note "$1: cannot be locked here; have it $2 once at a time"
  fi
  "${@:3}"
}
