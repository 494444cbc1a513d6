#!/usr/bin/env bash
# Multilingual sentence encoders: EMS and the systems beside it in chapter 2 of the thesis, from text to tables of retrieval.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/sentence_encoders.sh
source "$HERE/../shared/sentence_encoders.sh"

RECIPE=sentence_embedding TITLE="Sentence encoders"
SEEDS=1
ALL_STAGES="prepare train evaluate report"
REQUIRED_SETTINGS=(BATCH_PAIRS TRANSLATION_MODEL)
CASE=$HERE/case.en      # the two sentences of 2.4.8
MLDOC='' AMAZON='' REVIEWS='' PARACRAWL=''
MLDOC_LANGUAGES=en,de,es,fr,it,ja,ru,zh AMAZON_LANGUAGES=en,de,fr,ja REVIEW_LANGUAGES=en,de,es,fr,ja,zh # Tables 2.11 to 2.13
PARACRAWL_LANGUAGES=(bg cs da de el es et "fi" fr hr hu it lt lv nl pl pt ro sk sl sv) # Table 2.10

# What 2.3.3 has for all systems; a configuration changes it.
WARMUP_UPDATES=10000
SCHEDULE_OPTIONS=(--lr-scheduler fixed)
WEIGHT_DECAY=1e-5
MAX_LENGTH=120 # tokens; longer sentences are cut
MAX_WORDS=256  # of a line of the training text
ATTENTION_DROPOUT=0.1
LANGUAGE_WIDTH=128 # d_la: the embedding of the other language in XTR and UGT
CONTRAST_WIDTH=128 # the MLP of contrast and of the scaled margin
DECODER_LAYERS=6
SELECTION_OPTIONS=(--best-checkpoint-metric loss)
TRANSLATION_MODEL=() # architecture of the system `translation`

usage() {
  cat << END
usage: bash recipes/sentence_embedding/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Trains sentence encoders of chapter 2 on pairs with English, measures how well they retrieve translations, reports. What is
complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       ems (the paper's), l10n (small), l10n-28 (its 28 languages), or a file like those in configs/
  --systems LIST      of ems, margin-vanilla, no-xtr, no-contrast, no-mlp, no-language, shared-embedding, margin-scaled,
                      margin-joint, decoder, ugt, translation, or 'all' (default: $(list_systems))
$(help_of test_sets united_nations compared)
  --mldoc DIR         MLDoc: classification of news, taught in each language and tested in all (Tables 2.11, 2.14)
  --amazon DIR        Amazon reviews, version 1: cls-acl10-unprocessed (Table 2.12)
  --reviews DIR       Amazon reviews, version 2: dataset_LANG_train.json, ... (Table 2.13)
  --paracrawl DIR     200,000 lines of ParaCrawl of each pair, LANG-en.LANG and LANG-en.en: retrieval of the first 2,000 (Table 2.10)
$(help_of search experiment training force plan all)

Example: bash recipes/sentence_embedding/run.sh --config l10n --data-root l10n --tatoeba tatoeba/v1 --systems ems,no-xtr
END
}

check_recipe() {
  check_test_sets
  check_compared
  check_folders MLDOC AMAZON REVIEWS PARACRAWL
}

stage_prepare() {
  fetch_text
  run python -m data_prep clean --input "$RAW" --output "$OUTPUT/text" --max-length "${MAX_WORDS:-$MAX_LENGTH}" "${CLEAN_OPTIONS[@]}"
  run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUTPUT/text" --output "$OUTPUT/tokenized"
  run python -m data_prep subword "${SUBWORD_OPTIONS[@]}" --input "$OUTPUT/tokenized" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$DATA"
}

stage_train() { train_systems train_system; }

# Both sentences of a pair are encoded in every step. An epoch of translation has every pair in both directions, so half as many epochs
# have as many batches.
train_system() { # SYSTEM SEED
  local task=(--task sentence_embedding --pairs "$(pairs_with_english "${LANGUAGES[@]}")" --max-epoch "$EPOCHS" --random-batches --eval-retrieval "${SELECTION_OPTIONS[@]}")
  [[ $1 != translation ]] || task=(--task multilingual_nmt --lang-pairs "$PAIRS" --max-epoch $(((EPOCHS + 1) / 2))
    --max-target-positions $((MAX_LENGTH + 1)) --skip-invalid-size-inputs-valid-test)
  set_training_options "$1"
  train fairseq-train "$DATA" --save-dir "$OUTPUT/models/$(model_name "$@")" --seed "$2" "${task[@]}" \
    --lr "$LEARNING_RATE" "${SCHEDULE_OPTIONS[@]}" --warmup-updates "$WARMUP_UPDATES" --optimizer fused_adam --weight-decay "$WEIGHT_DECAY" \
    --batch-size "$BATCH_PAIRS" --batches-per-update "$BATCH_GPUS" --max-source-positions "$MAX_LENGTH" \
    "${SAVING[@]}" --log-format simple --log-interval 100 "${OPTIONS[@]}" "${EXTRA_OPTIONS[@]}"
}

stage_evaluate() {
  evaluate_compared
  for_each_model_at_once evaluate
}

# Retrieval in every test set, and the case of 2.4.8.
measure_trained() { # FOLDER ENCODER_OPTION...
  retrieve_everywhere "$@"
  measure "$1/case/neighbours.json" python -m embeddings neighbours "$CASE" --dataset "2.4.8" "${@:2}"
}

further_tests() { # FOLDER ENCODER_OPTION...
  local category language
  [[ -z $MLDOC ]] || measure "$1/mldoc/classification.json" python -m embeddings classify "$MLDOC" \
    --layout mldoc --languages "$MLDOC_LANGUAGES" "${@:2}"
  [[ -z $REVIEWS ]] || measure "$1/reviews/classification.json" python -m embeddings classify "$REVIEWS" \
    --layout marc --dataset "Amazon reviews, version 2" --languages "$REVIEW_LANGUAGES" "${@:2}"
  [[ -z $AMAZON ]] || for category in books dvd music; do
    measure "$1/amazon-$category/classification.json" python -m embeddings classify "$AMAZON" \
      --layout cls --category "$category" --dataset "Amazon reviews" --languages "$AMAZON_LANGUAGES" "${@:2}"
  done
  [[ -z $PARACRAWL ]] || for language in "${PARACRAWL_LANGUAGES[@]}"; do
    measure "$1/paracrawl-$language/sentence-retrieval.json" python -m embeddings retrieve \
      --parallel "$PARACRAWL/$language-en.$language" "$PARACRAWL/$language-en.en" --queries 2000 --dataset "ParaCrawl $language" "${@:2}"
  done
}

stage_report() {
  RESULTS=() RETRIEVAL=() LOGS=()
  for_each_model add_evaluated
  for_each_model add_log
  run python -m eval probe training-speed "${LOGS[@]}" --dataset "$NAME" --output "$OUTPUT/speed"
  RESULTS+=("$OUTPUT/speed/training-speed.json")
  add_compared evaluate
  [[ ${#SYSTEM_IDS[@]} == 1 ]] || compare_retrieval comparison --against-first --metric "$SHOWN_SIMILARITY"
  write_report
}

add_log() { LOGS+=("$1=$OUTPUT/models/$(model_name "$@")/train.log"); } # SYSTEM SEED

experiment "$@"
