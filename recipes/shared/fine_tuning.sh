# shellcheck shell=bash disable=SC2034
# What recipes share that fine-tune encoders for tasks: XNLI as it is published. Sourced.

XNLI=''
MADE_ENCODER=() # options of `embeddings pretrain`, if a configuration makes its own encoder and tasks, in the stage materials
MADE_UPDATES=() # after which the encoder is kept

makes_materials() { [[ ${#MADE_ENCODER[@]} -gt 0 ]]; }

# Text and tasks of the phrasebook, and an encoder that has read the text.
stage_materials() {
  fetch_text
  run python -m data_prep phrasebook-tasks --input "$OUTPUT/raw" --output "$OUTPUT/tasks"
  run python -m data_prep clean --input "$OUTPUT/tasks/monolingual" --output "$OUTPUT/monolingual"
  run python -m embeddings pretrain --text "$OUTPUT/monolingual" --languages "$(joined "${LANGUAGES[@]}")" "${MADE_ENCODER[@]}" \
    "${DEVICE[@]}" --output "$OUTPUT/mlm" "${FORCED[@]}"
}

made_encoder() { echo "$OUTPUT/mlm/update-$1"; } # UPDATES

# MultiNLI, or its translation into a language.
xnli_train() { # LANGUAGE
  if [[ $1 == en ]]; then echo "$XNLI/multinli_1.0/multinli_1.0_train.jsonl"; else echo "$XNLI/XNLI-MT-1.0/multinli/multinli.train.$1.tsv"; fi
}

# The development or the test set, of all languages.
xnli_held_out() { echo "$XNLI/XNLI-1.0/xnli.$1.tsv"; } # dev|test

# What fine-tunings read must be there before days of training, not when the turn of its language comes.
need_files() { # FILE...
  local file
  for file in "$@"; do makes_materials || [[ $DRY_RUN == yes || -f $file ]] || die "$file: no such file"; done
}

# Add the precision to DEVICE: how commands of `embeddings` that train compute.
set_training_device() { [[ $PRECISION != bf16 ]] || DEVICE+=(--precision bfloat16); }
