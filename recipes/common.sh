# shellcheck shell=bash
# What the recipes share: logging, launching, training that continues after a kill. Sourced by run.sh, not run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Settings of a recipe's command line; run.sh overwrites them.
DRY_RUN=no
LAUNCHER=cpu
GPUS=1
JOBS=1
PRECISION=auto
RESIDUAL_LAYER=4 # "w/o Res.": the middle encoder layer of six (8.2.1)

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

# The options of a recipe that trains systems; a recipe adds its own.
# shellcheck disable=SC2034  # used by run.sh
RECIPE_OPTIONS="config systems=SYSTEM_LIST seeds stages data-root output launcher gpus jobs precision"

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

usage_of_all() {
  cat << END
  --dry-run           print the commands, run nothing
  --help              this text
END
}

# Split the lists of a command line into SYSTEM_IDS, SEED_LIST and STAGE_LIST, and check seeds, stages and folders.
split_lists() { # FOLDER_OPTION...
  local seed stage option
  # shellcheck disable=SC2034  # used by run.sh
  IFS=, read -ra SYSTEM_IDS <<< "$SYSTEM_LIST"
  IFS=, read -ra SEED_LIST <<< "$SEEDS"
  IFS=, read -ra STAGE_LIST <<< "$STAGES"
  for seed in "${SEED_LIST[@]}"; do positive --seeds "$seed"; done
  # shellcheck disable=SC2086  # a list of words
  for stage in "${STAGE_LIST[@]}"; do one_of --stages "$stage" $ALL_STAGES; done
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

# Find the programs: an active environment first, else the one that `make env` made.
use_environment() {
  if ! command -v fairseq-train > /dev/null; then
    [[ -x $ROOT/.venv/bin/fairseq-train ]] || die "fairseq-train not found: run 'make env', or activate an environment that has it"
    PATH=$ROOT/.venv/bin:$PATH
  fi
  export PYTHONPATH=$ROOT${PYTHONPATH:+:$PYTHONPATH}
}

# English to and from every other language: the supervised directions of the papers.
english_centric() { # LANGUAGE...
  local pairs="" language
  for language in "$@"; do
    [[ $language == en ]] || pairs+=",en-$language,$language-en"
  done
  echo "${pairs#,}"
}

# The systems of Table 8.2 (1-8), of E.3 (1-simple to 8-simple), of 8.2.4 and of E.1.
SYSTEMS="1 2 3 4 5 6 7 8"
VARIANTS="1-simple 2-simple 3-simple 4-simple 5-simple 6-simple 7-simple 8-simple swap-prenorm no-enc-last"
system_options() { # SYSTEM
  case $1 in
    1) echo "--norm-placement pre --language-tags s-enc-t-dec" ;;
    2) echo "--norm-placement post --language-tags s-enc-t-dec" ;;
    3) echo "--norm-placement pre --language-tags t-enc" ;;
    4) echo "--norm-placement post --language-tags t-enc" ;;
    5) echo "--norm-placement pre --language-tags s-enc-t-dec --drop-residual-layers $RESIDUAL_LAYER" ;;
    6) echo "--norm-placement post --language-tags s-enc-t-dec --drop-residual-layers $RESIDUAL_LAYER" ;;
    7) echo "--norm-placement pre --language-tags t-enc --drop-residual-layers $RESIDUAL_LAYER" ;;
    8) echo "--norm-placement post --language-tags t-enc --drop-residual-layers $RESIDUAL_LAYER" ;;
    [1-8]-simple) echo "$(system_options "${1%-simple}") --no-norm-affine" ;;
    swap-prenorm) echo "--norm-placement swap-pre --language-tags s-enc-t-dec" ;;
    no-enc-last) echo "--norm-placement pre --language-tags s-enc-t-dec --no-encoder-final-norm" ;;
    *) die "--systems: found '$1', expected some of: 0 $SYSTEMS $VARIANTS" ;;
  esac
}

# --- launching ---------------------------------------------------------------------------------------------------

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

# --- training ----------------------------------------------------------------------------------------------------

