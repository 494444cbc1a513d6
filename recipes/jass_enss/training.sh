# shellcheck shell=bash disable=SC2153
# Pre-training, and fine-tuning of one model per system, number of pairs, direction and seed. Sourced by run.sh.

# Options of both trainings; "batch size 4096", Adam, the checkpoint of the lowest perplexity (4.4.3), unless how a training
# ends says otherwise. The thesis leaves the betas and the schedule open.
train_model() { # FOLDER DATA SEED WARMUP_UPDATES TOKENS BATCH_GPUS OPTION...
  train "$1" "$2" --seed "$3" --warmup-updates "$4" --max-tokens "$5" --batches-per-update "$6" \
    --best-checkpoint-metric ppl "${@:7}" --criterion fused_label_smoothed_cross_entropy --optimizer fused_adam \
    --adam-betas "(0.9, 0.98)" "${SCHEDULE_OPTIONS[@]}" --dropout "$DROPOUT" \
    --max-source-positions "$POSITIONS" --max-target-positions "$POSITIONS" --skip-invalid-size-inputs-valid-test \
    --max-epoch "$EPOCHS" --no-epoch-checkpoints \
    --log-format simple --log-interval 100 "${EXTRA_OPTIONS[@]}"
}

is_pretrained() { # SYSTEM
  [[ -n ${TRAINING_OPTIONS[$1]// /} ]]
}

pretrained_folder() { # SYSTEM
  echo "$OUTPUT/pretrained/$1-seed$PRETRAINING_SEED"
}

pretrain() { # SYSTEM
  local tasks
  read -ra tasks <<< "${TRAINING_OPTIONS[$1]}"
  train_model "$(pretrained_folder "$1")" "$OUTPUT/data/monolingual" "$PRETRAINING_SEED" "$PRETRAINING_WARMUP" \
    "$MAX_TOKENS" "$PRETRAINING_GPUS" --task linguistic_pretraining "${tasks[@]}" "${PRETRAINING_OPTIONS[@]}" \
    --arch "$ARCHITECTURE" "${NORM_OPTIONS[@]}" "${MODEL_OPTIONS[@]}" --label-smoothing "$LABEL_SMOOTHING" --lr "$PRETRAINING_LEARNING_RATE" "${PRETRAINING_STOP[@]}"
}

stage_pretrain() {
  local system
  for system in "${SYSTEM_IDS[@]}"; do
    ! is_pretrained "$system" || start_job pretrain "$system"
  done
  finish_jobs
}

finetune() { # SYSTEM SIZE DIRECTION SEED
  local architecture=$ARCHITECTURE smoothing=$LABEL_SMOOTHING tokens=${FINETUNING_TOKENS:-$MAX_TOKENS}
  local options=("${MODEL_OPTIONS[@]}") checkpoint
  if [[ $1 == optimized ]]; then
    read -r architecture _ smoothing tokens <<< "$(optimized_settings "$2")"
    options=()
  elif is_pretrained "$1"; then
    checkpoint=$(checkpoint_in "$(pretrained_folder "$1")" pretrain)
    options+=(--pretrained-checkpoint "$checkpoint")
  fi
  train_model "$OUTPUT/models/$(model_name "$@")" "$(data_of "$1" "$2")" "$4" "$WARMUP_UPDATES" "$tokens" "$BATCH_GPUS" \
    --task multilingual_nmt --lang-pairs "$3" --arch "$architecture" "${NORM_OPTIONS[@]}" "${options[@]}" \
    --label-smoothing "$smoothing" --lr "$LEARNING_RATE" "${FINETUNING_STOP[@]}"
}

stage_finetune() {
  for_each_model start_job finetune
  finish_jobs
}

# A line SYSTEM SIZE DIRECTION SEED per fine-tuned model; those of one table of results come together.
list_models() {
  local system size direction seed
  for direction in "${DIRECTION_IDS[@]}"; do
    for size in "${SIZE_IDS[@]}"; do
      for system in "${SYSTEM_IDS[@]}"; do
        for seed in "${SEED_LIST[@]}"; do echo "$system $size $direction $seed"; done
      done
    done
  done
}

model_name() { # SYSTEM SIZE DIRECTION SEED
  echo "$1-$2-$3-seed$4"
}

data_of() { # SYSTEM SIZE
  if [[ $1 == optimized ]]; then echo "$OUTPUT/data/$2-optimized"; else echo "$OUTPUT/data/$2"; fi
}
