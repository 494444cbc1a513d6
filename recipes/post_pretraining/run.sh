#!/usr/bin/env bash
# Post-pretraining alignment (Pan, Hang et al. 2021): a multilingual encoder is aligned with bitext, then fine-tuned for inference and
# for answers in English, or in translations with code-switching; from text to tables of accuracy and F1.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/sentence_encoders.sh
source "$HERE/../shared/sentence_encoders.sh"
# shellcheck source=recipes/shared/fine_tuning.sh
source "$HERE/../shared/fine_tuning.sh"

RECIPE=post_pretraining TITLE="Post-pretraining alignment"
ENCODER='' MLQA=''
SEEDS=1
ALL_STAGES="materials prepare train export finetune report"
CONFIGURED="CORPUS LANGUAGES LEARNING_RATE EPOCHS BATCH_GPUS BATCH_PAIRS SIZES"
MAX_WORDS=256 # of a line of text
UNALIGNED=unaligned # the system that is the encoder as it is

# What 3.1 and 3.3 have for all systems; a configuration changes it.
MAX_PAIR_TOKENS=128 # which is also what the encoder reads of both sentences as one, with <s> and two </s>
MIN_TOKENS=10
QUEUE=32000
WARMUP_SHARE=10 # per cent of the updates
HAS_POOLER=no # is there one in the encoder, below the classifier of its kind (BERT)?
FINETUNE_OPTIONS=() # in place of the defaults of `embeddings finetune`, which are the paper's
SIZES=()
declare -A PAIRS_OF UPDATES_OF

# A size of the bitext: so many pairs of every language, read in so many updates. Names of systems end with -NAME.
size() { # NAME PAIRS UPDATES
  [[ $1 != *-* ]] || die "$CONFIG_FILE: size $1: has a hyphen, which separates a size from the rest of a system's name; expected none"
  SIZES+=("$1")
  PAIRS_OF[$1]=$2 UPDATES_OF[$1]=$3
}

