# shellcheck shell=bash disable=SC2034
# How commands are started: here or in a step of Slurm, or printed. `fairseq_ext run-training` starts trainings. Sourced.

LAUNCHER=cpu
GPUS=1 # of one training, on each of its nodes
NODES=1
CPUS_PER_TASK=
JOBS_PER_GPU=1
PRECISION=auto
FORCE=no
FORCED=()      # --force, for commands that train, and that store what a training reads
DEVICE=()      # --cpu, for commands that run a model
GPUS_OF_JOB=() # those of each job that runs at a time
PLACE=''       # of a training among those of a stage, '3 of 24'
COLLECTS=no    # are results collected, and not measured?

# Run a command, or print it for a dry run. With slurm, every step of ours is an srun. Nodes of a cluster often have no network:
# what downloads stays where the recipe runs.
run() { # COMMAND...
  local place=() gpu=()
  [[ $COLLECTS == no ]] || return 0
  if [[ $LAUNCHER == slurm && $1 == python && " $* " != *" -m data_prep download "* ]]; then
    case " $* " in
      *" -m eval translate "* | *" -m eval probe states "* | *" -m eval probe interlingua "* | *" -m eval adequacy "* | \
        *" -m eval score "*" --comet"* | *" -m embeddings "* | *" -m llm translate "* | *" -m llm states "*) gpu=(--gpus-per-node 1) ;;
    esac
    place=(srun --nodes 1 --ntasks 1 "${gpu[@]}" "${CORES[@]}" --job-name "$RECIPE")
  fi
  place+=("$@")
  if [[ $DRY_RUN == yes ]]; then echo "${place[@]@Q}"; else attended "${place[@]}"; fi
}

# Run a command that measures, with its output in the folder of its results.
measure() { # RESULTS COMMAND...
  if [[ $COLLECTS == yes ]]; then RESULTS+=("$1"); else run "${@:2}" --output "${1%/*}"; fi
}

# Run nothing of a function, and add to RESULTS what its commands measure.
collect() { # COMMAND...
  local COLLECTS=yes
  "$@"
}

# Whether there are results of all that the commands of a function measure.
are_measured() { # COMMAND...
  local RESULTS=() file
  collect "$@"
  for file in "${RESULTS[@]}"; do [[ -e $file ]] || return 1; done
}

needs_result() { # FILE STAGE
  [[ $DRY_RUN == yes || -e $1 ]] || die "$1: no such file; run the stage $2 first"
}

# Start a training as --launcher says, skip it if it has finished, resume it if it was stopped.
train() { # fairseq-train DATA --save-dir FOLDER OPTION...
  local command=(python -m fairseq_ext run-training --output "$4" --data "$2" --launcher "$LAUNCHER" --gpus "$GPUS" --nodes "$NODES"
    --threads "$THREADS" "${CORES[@]}" --precision "$PRECISION" "${FORCED[@]}" -- "${@:1:2}" --user-dir "$ROOT/fairseq_ext" "${@:3}")
  if [[ $DRY_RUN == yes ]]; then
    echo "${command[@]@Q}"
  else
    [[ -z $PLACE ]] || note "$4: $PLACE"
    attended "${command[@]}" || exit 2
  fi
}

