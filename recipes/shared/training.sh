# shellcheck shell=bash
# Trainings that are skipped when done, continued after a kill, and locked; several at a time. Sourced.

FORCE=no
ANEW=() # --force, for commands that train, and that store what a training reads

# Train into a folder until fairseq-train says that it is done.
train() { # RUN_FOLDER DATA OPTION...
  local folder=$1 data=$2 command
  [[ $PLAN != yes ]] || folder=$PLAN_FOLDER/$(basename "$1") # nothing is noted where it will train
  set_launch "$folder"
  set_share "$folder" "${@:3}"
  command=("${LAUNCH[@]}" "$data" --user-dir "$ROOT/fairseq_ext" --save-dir "$folder" "${SHARE[@]}" "${@:3}"
    "${LAUNCH_OPTIONS[@]}")
  if [[ $DRY_RUN == yes ]]; then
    run "${command[@]}"
  elif [[ $PLAN == yes ]]; then
    pilot "$folder" "$data" "${command[@]}"
  else
    train_or_skip "$@"
  fi
}

# A training that came to its end with the same options and data is skipped, an interrupted one continues from its
# checkpoint_last.pt, anything else is refused (fairseq_ext/training_record.py), and a folder is never trained into twice at
# a time. Runs the `command` of `train`.
train_or_skip() { # RUN_FOLDER DATA OPTION...
  local folder=$1 status=0 pid progress_pid found before
  mkdir -p "$folder"
  exec 9>> "$folder/lock" # held by fairseq-train too, but not by processes that it starts, should this script be killed before it
  lock "$folder" 9 trained
  found=$(python -m fairseq_ext begin-training --output "$folder" --data "$2" "${ANEW[@]}" -- "${@:3}") || exit 2
  if [[ $found == finished ]]; then
    note "$folder: trained, skipped"
    exec 9>&-
    return
  fi
  note_precision "$folder"
  note "$folder: training, log in train.log"
  note_cpu_seconds before
  exec 8> >(show_progress "$folder")
  progress_pid=$!
  "${command[@]}" >&8 2>&1 &
  pid=$!
  exec 8>&-
  wait_for "$pid" note_cpu_seconds_since "$before" "$folder" || status=$?
  note_cpu_seconds_since "$before" "$folder"
  wait "$progress_pid" || true # the end of the log comes before our own words
  if [[ $status != 0 ]]; then
    show_end "$folder"
    die "$folder: training failed with status $status, see $folder/train.log"
  fi
  python -m fairseq_ext finish-training --training "$folder" || exit 2
  exec 9>&-
}

# An error of ours has been shown; what else ended a training is in its last lines.
show_end() { # RUN_FOLDER
  local end
  end=$(tail -n 3 "$1/train.log" 2> /dev/null || true)
  [[ -z $end || $end == *"error: "* ]] || printf '%s\n' "$end" >&2
}

# Where the file system has no locks, or the machine no such program, nobody is refused (as in command_line/locking.py).
lock() { # FOLDER DESCRIPTOR WHAT_IS_DONE
  local status=0
  flock --nonblock "$2" 2> /dev/null || status=$?
  [[ $status != 1 ]] || die "$1: is being $3 by another process; wait for its end"
  [[ $status == 0 ]] || note "$1: cannot be locked here; have it $3 once at a time"
}

# Run a function in a shell of its own, for which a folder is locked until its commands have ended. The lock is on the folder
# itself, not on the file of `train`, which a recipe may lock meanwhile to find that the training has finished.
alone() { # FOLDER WHAT_IS_DONE COMMAND...
  apart locked "$@"
}

locked() { # FOLDER WHAT_IS_DONE COMMAND...
  if ! leaves_nothing; then
    mkdir -p "$1"
    exec 9< "$1" # held by the commands, too, should this shell be killed before them
    lock "$1" 9 "$2"
  fi
  "${@:3}"
}

# Processor seconds do not depend on what else the machine does, as the time of day does; the file cpu_seconds.txt has a line for
# each time that a training was started. With Slurm they are other machines', and there is no file.
note_cpu_seconds_since() { # SECONDS RUN_FOLDER
  local after
  [[ $LAUNCHER != slurm ]] || return 0
  note_cpu_seconds after
  awk -v a="$after" -v b="$1" 'BEGIN { printf "%.1f\n", a - b }' >> "$2/cpu_seconds.txt"
}

# Set a variable to the processor seconds of all commands that this shell has waited for.
note_cpu_seconds() { # VARIABLE
  local file user system
  file=$(mktemp)
  times > "$file" # not of a subshell, which would have waited for nothing
  { read -r _; read -r user system; } < "$file"
  rm "$file"
  printf -v "$1" %s "$(awk -F'[ms ]+' '{ print 60 * $1 + $2 + 60 * $3 + $4 }' <<< "$user $system")"
}