usage() {
  cat << END
usage: bash recipes/post_pretraining/run.sh --config NAME [--encoder FOLDER] [options] [-- OPTION of fairseq-train ...]

Aligns an encoder with bitext (momentum contrast and translation language modelling), exports it, fine-tunes it for XNLI and MLQA,
zero-shot and on translations, tests it in all languages, reports. What is complete is skipped, what was killed continues.
README.md beside this file has the paper's numbers.

  --config NAME       ppa (the paper's), phrasebook (a toy setting that makes its own encoder and tasks), or a file like them
  --encoder FOLDER    the encoder, a folder of transformers: mBERT
  --systems LIST      of $UNALIGNED, ppa-SIZE, and, not by default, printed-SIZE, no-moco-SIZE, no-tlm-SIZE, mlm-SIZE,
                      no-cs-SIZE, no-cs-$UNALIGNED; or 'all'
$(help_of xnli)
  --mlqa DIR          MLQA: MLQA_V1/, and squad/ with SQuAD 1.1 and XTREME's translations of it
$(help_of experiment training force plan all)

Example: bash recipes/post_pretraining/run.sh --config ppa --encoder models/mbert --xnli xnli --systems unaligned,ppa-250k --launcher gpu
END
}

check_recipe() {
  check_folders XNLI MLQA
  if makes_materials; then
    ENCODER=$(made_encoder "${MADE_UPDATES[-1]}") XNLI=$OUTPUT/tasks/xnli MLQA=$OUTPUT/tasks/mlqa
  else
    leave_out_stage materials
    check_folders ENCODER
  fi
  [[ -n $ENCODER ]] || die "--encoder: expected a folder of transformers, mBERT for example"
  set_training_device
  [[ -n $XNLI$MLQA ]] || ! { has_stage finetune || has_stage report; } || die "--xnli, --mlqa: expected at least one of them, what the encoders are fine-tuned for"
  ! has_stage finetune || for_each_model for_each_training check_files
}

# --- alignment -----------------------------------------------------------------------------------------------------

stage_prepare() {
  is_alignment_needed || return 0
  fetch_text
  run python -m data_prep clean --input "$RAW" --output "$OUTPUT/text" --max-length "$MAX_WORDS" "${CLEAN_OPTIONS[@]}"
  # all symbols of the encoder: it is fine-tuned on other text
  run python -m data_prep subword --tokenizer "$ENCODER" --input "$OUTPUT/text" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$DATA"
}

stage_train() { train_systems train_system; }

# The encoder as it is needs no bitext.
is_alignment_needed() {
  local system
  for system in "${SYSTEM_IDS[@]}"; do ! is_aligned "$system" || return 0; done
  return 1
}

is_aligned() { [[ ${TRAINED_AS[$1]} != "$UNALIGNED" ]]; } # SYSTEM

# AdamW of fairseq: its `adam` takes the decay from the weights themselves.
train_system() { # SYSTEM SEED
  local updates=${UPDATES_OF[${1##*-}]}
  set_training_options "$1"
  train fairseq-train "$DATA" --save-dir "$OUTPUT/models/$(model_name "$@")" --seed "$2" --task sentence_embedding --arch sentence_encoder \
    --pretrained-encoder "$ENCODER" --pooling cls --criterion weighted_losses --pairs "$(pairs_with_english "${LANGUAGES[@]}")" \
    --random-sides --random-batches --min-tokens "$MIN_TOKENS" --max-pair-tokens "$MAX_PAIR_TOKENS" --optimizer adam --weight-decay 0.01 \
    --lr "$LEARNING_RATE" --lr-scheduler polynomial_decay --total-num-update "$updates" --max-update "$updates" \
    --warmup-updates $((updates * WARMUP_SHARE / 100)) --batch-size "$BATCH_PAIRS" --batches-per-update "$BATCH_GPUS" \
    --max-source-positions "$MAX_LENGTH" --eval-retrieval \
    "${SAVING[@]}" --log-format simple --log-interval 100 "${OPTIONS[@]}" "${EXTRA_OPTIONS[@]}"
}

# The encoder of a system as a folder of transformers.
encoder_of() { # SYSTEM SEED
  if ! is_aligned "$1"; then echo "$ENCODER"; else echo "$OUTPUT/encoders/$(model_name "${TRAINED_AS[$1]}" "$2")"; fi
}

stage_export() { for_each_model export_encoder; }

# As it is after the last update: the paper chooses none.
export_encoder() { # SYSTEM SEED
  local model
  is_aligned "$1" || return 0
  model=$OUTPUT/models/$(model_name "${TRAINED_AS[$1]}" "$2")
  checkpoint_in "$model" train > /dev/null # it has come to its end
  run python -m fairseq_ext export --to transformers "$model/checkpoint_last.pt" --data "$DATA" "$(encoder_of "$@")"
}

# --- fine-tuning ---------------------------------------------------------------------------------------------------

stage_finetune() { for_each_model_at_once finetune_everywhere; }

finetune_everywhere() { # SYSTEM SEED
  for_each_training finetune "$@"
}

# Call `"$@" TASK TRAINING_LANGUAGE TEST_LANGUAGE...` for every fine-tuning of a system: in English, tested in all languages, and in every
# other one by itself, as Tables 2 and 4 have it (translate-train has the same English). Code-switching changes nothing in English, so
# that a system without it has the others alone.
for_each_training() { # COMMAND SYSTEM SEED
  local task language languages
  for task in ${XNLI:+pairs} ${MLQA:+answers}; do
    languages=("${XNLI_LANGUAGES[@]}")
    [[ $task == pairs ]] || languages=("${MLQA_LANGUAGES[@]}")
    for language in "${languages[@]}"; do
      if [[ $language != en ]]; then
        "$@" "$task" "$language" "$language"
      elif [[ ${TRAINED_AS[$2]} == "$2" ]]; then
        "$@" "$task" en "${languages[@]}"
      fi
    done
  done
}

# Fill TRAIN_FILE, ORIGINALS and VALID_FILE.
set_files_of_pairs() { # TRAINING_LANGUAGE
  TRAIN_FILE=$(xnli_train "$1")
  ORIGINALS=$XNLI/XNLI-MT-1.0/multinli/multinli.train.en.tsv # pair by pair the translations' own
  VALID_FILE=$(xnli_held_out dev)
}

set_files_of_answers() { # TRAINING_LANGUAGE
  TRAIN_FILE=$MLQA/squad/squad.translate.train.en-$1.json
  ORIGINALS=$MLQA/squad/train-v1.1.json
  [[ $1 != en ]] || TRAIN_FILE=$ORIGINALS
  VALID_FILE=$MLQA/MLQA_V1/dev/dev-context-$1-question-$1.json
}

test_file_of() { # TASK LANGUAGE
  if [[ $1 == pairs ]]; then xnli_held_out test; else echo "$MLQA/MLQA_V1/test/test-context-$2-question-$2.json"; fi
}

is_switched() { # SYSTEM TRAINING_LANGUAGE
  [[ $2 != en && $1 != no-cs-* ]]
}

check_files() { # SYSTEM SEED TASK TRAINING_LANGUAGE TEST_LANGUAGE...
  local language
  "set_files_of_$3" "$4"
  need_files "$TRAIN_FILE" "$VALID_FILE"
  for language in "${@:5}"; do need_files "$(test_file_of "$3" "$language")"; done
  ! is_switched "$1" "$4" || need_files "$ORIGINALS"
}

finetune() { # SYSTEM SEED TASK TRAINING_LANGUAGE TEST_LANGUAGE...
  local language tests=() options=("${FINETUNE_OPTIONS[@]}")
  "set_files_of_$3" "$4"
  for language in "${@:5}"; do tests+=("$language=$(test_file_of "$3" "$language")"); done
  ! is_switched "$1" "$4" || options+=(--code-switching "$ORIGINALS")
  [[ $HAS_POOLER != yes || $3 != pairs ]] || ! is_aligned "$1" || options+=(--pooler "$ENCODER") # which the alignment does not read
  measure "$(finetuned_file "$@")" python -m embeddings finetune --task "$3" --model "$(encoder_of "$1" "$2")" --encoder-name "$1" --seed "$2" \
    --train "$4=$TRAIN_FILE" --valid "$4=$VALID_FILE" --test "${tests[@]}" "${options[@]}" "${DEVICE[@]}" "${FORCED[@]}"
}

finetuned_file() { echo "$OUTPUT/finetuned/$(model_name "$1" "$2")/$3-$4/finetuning.json"; } # SYSTEM SEED TASK TRAINING_LANGUAGE

# --- report --------------------------------------------------------------------------------------------------------

stage_report() {
  local transfer=()
  RESULTS=() IS_ZERO_SHOT=no
  for_each_model add_finetuned
  if [[ $IS_ZERO_SHOT == yes ]]; then
    run python -m eval probe transfer "${RESULTS[@]}" --output "$OUTPUT/transfer"
    transfer=("$OUTPUT/transfer/transfer.json")
  else
    note "left out: transfer, for want of a system that learned in English"
  fi
  RESULTS+=("${transfer[@]}")
  write_report
}

add_finetuned() { for_each_training add_result "$@"; } # SYSTEM SEED

add_result() { # SYSTEM SEED TASK TRAINING_LANGUAGE TEST_LANGUAGE...
  local file
  file=$(finetuned_file "$@")
  needs_result "$file" finetune
  RESULTS+=("$file")
  [[ $4 != en || $# -lt 6 ]] || IS_ZERO_SHOT=yes
}

# A line per model whose alignment has come to its end, or which has none.
list_finished() {
  local seed
  for seed in "${SEED_LIST[@]}"; do model_name "$UNALIGNED" "$seed"; done
  [[ ! -d $OUTPUT/models ]] || python -m fairseq_ext finished-trainings "$OUTPUT/models"
}

# Whether what the stages read of a model is there, besides its checkpoint.
has_what_is_read() { # SYSTEM SEED
  if has_stage finetune; then
    [[ -d $(encoder_of "$@") ]] || ! is_aligned "$1" || has_stage export
  elif has_stage report; then
    are_measured finetune_everywhere "$@"
  fi
}

experiment "$@"