# Train into a folder until fairseq-train says that it is done. A finished training is skipped, an interrupted one
# continues from its checkpoint_last.pt, and a folder is never trained into twice at a time.
train() { # RUN_FOLDER DATA OPTION...
  local folder=$1 data=$2 status=0 pid progress_pid
  shift 2
  local options="$*" precision command
  set_launch "$folder"
  read -ra precision <<< "$(precision_options)"
  command=("${LAUNCH[@]}" "$data" --user-dir "$ROOT/fairseq_ext" --save-dir "$folder" "$@"
    "${precision[@]}" "${LAUNCH_OPTIONS[@]}")
  if [[ $DRY_RUN == yes ]]; then
    run "${command[@]}"
    return
  fi
  mkdir -p "$folder"
  if [[ -e $folder/options.txt && $(< "$folder/options.txt") != "$options" ]]; then
    die "$folder: was trained with other options (options.txt); remove the folder or choose another --output"
  fi
  if [[ -e $folder/finished ]]; then
    note "$folder: trained, skipped"
    return
  fi
  exec 9> "$folder/lock" # held by fairseq-train too, should this script be killed before it
  flock --nonblock 9 || die "$folder: is being trained by another process"
  echo "$options" > "$folder/options.txt"
  note "$folder: training, log in train.log"
  exec 8> >(show_progress "$folder")
  progress_pid=$!
  "${command[@]}" >&8 2>&1 &
  pid=$!
  exec 8>&-
  trap 'kill "$pid" 2> /dev/null; exit 143' INT TERM
  wait "$pid" || status=$?
  trap - INT TERM
  wait "$progress_pid" || true # the end of the log comes before our own words
  [[ $status == 0 ]] || die "$folder: training failed with status $status, see $folder/train.log"
  [[ -e $folder/checkpoint_best.pt ]] || die "$folder: no checkpoint_best.pt after training, see $folder/train.log"
  touch "$folder/finished"
  exec 9>&-
}

# The whole log into a file, one short line per report to the terminal.
show_progress() { # RUN_FOLDER
  local name
  name=$(basename "$1")
  tee -a "$1/train.log" |
    sed -un "s#^.*| INFO | \(train_inner\|valid\) | #$name: #; t show; s#^.*\(error: .*\)#$name: \1#; t show; d
      :show s#^\(.\{150\}\).*#\1#; p" >&2
}

# Run `"$@"`, several at a time when --jobs allows; one that fails does not stop the others.
JOB_PIDS=()
start_job() {
  if [[ $JOBS == 1 || $DRY_RUN == yes ]]; then
    "$@"
    return
  fi
  trap stop_jobs INT TERM
  while [[ $(jobs -pr | wc -l) -ge $JOBS ]]; do
    sleep 1
  done
  "$@" &
  JOB_PIDS+=($!)
}

finish_jobs() {
  local pid failed=0
  for pid in "${JOB_PIDS[@]}"; do
    wait "$pid" || failed=$((failed + 1))
  done
  JOB_PIDS=()
  [[ $failed == 0 ]] || die "$failed trainings failed; the same command continues where they were"
}

stop_jobs() {
  kill "${JOB_PIDS[@]}" 2> /dev/null || true
  wait || true
  die "stopped; the same command continues where it was"
}

# --- evaluation --------------------------------------------------------------------------------------------------

# Score translated folders, compare them with the first, and write the report, with what probes found.
PROBE_RESULTS=()
score() { # FOLDER...
  run python -m eval score "$@"
}

