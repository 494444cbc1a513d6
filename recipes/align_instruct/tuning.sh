# shellcheck shell=bash disable=SC2034
# How language models are tuned: launcher, batch, precision. Sourced by run.sh.

PROBE_LINES=1000 # of each validation set, for layers

# A line per objective that a system learns.
objectives() { # SYSTEM
  local curriculum
  curriculum=$(given_last --curriculum "${TRAINING_OPTIONS[${TRAINED_AS[$1]}]}")
  [[ -z $curriculum ]] || tr +, '\n' <<< "$curriculum" | awk '!seen[$0]++'
}

# The model as it is has one translation, whatever the seeds of the others.
list_models() {
  local system seed
  for system in "${SYSTEM_IDS[@]}"; do
    for seed in "${SEED_LIST[@]}"; do
      [[ $system == base && $seed != "${SEED_LIST[0]}" ]] || echo "$system $seed"
    done
  done
}

# Fill ARITHMETIC and DEVICE from --precision and --launcher.
choose_precision() {
  case $PRECISION in
    bf16) ARITHMETIC=bfloat16 ;;
    fp16) ARITHMETIC=float16 ;;
    float32) ARITHMETIC=float32 ;;
    auto) if [[ $LAUNCHER == cpu ]]; then ARITHMETIC=float32; else ARITHMETIC=float16; fi ;;
  esac
  DEVICE=()
  [[ $LAUNCHER != cpu ]] || DEVICE=(--cpu)
}

# Tune into a folder, an update having UPDATE_SENTENCES instructions on any number of devices, also where they hold fewer at a time
# than the configuration says.
tune() { # FOLDER SEED OPTION...
  local world=$((GPUS * NODES)) options="${*:3}" sentences batches
  sentences=$(given_last --batch-sentences "${options//--batch-sentences=/--batch-sentences }")
  [[ $sentences =~ ^[1-9][0-9]*$ ]] || sentences=$BATCH_SENTENCES # llm tune refuses what is no number
  batches=$((UPDATE_SENTENCES / (sentences * world)))
  if [[ $((batches * sentences * world)) != "$UPDATE_SENTENCES" ]]; then
    batches=$((batches > 0 ? batches : 1))
    note "$1: $world devices of $sentences instructions: $((batches * sentences * world)) in an update, not $UPDATE_SENTENCES"
  fi
  set_tuning_launch "$1"
  run "${TUNING_LAUNCH[@]}" llm tune --output "$1" --seed "$2" --batch-sentences "$BATCH_SENTENCES" --batches-per-update "$batches" \
    --precision "$ARITHMETIC" "${DEVICE[@]}" "${@:3}" "${ANEW[@]}"
}

# Fill TUNING_LAUNCH, the words in front of `llm tune`: a process per device.
set_tuning_launch() { # FOLDER
  local processes=(--nproc-per-node "$GPUS")
  TUNING_LAUNCH=(env "OMP_NUM_THREADS=$THREADS")
  [[ $LAUNCHER != slurm ]] || TUNING_LAUNCH=(srun --nodes "$NODES" --ntasks-per-node 1 --gpus-per-node "$GPUS" "${CORES[@]}"
    --job-name "$(basename "$1")")
  if [[ $NODES -gt 1 ]]; then
    TUNING_LAUNCH+=(bash "$HERE/on_nodes.sh" "$(port_of "$1")" --nnodes "$NODES" "${processes[@]}" -m)
  elif [[ $GPUS -gt 1 ]]; then
    TUNING_LAUNCH+=(torchrun --standalone "${processes[@]}" -m)
  else
    TUNING_LAUNCH+=(python -m)
  fi
}

# A system without a training of its own is the model as it is; --finished-only asks for those that are tuned.
list_finished() {
  local folder
  model_name base "${SEED_LIST[0]}"
  for folder in "$OUTPUT"/models/*/; do
    [[ ! -e $folder/tuning.json || -e $folder/.tune.unfinished ]] || basename "$folder" # or begun anew since
  done
}

plan_stages() {
  die "--plan: not of this recipe, whose trainings are not fairseq's; llm tune says how many updates it makes in a second"
}
