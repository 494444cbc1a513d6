#!/usr/bin/env bash
# Multilingual sentence encoders: EMS and the systems beside it in chapter 2 of the thesis, from text to tables of retrieval.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"

RECIPE=sentence_embedding TITLE="Sentence encoders"
SEEDS=1
ALL_STAGES="prepare train evaluate report"
REQUIRED_SETTINGS=(BATCH_PAIRS TRANSLATION_MODEL)
TRANSLATION=translation # the system that is no sentence encoder
CASE=$HERE/case.en      # the two sentences of 2.4.8
TATOEBA='' FLORES=''

# What 2.3.3 has for all systems; a configuration changes it.
WARMUP_UPDATES=10000
SCHEDULE_OPTIONS=(--lr-scheduler fixed)
WEIGHT_DECAY=1e-5
MAX_LENGTH=120 # tokens; longer sentences are cut
MAX_WORDS=256  # of a line of the training text
ATTENTION_DROPOUT=0.1
CONTRAST_WIDTH=128
XTR_OPTIONS='' CONTRAST_OPTIONS=''
DECODER_LAYERS=6
MULTIWAY=() # languages whose test sets with English are line-parallel with each other
SELECTION_OPTIONS=(--best-checkpoint-metric loss)

usage() {
  cat << END
usage: bash recipes/sentence_embedding/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Trains sentence encoders of chapter 2 on pairs with English, measures how well they retrieve translations, reports. What is
complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       ems (the paper's), l10n (small), or a file like those in configs/
  --systems LIST      of ems, margin-vanilla, no-xtr, no-contrast, no-mlp, no-language, shared-embedding, margin-scaled,
                      margin-joint, decoder, ugt, translation, or 'all' (default: $(list_systems))
  --tatoeba DIR       LASER's Tatoeba test sets, tatoeba.XXX-eng.XXX: measured in evaluate, kept out of the training text
                      by prepare
  --flores DIR        Flores-200, SPLIT/CODE.SPLIT: devtest is measured; dev and devtest are kept out of the training text
$(usage_of_experiment)
$(usage_of_all)

Example: bash recipes/sentence_embedding/run.sh --config l10n --data-root l10n --tatoeba tatoeba/v1 --systems ems,no-xtr
END
}

check_recipe() {
  check_folders TATOEBA FLORES
  [[ -z $COMET ]] || die "--comet $COMET: sentence encoders do not translate; expected none"
}

# A pair of languages as file names have it.
pair_with_english() { # LANGUAGE
  if [[ $1 < en ]]; then echo "$1-en"; else echo "en-$1"; fi
}

# --- stages --------------------------------------------------------------------------------------------------------

# Sentences of evaluation sets, in whatever language, are not trained on (2.3.2).
stage_prepare() {
  local excluded=()
  [[ -z $TATOEBA ]] || excluded+=("$TATOEBA"/tatoeba.*)
  [[ -z $FLORES ]] || excluded+=("$FLORES"/dev/*.dev "$FLORES"/devtest/*.devtest)
  [[ ${#excluded[@]} == 0 ]] || CLEAN_OPTIONS=(--exclude-text "${excluded[@]}")
  prepare
}

train_system() { # SYSTEM SEED
  local options interval=()
  read -ra options <<< "${TRAINING_OPTIONS[$1]}"
  [[ $SAVE_UPDATES == 0 ]] || interval=(--save-interval-updates "$SAVE_UPDATES" --keep-interval-updates "$KEEP_UPDATES")
  if [[ $1 == "$TRANSLATION" ]]; then set_translation; else set_sentence_embedding; fi
  train "$OUTPUT/models/$(model_name "$@")" "$DATA" "${TASK[@]}" "${options[@]}" \
    --optimizer fused_adam --lr "$LEARNING_RATE" "${SCHEDULE_OPTIONS[@]}" --warmup-updates "$WARMUP_UPDATES" \
    --weight-decay "$WEIGHT_DECAY" --batch-size "$BATCH_PAIRS" --batches-per-update "$BATCH_GPUS" \
    --max-source-positions "$MAX_LENGTH" --seed "$2" --no-epoch-checkpoints "${interval[@]}" \
    --log-format simple --log-interval 100 "${EXTRA_OPTIONS[@]}"
}

# Fill TASK: both sentences of a pair are encoded in every step.
set_sentence_embedding() {
  local language pairs=""
  for language in "${LANGUAGES[@]}"; do
    [[ $language == en ]] || pairs+=",$(pair_with_english "$language")"
  done
  TASK=(--task sentence_embedding --pairs "${pairs#,}" --max-epoch "$EPOCHS" --eval-retrieval "${SELECTION_OPTIONS[@]}")
}

# Fill TASK: an epoch has every pair in both directions, so half as many have as many batches.
set_translation() {
  TASK=(--task multilingual_nmt --lang-pairs "$PAIRS" --max-epoch $(((EPOCHS + 1) / 2))
    --max-target-positions $((MAX_LENGTH + 1)) --skip-invalid-size-inputs-valid-test)
}

# Retrieval in every test set (2.4.1, 2.4.2), and the case of 2.4.8.
stage_evaluate() {
  for_each_model evaluate
}

evaluate() { # SYSTEM SEED
  local results
  results=$OUTPUT/retrieval/$(model_name "$@")
  ENCODER=(--model "$(checkpoint_of "$@")" --model-data "$DATA" --encoder-name "$1")
  [[ $LAUNCHER != cpu ]] || ENCODER+=(--cpu)
  multiway_files
  [[ ${#MULTIWAY_FILES[@]} == 0 ]] ||
    retrieve "$results/multiway" --parallel "${MULTIWAY_FILES[@]}" --dataset "$NAME, multi-parallel"
  [[ -z $TATOEBA ]] || retrieve "$results/tatoeba" --tatoeba "$TATOEBA"
  [[ -z $FLORES ]] || retrieve "$results/flores" --flores "$FLORES"
  run python -m embeddings neighbours "$CASE" --dataset "2.4.8" "${ENCODER[@]}" --output "$results/case"
}

retrieve() { # FOLDER TEST_SET_OPTION...
  run python -m embeddings retrieve "${@:2}" "${ENCODER[@]}" --groups "$ROOT/embeddings/language_groups/ems.toml" --output "$1"
}

# Fill MULTIWAY_FILES: the test set of each language with English, and once its English side.
multiway_files() {
  local language text=$DATA/text
  MULTIWAY_FILES=()
  for language in "${MULTIWAY[@]}"; do
    MULTIWAY_FILES+=("$text/test.$(pair_with_english "$language").$language")
  done
  [[ ${#MULTIWAY[@]} == 0 ]] || MULTIWAY_FILES+=("$text/test.$(pair_with_english "${MULTIWAY[0]}").en")
}

stage_report() {
  RESULTS=() RETRIEVAL=() LOGS=()
  for_each_model add_retrieval
  for_each_model add_log
  run python -m eval probe training-speed "${LOGS[@]}" --dataset "$NAME" --output "$OUTPUT/speed"
  RESULTS+=("$OUTPUT/speed/training-speed.json")
  [[ ${#SYSTEM_IDS[@]} == 1 ]] || compare_with_first
  run python -m eval report "${RESULTS[@]}" --output "$OUTPUT/report" --title "$TITLE: $NAME"
  [[ $DRY_RUN == yes ]] || note "report: $OUTPUT/report/report.html"
}

add_retrieval() { # SYSTEM SEED
  local file files=()
  [[ ${#MULTIWAY[@]} == 0 ]] || files+=(multiway/sentence-retrieval.json)
  [[ -z $TATOEBA ]] || files+=(tatoeba/sentence-retrieval.json)
  [[ -z $FLORES ]] || files+=(flores/sentence-retrieval.json)
  for file in "${files[@]}" case/neighbours.json; do
    file=$OUTPUT/retrieval/$(model_name "$@")/$file
    [[ $DRY_RUN == yes || -e $file ]] || die "$file: no such file; run the stage evaluate first"
    RESULTS+=("$file")
    [[ $file != */sentence-retrieval.json ]] || RETRIEVAL+=("$file")
  done
}

# P@1 of the first system against that of every other, in every test set.
compare_with_first() {
  run python -m eval compare "${RETRIEVAL[@]}" --against-first --output "$OUTPUT/comparison.json"
  RESULTS+=("$OUTPUT/comparison.json")
}

add_log() { # SYSTEM SEED
  LOGS+=("$1=$OUTPUT/models/$(model_name "$@")/train.log")
}

experiment "tatoeba flores" "" "$@"