# A training keeps the precision of its beginning; what `auto` comes to is noted by on_device.sh.
note_precision() { # RUN_FOLDER
  local file=$1/precision.txt
  [[ $PRECISION != auto ]] || return 0
  [[ -s $file ]] || echo "$PRECISION" > "$file" # empty where a disk was full
  [[ $(< "$file") == "$PRECISION" ]] ||
    die "$1: began with --precision $(< "$file"), found $PRECISION; give that or auto, or choose another --output"
}

# The whole log into a file, one short line per report to the terminal.
show_progress() { # RUN_FOLDER
  local name
  name=$(basename "$1")
  tee -a "$1/train.log" |
    sed -un "s#^.*| INFO | \(train_inner\|valid\) | #$name: #; t show; s#^.*\(error: .*\)#$name: \1#; t show; d
      :show s#^\(.\{150\}\).*#\1#; p" >&2
}

# Fill COURSE with the checkpoints of the course of a training that are kept, and that of its end: none where there are none (yet).
find_course() { # RUN_FOLDER
  local end
  COURSE=("$1"/checkpoint_*_*.pt)
  if [[ -e ${COURSE[0]} ]]; then
    end=$(updates_of "$1/checkpoint_last.pt")
    [[ -z $end ]] || compgen -G "$1/checkpoint_*_$end.pt" > /dev/null || COURSE+=("$1/checkpoint_last.pt")
    return
  fi
  COURSE=()
  [[ $DRY_RUN == yes || $FINISHED_ONLY == yes ]] || die "$1: no checkpoints for learning curves; run the stage train first"
  note "$1: no checkpoints, no learning curve"
}

# After how many updates a checkpoint of the course of a training is; nothing of the last one of a training without a log.
updates_of() { # CHECKPOINT
  local updates=${1##*_}
  updates=${updates%.pt}
  [[ $updates != last ]] || updates=$(grep -o 'num_updates [0-9]*' "${1%/*}/train.log" 2> /dev/null | tail -n 1 | cut -d' ' -f2 || true)
  echo "$updates"
}

# Run `"$@"`, several at a time when --jobs allows, each with its share of the cores and with GPUs of its own; one that fails then
# does not stop the others.
PLACES=() # the process in each of the --jobs places
FAILED_JOBS=0
start_job() { # COMMAND...
  local place
  if [[ $JOBS == 1 ]] || leaves_nothing; then
    "$@"
    return
  fi
  trap stop_jobs INT TERM
  until find_place; do sleep 1; done
  {
    # shellcheck disable=SC2034  # run() reads it
    IN_JOB=yes
    [[ $LAUNCHER == slurm ]] || export OMP_NUM_THREADS=$THREADS # cores there are other machines'
    [[ ${#GPUS_OF_JOB[@]} == 0 ]] || export CUDA_VISIBLE_DEVICES=${GPUS_OF_JOB[place]}
    "$@"
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

# A command of a job: stopped with it, and what it says has the name of its model in front.
run_in_job() { # COMMAND...
  local pid speaker status=0
  exec 8> >(sed -u "s#^#${JOB_NAME:+$JOB_NAME: }#" >&2)
  speaker=$!
  "$@" 2>&8 8>&- &
  pid=$!
  exec 8>&-
  wait_for "$pid" || status=$?
  wait "$speaker" || true # what it said comes before our own words
  return "$status"
}

# Run a function in a shell of its own, which loses what it sets and is stopped with this one.
apart() { # COMMAND...
  ("$@") &
  wait_for $!
}

# Wait for a process of this shell, whose status this has; if the shell is stopped, stop it, too, and run a command then.
wait_for() { # PID [COMMAND...]
  local status=0
  trap 'kill "$1" 2> /dev/null; wait "$1" || true; "${@:2}"; exit 143' INT TERM
  wait "$1" || status=$?
  trap - INT TERM
  return "$status"
}

finish_jobs() { # [WHAT_THEY_WERE]
  local place failed
  for ((place = 0; place < JOBS; place++)); do leave_place; done
  failed=$FAILED_JOBS FAILED_JOBS=0
  [[ $failed == 0 ]] || die "$failed ${1:-trainings} failed; $(how_to_go_on they were)"
}

stop_jobs() {
  # shellcheck disable=SC2048,SC2086  # some places are empty
  kill ${PLACES[*]} 2> /dev/null || true
  wait || true
  die "stopped; $(how_to_go_on it was)"
}

# With --force what was trained anew is so once more; without, what its turn had not come to stays as it was before.
how_to_go_on() { # WHERE_IT_WAS...
  if [[ $FORCE == yes ]]; then
    echo "the same command trains all anew; without --force those begun continue, and older ones stay"
  else
    echo "the same command continues where $*"
  fi
}