# The last value of an option among others, the option itself where it has none, empty where it is not there.
last_value() { # OPTION WORD...
  local option=$1 value=''
  shift
  while [[ $# -gt 0 ]]; do
    case $1 in
      "$option") if [[ ${2:---} == --* ]]; then value=$option; else value=$2; fi ;;
      "$option"=*) value=${1#*=} ;;
    esac
    shift
  done
  echo "$value"
}

# Find the programs: an active environment first, else the one that `make env` made.
use_environment() {
  if ! command -v fairseq-train > /dev/null; then
    [[ -x $ROOT/.venv/bin/fairseq-train ]] || die "fairseq-train not found: run 'make env', or activate an environment that has it"
    PATH=$ROOT/.venv/bin:$PATH
  fi
  # Our packages come first, and python -m does not run what lies in the current folder in their place.
  # Threads that wait sleep: spinning ones take the core of those that they wait for where a core is shared.
  export PYTHONPATH=$ROOT PYTHONSAFEPATH=1 OMP_WAIT_POLICY=passive
}

check_launcher() {
  local number
  one_of --launcher "$LAUNCHER" cpu gpu torchrun slurm
  one_of --precision "$PRECISION" auto bf16 fp16 float32
  for number in GPUS NODES JOBS JOBS_PER_GPU; do positive "$(option_of "$number")" "${!number}"; done
  [[ $LAUNCHER != slurm ]] || CPUS_PER_TASK=${CPUS_PER_TASK:-${SLURM_CPUS_PER_TASK:-}}
  [[ -z $CPUS_PER_TASK ]] || positive --cpus-per-task "$CPUS_PER_TASK"
  CORES=(${CPUS_PER_TASK:+--cpus-per-task "$CPUS_PER_TASK"})
  [[ $LAUNCHER == slurm || $NODES == 1 ]] || die "--nodes $NODES: expected --launcher slurm, found $LAUNCHER"
  [[ $LAUNCHER == slurm || -z $CPUS_PER_TASK ]] || die "--cpus-per-task $CPUS_PER_TASK: expected --launcher slurm, found $LAUNCHER"
  [[ $JOBS_PER_GPU == 1 || $LAUNCHER == gpu || $LAUNCHER == torchrun ]] ||
    die "--jobs-per-gpu $JOBS_PER_GPU: expected --launcher gpu or torchrun, found $LAUNCHER"
  [[ $LAUNCHER != cpu || $PRECISION != fp16 ]] || die "--precision fp16: expected a GPU, found --launcher cpu"
  if [[ $DRY_RUN != yes && $LAUNCHER == slurm ]]; then
    command -v srun > /dev/null || die "--launcher slurm: srun not found, expected on a machine of the cluster"
  elif [[ $DRY_RUN != yes && $LAUNCHER != cpu ]]; then
    share_gpus
  fi
  set_threads
}

# Fill GPUS_OF_JOB from those that CUDA_VISIBLE_DEVICES leaves; what --jobs asks for beyond them waits.
share_gpus() {
  local count first times visible
  count=$(python -c 'import torch; print(torch.cuda.device_count())')
  [[ $count -ge $GPUS ]] ||
    die "--launcher $LAUNCHER: this machine has $count usable GPUs; expected --launcher cpu or at most $count --gpus"
  split_list CUDA_VISIBLE_DEVICES "${CUDA_VISIBLE_DEVICES:-$(seq -s, 0 $((count - 1)))}" visible
  for ((times = 0; times < JOBS_PER_GPU; times++)); do
    for ((first = 0; first + GPUS <= count; first += GPUS)); do GPUS_OF_JOB+=("$(joined "${visible[@]:first:GPUS}")"); done
  done
  [[ $JOBS -gt ${#GPUS_OF_JOB[@]} ]] || return 0
  note "--jobs $JOBS: GPUs for ${#GPUS_OF_JOB[@]} at a time ($count in all), the others wait; --jobs-per-gpu shares a GPU"
  JOBS=${#GPUS_OF_JOB[@]}
}

# Set THREADS, those of a process: its share of the cores that this shell may use, whatever OMP_NUM_THREADS was (nproc obeys it).
# Of a container that has less time of them it is that, rounded up.
set_threads() {
  local cores quota period processes=$((JOBS * GPUS)) limit=/sys/fs/cgroup/cpu.max
  cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
  if [[ -r $limit ]] && read -r quota period < "$limit" && [[ $quota != max && $(((quota + period - 1) / period)) -lt $cores ]]; then
    cores=$(((quota + period - 1) / period))
  fi
  THREADS=$((cores > processes ? cores / processes : 1))
}
