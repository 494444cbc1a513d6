# shellcheck shell=bash disable=SC2034
# Where and how trainings are started: processor, GPUs, Slurm; precision. Sourced.

LAUNCHER=cpu
GPUS=1
JOBS=1
PRECISION=auto

# What --help says about the options that all trainings have.
usage_of_training() {
  cat << END
  --launcher NAME     cpu; gpu (fairseq starts its processes); torchrun; slurm (each training is one srun)
                      (default: $LAUNCHER)
  --gpus N            GPUs of one training (default: $GPUS); gradients are accumulated up to the paper's batch
  --jobs N            trainings at a time: they share the CPU cores, or one GPU (default: $JOBS)
  --precision NAME    auto, bf16, fp16 or float32; auto is bf16 where the hardware has it (default: $PRECISION)
END
}

# Find the programs: an active environment first, else the one that `make env` made.
use_environment() {
  if ! command -v fairseq-train > /dev/null; then
    [[ -x $ROOT/.venv/bin/fairseq-train ]] || die "fairseq-train not found: run 'make env', or activate an environment that has it"
    PATH=$ROOT/.venv/bin:$PATH
  fi
  # Our packages come first, and python -m does not run what lies in the current folder in their place.
  export PYTHONPATH=$ROOT${PYTHONPATH:+:$PYTHONPATH} PYTHONSAFEPATH=1
}

multiplies_in_bf16() {
  grep -q -m1 -E "amx_bf16|avx512_bf16" /proc/cpuinfo 2> /dev/null
}

# Options for mixed precision (8.2.1): bfloat16 on a GPU and on processors that multiply in it, float32 elsewhere.
precision_options() {
  case $PRECISION in
    bf16) echo "--autocast-bf16" ;;
    fp16) echo "--fp16" ;;
    float32) ;;
    auto) if [[ $LAUNCHER != cpu ]] || multiplies_in_bf16; then echo "--autocast-bf16"; fi ;;
  esac
}

# Fill LAUNCH, the words that come before the training options, and LAUNCH_OPTIONS, those that come after.
set_launch() { # RUN_FOLDER
  local port=$((20000 + $(cksum <<< "$1" | cut -d' ' -f1) % 20000)) # Slurm steps on one node must not share a port
  local cores
  cores=$(nproc)
  case $LAUNCHER in
    cpu)
      # glibc would hand the memory of large tensors back after every operation: an eighth of the time of an update
      LAUNCH=(env "OMP_NUM_THREADS=$((cores > JOBS ? cores / JOBS : 1))" MALLOC_MMAP_THRESHOLD_=1073741824
        MALLOC_TRIM_THRESHOLD_=4294967296 fairseq-train)
      LAUNCH_OPTIONS=(--cpu --distributed-world-size 1)
      ;;
    gpu)
      LAUNCH=(fairseq-train)
      LAUNCH_OPTIONS=(--distributed-world-size "$GPUS")
      ;;
    torchrun)
      LAUNCH=(torchrun --standalone --nproc_per_node "$GPUS" "$(command -v fairseq-train)")
      LAUNCH_OPTIONS=(--distributed-world-size "$GPUS")
      ;;
    slurm)
      LAUNCH=(srun --nodes 1 --ntasks-per-node 1 --gpus-per-node "$GPUS" --job-name "$(basename "$1")" fairseq-train)
      LAUNCH_OPTIONS=(--distributed-world-size "$GPUS" --distributed-port "$port")
      ;;
  esac
}

check_launcher() {
  one_of --launcher "$LAUNCHER" cpu gpu torchrun slurm
  one_of --precision "$PRECISION" auto bf16 fp16 float32
  positive --gpus "$GPUS"
  positive --jobs "$JOBS"
  [[ $DRY_RUN == yes ]] && return
  if [[ $LAUNCHER == slurm ]]; then
    command -v srun > /dev/null || die "--launcher slurm: srun not found, expected on a machine of the cluster"
  elif [[ $LAUNCHER != cpu ]]; then
    python -c 'import sys, torch; sys.exit(torch.cuda.device_count() < int(sys.argv[1]))' "$GPUS" ||
      die "--launcher $LAUNCHER: this machine has fewer than $GPUS usable GPUs; expected --launcher cpu or fewer --gpus"
  fi
}
