# shellcheck shell=bash disable=SC2034
# How commands are started: processor, GPUs, Slurm; precision; how many GPUs share a batch; the dry run. Sourced.

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

# What --help says about the options that all trainings have.
usage_of_training() {
  cat << END
  --launcher NAME     cpu; gpu (fairseq starts its processes); torchrun; slurm (every step is one srun; a download runs
                      where the recipe does) (default: $LAUNCHER)
  --gpus N            GPUs of one training, on each node (cpu: processes); the batch of an update is the paper's with any
                      number of them (default: $GPUS)
  --nodes N           nodes of one training, with slurm (default: $NODES)
  --cpus-per-task N   cores of a step, and of a training on each node, with slurm (default: what Slurm gives)
  --jobs N            models at a time, in training, translation and probes: they share the cores, and have GPUs of
                      their own (default: $JOBS)
  --jobs-per-gpu N    trainings that may share one GPU, of which small ones leave most of it idle; start
                      nvidia-cuda-mps-control -d before, docs/performance.md (default: $JOBS_PER_GPU)
  --precision NAME    auto, bf16, fp16 or float32; auto is the fastest that the device which trains has in hardware,
                      and that of its beginning for a training that resumes (default: $PRECISION)
END
}

# Run a command, or print it for --dry-run so that it can be pasted into a shell. With slurm, every step of ours is an srun.
# Nodes of a cluster often have no network: what downloads stays where the recipe runs.
run() { # COMMAND...
  local place=() gpu=()
  if [[ $LAUNCHER == slurm && $1 == python && " $* " != *" -m data_prep download "* ]]; then
    case " $* " in
      *" -m eval translate "* | *" -m eval probe states "* | *" -m eval probe interlingua "* | *" -m eval adequacy "* | \
        *" -m eval score "*" --comet"* | *" -m embeddings "* | *" -m llm translate "* | *" -m llm states "*) gpu=(--gpus-per-node 1) ;;
    esac
    place=(srun --nodes 1 --ntasks 1 "${gpu[@]}" "${CORES[@]}" --job-name "$RECIPE")
  fi
  if [[ $DRY_RUN == yes ]]; then print_command "${place[@]}" "$@"; else attended "${place[@]}" "$@"; fi
}

print_command() { # COMMAND...
  local word
  for word in "$@"; do
    if [[ -z $word || $word == *[!A-Za-z0-9_./:=,@+-]* ]]; then printf '%q ' "$word"; else printf '%s ' "$word"; fi
  done
  echo
}

# Start a training as --launcher says, skip it if it has finished, resume it if it was stopped (`fairseq_ext run-training`).
train() { # fairseq-train DATA --save-dir FOLDER OPTION...
  local data=$2 folder=$4 share LAUNCH LAUNCH_OPTIONS command
  [[ $PLAN != yes ]] || folder=$PLAN_FOLDER/${4##*/} # nothing is noted where it will train
  set_launch "$folder"
  share=$(share_of "$folder" "${@:5}")
  command=("${LAUNCH[@]}" fairseq-train "$data" --user-dir "$ROOT/fairseq_ext" --save-dir "$folder" ${share:+--update-freq "$share"}
    "${@:5}" "${LAUNCH_OPTIONS[@]}")
  if [[ $DRY_RUN == yes ]]; then
    print_command "${command[@]}"
  elif [[ $PLAN == yes ]]; then
    python -m fairseq_ext pilot --output "$PLAN_FOLDER" --data "$data" --seconds "$PILOT_SECONDS" -- "${command[@]}"
  else
    mkdir -p "$folder"
    exec 9>> "$folder/lock" # held by fairseq-train, too, should this script be killed before it
    lock "$folder" trained
    attended python -m fairseq_ext run-training --output "$folder" --data "$data" --precision "$PRECISION" "${FORCED[@]}" -- "${command[@]}" || exit 2
    exec 9>&-
  fi
}

# Fill LAUNCH, the words in front of fairseq-train, and LAUNCH_OPTIONS, which follow its own.
set_launch() { # RUN_FOLDER
  local world=$((GPUS * NODES)) there=() # what only the machine that trains knows
  [[ $PRECISION != auto ]] || there=(--precision "$1")
  LAUNCH=(env "OMP_NUM_THREADS=$THREADS")
  LAUNCH_OPTIONS=(--distributed-world-size "$world")
  case $LAUNCHER in
    cpu)
      # glibc would hand the memory of large tensors back after every operation: an eighth of the time of an update
      LAUNCH+=(MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=4294967296)
      LAUNCH_OPTIONS=(--cpu "${LAUNCH_OPTIONS[@]}")
      [[ $PRECISION != auto ]] || there+=(--cpu)
      if [[ $world -gt 1 ]]; then # fairseq starts one process per GPU only, and counts GPUs where torchrun does
        LAUNCH+=(torchrun --standalone --nproc_per_node "$GPUS" --no-python)
        LAUNCH_OPTIONS+=(--distributed-backend gloo --distributed-init-method env:// --distributed-no-spawn --ddp-backend legacy_ddp)
        there+=(--rank)
      fi
      ;;
    gpu)
      # by this signal the processes that fairseq starts end with the one that has, and what runs in a script's background ignores it
      [[ $world == 1 ]] || ! env --default-signal=INT true 2> /dev/null || LAUNCH=(env --default-signal=INT "${LAUNCH[@]:1}")
      ;;
    torchrun) LAUNCH+=(torchrun --standalone --nproc_per_node "$GPUS" --no-python) ;;
    slurm)
      LAUNCH=(srun --nodes "$NODES" --ntasks-per-node 1 --gpus-per-node "$GPUS" "${CORES[@]}" --job-name "${1##*/}")
      [[ $NODES == 1 ]] || there+=(--rendezvous "$(port_of "$1")" "$GPUS")
      ;;
  esac
  [[ $GPUS == 1 || $NODES != 1 || ($LAUNCHER != gpu && $LAUNCHER != slurm) ]] ||
    LAUNCH_OPTIONS+=(--distributed-init-method "tcp://localhost:$(port_of "$1")")
  [[ ${#there[@]} == 0 ]] || LAUNCH+=(bash "$ROOT/recipes/shared/on_device.sh" "${there[@]}" --)
  case $PRECISION in
    bf16) LAUNCH_OPTIONS+=(--autocast-bf16) ;;
    fp16) LAUNCH_OPTIONS+=(--fp16) ;;
  esac
}