report() { # OUTPUT TITLE FOLDER...
  local output=$1 title=$2 comparison=()
  shift 2
  if [[ $# -gt 1 ]]; then
    run python -m eval compare "$@" --output "$output/comparison.json"
    comparison=("$output/comparison.json")
  fi
  run python -m eval report "$@" "${comparison[@]}" "${PROBE_RESULTS[@]}" --output "$output/report" --title "$title"
  [[ $DRY_RUN == yes ]] || note "report: $output/report/report.html"
}

# --- experiments on English-centric corpora ----------------------------------------------------------------------

# What the papers have in common for all corpora (7.3.2, 8.2.1); a configuration states the rest, and may change these.
WARMUP_UPDATES=4000
MAX_TOKENS=4096
MAX_LENGTH=256
LABEL_SMOOTHING=0.1 # fairseq's usual value; the thesis does not give one
# shellcheck disable=SC2034  # used by run.sh
MODEL_OPTIONS=() BEAM=5
TOKENIZER_OPTIONS=()
SUBWORD_OPTIONS=() # without them, byte pair encoding with MERGES merges
SCHEDULE_OPTIONS=(--lr-scheduler inverse_sqrt)
SAVE_UPDATES=0

# Read the configuration that --config names, one of configs/ or a file, and set CONFIG_FILE.
load_config() { # FOLDER_OF_RECIPE FURTHER_SETTING...
  local name known subwords=MERGES
  known=$(basename -as .sh "$1"/configs/*.sh | paste -sd,)
  [[ -n $CONFIG ]] || die "--config: expected one of $known, or a file"
  CONFIG_FILE=$1/configs/$CONFIG.sh
  [[ -f $CONFIG_FILE ]] || CONFIG_FILE=$CONFIG
  [[ -f $CONFIG_FILE ]] || die "--config: found '$CONFIG', expected one of $known, or a file"
  # shellcheck disable=SC1090
  source "$CONFIG_FILE"
  [[ ${#SUBWORD_OPTIONS[@]} == 0 ]] || subwords=SUBWORD_OPTIONS
  for name in CORPUS LANGUAGES "$subwords" ARCHITECTURE DROPOUT LEARNING_RATE EPOCHS BATCH_GPUS "${@:2}"; do
    [[ -n ${!name:-} ]] || die "$CONFIG_FILE: $name is not set"
  done
  [[ $subwords != MERGES ]] || SUBWORD_OPTIONS=(--merges "$MERGES")
}

has_stage() {
  [[ ,$STAGES, == *,$1,* ]]
}

# Call `COMMAND SYSTEM SEED` for every system and seed.
for_each() { # COMMAND
  local system seed
  for system in "${SYSTEM_IDS[@]}"; do
    for seed in "${SEED_LIST[@]}"; do
      note "$1: $system, seed $seed"
      "$1" "$system" "$seed"
    done
  done
}

# CORPUS=text are the user's own SPLIT.A-B.LANG files in --data-root.
# shellcheck disable=SC2153  # OUTPUT, DATA and PAIRS are set by run.sh
prepare() {
  local source=() raw=$OUTPUT/raw
  [[ -z $DATA_ROOT ]] || source=(--from-folder "$DATA_ROOT")
  if [[ $CORPUS == text ]]; then
    raw=$DATA_ROOT
  else
    run python -m data_prep download "$CORPUS" --langs "$(tr ' ' , <<< "${LANGUAGES[*]}")" "${source[@]}" --output "$raw"
  fi
  run python -m data_prep clean --input "$raw" --output "$OUTPUT/text" --max-length "$MAX_LENGTH"
  run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUTPUT/text" --output "$OUTPUT/tokenized"
  run python -m data_prep subword "${SUBWORD_OPTIONS[@]}" --input "$OUTPUT/tokenized" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$DATA"
}

# Train on the pairs with English as the configuration says; options are the model's, with its dropout, and the criterion's.
# shellcheck disable=SC2153
train_translation() { # RUN_FOLDER SEED OPTION...
  local folder=$1 seed=$2 interval=()
  shift 2
  [[ $SAVE_UPDATES == 0 ]] || interval=(--save-interval-updates "$SAVE_UPDATES" --keep-interval-updates 1)
  train "$folder" "$DATA" --task multilingual_nmt --lang-pairs "$PAIRS" "$@" \
    --label-smoothing "$LABEL_SMOOTHING" --optimizer fused_adam --adam-betas "(0.9, 0.98)" \
    --lr "$LEARNING_RATE" "${SCHEDULE_OPTIONS[@]}" --warmup-updates "$WARMUP_UPDATES" \
    --max-tokens "$MAX_TOKENS" --max-source-positions "$MAX_LENGTH" --max-target-positions "$MAX_LENGTH" \
    --skip-invalid-size-inputs-valid-test --update-freq $((BATCH_GPUS > GPUS ? BATCH_GPUS / GPUS : 1)) \
    --max-epoch "$EPOCHS" --seed "$seed" --no-epoch-checkpoints "${interval[@]}" \
    --log-format simple --log-interval 100 "${EXTRA_OPTIONS[@]}"
}