# A port of a training: those on one node must not share one, nor those of two users.
port_of() { # RUN_FOLDER
  echo $((20000 + $(cksum <<< "$UID $PWD/$1" | cut -d' ' -f1) % 20000))
}

# How many batches of --max-tokens each GPU accumulates, so that an update has those of --batches-per-update.
share_of() { # RUN_FOLDER OPTION...
  local batches='' world=$((GPUS * NODES)) idle
  batches=$(last_value --batches-per-update "${@:2}")
  [[ -n $batches ]] || return 0
  if [[ $world -gt $batches && $((world % batches)) != 0 ]]; then
    note "$1: $world GPUs for a batch of $batches: $((world % batches)) of them have nothing to do"
  elif [[ $world -lt $batches && $((batches % world)) != 0 ]]; then
    idle=$((world - batches % world))
    note "$1: $world GPUs for a batch of $batches: $idle of them have nothing to do in every last turn"
  fi
  echo $(((batches + world - 1) / world))
}

# A line: the last value of an option among others, the option itself where it has none, empty where it is not there.
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
  export PYTHONPATH=$ROOT PYTHONSAFEPATH=1
}

check_launcher() {
  local number
  one_of --launcher "$LAUNCHER" cpu gpu torchrun slurm
  one_of --precision "$PRECISION" auto bf16 fp16 float32
  for number in GPUS NODES JOBS JOBS_PER_GPU; do positive "$(option_of "$number")" "${!number}"; done
  [[ $LAUNCHER != slurm ]] || CPUS_PER_TASK=${CPUS_PER_TASK:-${SLURM_CPUS_PER_TASK:-}}
  [[ -z $CPUS_PER_TASK ]] || positive --cpus-per-task "$CPUS_PER_TASK"
  CORES=(${CPUS_PER_TASK:+--cpus-per-task "$CPUS_PER_TASK"})
  [[ $NODES == 1 || $LAUNCHER == slurm ]] || die "--nodes $NODES: expected --launcher slurm, found $LAUNCHER"
  [[ -z $CPUS_PER_TASK || $LAUNCHER == slurm ]] ||
    die "--cpus-per-task $CPUS_PER_TASK: expected --launcher slurm, found $LAUNCHER"
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
  local count first times=0 visible
  count=$(python -c 'import torch; print(torch.cuda.device_count())')
  [[ $count -ge $GPUS ]] ||
    die "--launcher $LAUNCHER: this machine has $count usable GPUs; expected --launcher cpu or at most $count --gpus"
  IFS=, read -ra visible <<< "${CUDA_VISIBLE_DEVICES:-$(seq -s, 0 $((count - 1)))}"
  for ((; times < JOBS_PER_GPU; times++)); do
    for ((first = 0; first + GPUS <= count; first += GPUS)); do
      GPUS_OF_JOB+=("$(joined "${visible[@]:first:GPUS}")")
    done
  done
  [[ $JOBS -le ${#GPUS_OF_JOB[@]} ]] ||
    note "--jobs $JOBS: GPUs for ${#GPUS_OF_JOB[@]} at a time ($count in all), the others wait; --jobs-per-gpu shares a GPU"
  JOBS=$((JOBS < ${#GPUS_OF_JOB[@]} ? JOBS : ${#GPUS_OF_JOB[@]}))
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
