#!/usr/bin/env bash
# Linguistically-driven pre-training: the systems of chapter 4 of the thesis, from text to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/translation.sh
source "$HERE/../shared/translation.sh"

RECIPE=jass_enss TITLE="Pre-training"
ALL_STAGES="prepare parse pretrain finetune translate score report"
TRAINING_STAGES="pretrain finetune"
SIZES='' DIRECTIONS='' MONOLINGUAL='' SPACY_MODEL='' ADEQUACY_MODEL='' PRETRAINING_SEED=1
REQUIRED_SETTINGS=(ALL_SIZES)

# What all configurations have in common (4.4.2, 4.4.3); a configuration may change it.
ARCHITECTURE=mnmt_transformer_big
MODEL_OPTIONS=()
NORM_OPTIONS=(--norm-placement pre) # of all systems: as the Transformer of OpenNMT has it, which the thesis uses
PRETRAINING_OPTIONS=(--inverted-mask) # equation 4.1, and what the accuracies of Tables 4.12 and 4.13 are of
DROPOUT=0.3
LEARNING_RATE=1e-4
PRETRAINING_LEARNING_RATE=1e-4
PRETRAINING_WARMUP=4000
PRETRAINING_GPUS=4 # of 4,096 tokens each; with fewer, gradients are accumulated
BATCH_GPUS=1
FINETUNING_TOKENS= # per batch of fine-tuning, where they are not those of pre-training
EPOCHS=1000 # early stopping ends it
PRETRAINING_STOP=(--save-interval-updates 5000 --keep-interval-updates 1 --patience 10)
# shellcheck disable=SC2054  # "early stopping using 1-gram accuracy and perplexity on the development set" (4.4.3)
FINETUNING_STOP=(--improvement-metrics accuracy,ppl --report-accuracy --best-checkpoint-metric improvements
  --maximize-best-checkpoint-metric --patience 10)
MAX_LENGTH=175
POSITIONS=512 # subwords of a sentence of 175 words
SAMPLE_OPTIONS=() BUNSETSU_OPTIONS=() PHRASES_OPTIONS=()

usage() {
  cat << END
usage: bash recipes/jass_enss/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Pre-trains the models of Table 4.2 on monolingual text, fine-tunes them on few pairs, translates, scores, compares,
reports. What is complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       aspec-ja-en, aspec-ja-zh, wikipedia-ja-zh, news-en-ko, and aspec-ja-en-large, aspec-ja-zh-large,
                      wikipedia-ja-zh-large (the paper's), enja (small), or a file
  --systems LIST      rows of Table 4.2, see README.md (default: the configuration's)
  --sizes LIST        some of the configuration's numbers of pairs for fine-tuning (default: all of them)
  --directions LIST   such as ja-en,en-ja (default: both)
  --pretraining-seed N  of the pre-training that the seeds share (default: $PRETRAINING_SEED)
  --monolingual DIR   folder of train.LANG for pre-training (default: the pairs that are not for fine-tuning)
  --spacy-model NAME  English spaCy pipeline, or its folder, for configurations that parse with spaCy; fetched with
                      python -m spacy download en_core_web_sm
  --adequacy-model PATH  sentence encoder for adequacy: a model or stored vectors (4.5.2; default: no adequacy)
$(help_of experiment comet training force plan all)

--data-root holds the parallel corpus (files SPLIT.SRC-TGT.LANG; enja: in place of a download). There is one fine-tuning
per system, size, direction and seed.

Example: bash recipes/jass_enss/run.sh --config enja --spacy-model en_core_web_sm --launcher gpu --jobs 4 --jobs-per-gpu 4
END
}

check_recipe() {
  local size direction pair reverse="${LANGUAGES[1]}-${LANGUAGES[0]}"
  pair=$(tr ' ' - <<< "${LANGUAGES[*]}")
  check_folders MONOLINGUAL
  split_list --sizes "${SIZES:-$ALL_SIZES}" SIZE_IDS
  split_list --directions "${DIRECTIONS:-$reverse,$pair}" DIRECTION_IDS
  # shellcheck disable=SC2086  # a list of words
  for size in "${SIZE_IDS[@]}"; do one_of --sizes "$size" ${ALL_SIZES//,/ }; done
  for direction in "${DIRECTION_IDS[@]}"; do one_of --directions "$direction" "$pair" "$reverse"; done
  positive --pretraining-seed "$PRETRAINING_SEED"
  if [[ $CORPUS == text ]] && has_stage prepare; then
    [[ -n $DATA_ROOT ]] || die "--config $CONFIG: give the pairs with --data-root, README.md says which"
    [[ -n $MONOLINGUAL ]] || die "--config $CONFIG: give the text for pre-training with --monolingual, README.md says which"
  fi
  if [[ ${PHRASES_OPTIONS[*]} != *spacy* ]]; then
    [[ -z $SPACY_MODEL ]] || die "--spacy-model: --config $CONFIG has no phrases by spaCy; leave it out"
  elif has_stage parse; then
    [[ -n $SPACY_MODEL ]] || die "--config $CONFIG: give an English spaCy pipeline with --spacy-model, a name or a path"
  fi
  TEXT=$OUTPUT/monolingual
}

# --- data ----------------------------------------------------------------------------------------------------------

# Samples are drawn from clean text, so that they have the sizes that they are called after.
stage_prepare() {
  local source=() raw=$DATA_ROOT monolingual=() clean=(--max-length "${MAX_WORDS:-$MAX_LENGTH}" "${CLEAN_OPTIONS[@]}") size
  if [[ $CORPUS != text ]]; then
    [[ -z $DATA_ROOT ]] || source=(--from-folder "$DATA_ROOT")
    raw=$OUTPUT/raw
    run python -m data_prep download "$CORPUS" "${CORPUS_OPTIONS[@]}" "${source[@]}" --output "$raw"
  fi
  [[ -z $MONOLINGUAL ]] || monolingual=(--monolingual "$MONOLINGUAL")
  run python -m data_prep clean --input "$raw" --output "$OUTPUT/text" "${clean[@]}"
  run python -m data_prep low-resource --input "$OUTPUT/text" --sizes "$ALL_SIZES" "${SAMPLE_OPTIONS[@]}" "${monolingual[@]}" --output "$OUTPUT/samples"
  run python -m data_prep clean --input "$OUTPUT/samples/monolingual" --output "$TEXT/text" "${clean[@]}" --also-exclude "$OUTPUT/text"
  segment "$TEXT/text" "$TEXT" "$OUTPUT/data/monolingual" "${SUBWORD_OPTIONS[@]}"
  for size in "${SIZE_IDS[@]}"; do # in the subwords of pre-training and, for the optimized Transformer, in its own
    segment "$OUTPUT/samples/$size" "$OUTPUT/pairs/$size" "$OUTPUT/data/$size" --dictionary-from "$TEXT/subword"
    is_among optimized "${SYSTEM_IDS[@]}" || continue
    set_optimized "$size"
    segment "$OUTPUT/samples/$size" "$OUTPUT/pairs/$size-optimized" "$OUTPUT/data/$size-optimized" --merges "$MERGES_OF_SIZE"
  done
}

segment() { # TEXT FOLDER DATA OPTION_OF_SUBWORD...
  run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$1" --output "$2/tokenized"
  run python -m data_prep subword "${@:4}" --input "$2/tokenized" --output "$2/subword"
  run python -m data_prep binarize --input "$2/subword" --text "$1" --output "$3"
}

stage_parse() {
  [[ ${#BUNSETSU_OPTIONS[@]} == 0 ]] || run python -m data_prep bunsetsu "${BUNSETSU_OPTIONS[@]}" \
    --input "$TEXT/tokenized" --text "$TEXT/text" --output "$TEXT/structures"
  [[ ${#PHRASES_OPTIONS[@]} == 0 ]] || run python -m data_prep phrases "${PHRASES_OPTIONS[@]}" ${SPACY_MODEL:+--model "$SPACY_MODEL"} \
    --input "$TEXT/tokenized" --text "$TEXT/text" --output "$TEXT/structures"
  run python -m data_prep position-changes --input "$TEXT/structures" # 4.5.1
  run python -m data_prep structures --input "$TEXT/structures" --tokenized "$TEXT/tokenized" \
    --subword "$TEXT/subword" --data "$OUTPUT/data/monolingual"
}

# --- training ------------------------------------------------------------------------------------------------------

stage_pretrain() {
  local system
  for system in "${SYSTEM_IDS[@]}"; do
    ! is_pretrained "$system" || start_job '' pretrain "$system"
  done
  finish_jobs trainings
}

is_pretrained() { [[ -n ${TRAINING[$1]} ]]; } # SYSTEM

pretrained_folder() { echo "$OUTPUT/pretrained/$1-seed$PRETRAINING_SEED"; } # SYSTEM

# "Batch size 4096", Adam, the checkpoint of the lowest perplexity (4.4.3), unless how a training ends says otherwise. The thesis leaves
# the betas and the schedule open.
pretrain() { # SYSTEM
  set_training_options "$1"
  train fairseq-train "$OUTPUT/data/monolingual" --save-dir "$(pretrained_folder "$1")" --seed "$PRETRAINING_SEED" \
    --task linguistic_pretraining "${OPTIONS[@]}" "${PRETRAINING_OPTIONS[@]}" --arch "$ARCHITECTURE" "${NORM_OPTIONS[@]}" "${MODEL_OPTIONS[@]}" \
    --lr "$PRETRAINING_LEARNING_RATE" "${SCHEDULE_OPTIONS[@]}" --warmup-updates "$PRETRAINING_WARMUP" --optimizer fused_adam --adam-betas "(0.9, 0.98)" \
    --criterion fused_label_smoothed_cross_entropy --label-smoothing "$LABEL_SMOOTHING" --dropout "$DROPOUT" \
    --max-tokens "$MAX_TOKENS" --batches-per-update "$PRETRAINING_GPUS" --max-epoch "$EPOCHS" --best-checkpoint-metric ppl "${PRETRAINING_STOP[@]}" \
    --max-source-positions "$POSITIONS" --max-target-positions "$POSITIONS" --skip-invalid-size-inputs-valid-test \
    --no-epoch-checkpoints --log-format simple --log-interval 100 "${EXTRA_OPTIONS[@]}"
}

stage_finetune() {
  for_each_model start_job '' finetune
  finish_jobs trainings
}

finetune() { # SYSTEM SIZE DIRECTION SEED
  local architecture=$ARCHITECTURE smoothing=$LABEL_SMOOTHING tokens=${FINETUNING_TOKENS:-$MAX_TOKENS} options=("${MODEL_OPTIONS[@]}") start
  if [[ $1 == optimized ]]; then
    set_optimized "$2"
    architecture=$ARCHITECTURE_OF_SIZE smoothing=$SMOOTHING_OF_SIZE tokens=$TOKENS_OF_SIZE options=()
  elif is_pretrained "$1"; then
    start=$(checkpoint_in "$(pretrained_folder "$1")" pretrain)
    options+=(--pretrained-checkpoint "$start")
  fi
  train fairseq-train "$(data_of "$1" "$2")" --save-dir "$OUTPUT/models/$(model_name "$@")" --seed "$4" \
    --task multilingual_nmt --lang-pairs "$3" --arch "$architecture" "${NORM_OPTIONS[@]}" "${options[@]}" \
    --lr "$LEARNING_RATE" "${SCHEDULE_OPTIONS[@]}" --warmup-updates "$WARMUP_UPDATES" --optimizer fused_adam --adam-betas "(0.9, 0.98)" \
    --criterion fused_label_smoothed_cross_entropy --label-smoothing "$smoothing" --dropout "$DROPOUT" \
    --max-tokens "$tokens" --batches-per-update "$BATCH_GPUS" --max-epoch "$EPOCHS" --best-checkpoint-metric ppl "${FINETUNING_STOP[@]}" \
    --max-source-positions "$POSITIONS" --max-target-positions "$POSITIONS" --skip-invalid-size-inputs-valid-test \
    --no-epoch-checkpoints --log-format simple --log-interval 100 "${EXTRA_OPTIONS[@]}"
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

model_name() { echo "$1-$2-$3-seed$4"; } # SYSTEM SIZE DIRECTION SEED

data_of() { # SYSTEM SIZE
  if [[ $1 == optimized ]]; then echo "$OUTPUT/data/$2-optimized"; else echo "$OUTPUT/data/$2"; fi
}

# --- evaluation ----------------------------------------------------------------------------------------------------

stage_translate() { for_each_model_at_once translate; }

translate() { # SYSTEM SIZE DIRECTION SEED
  local checkpoint
  checkpoint=$(checkpoint_in "$OUTPUT/models/$(model_name "$@")" finetune)
  run python -m eval translate --checkpoint "$checkpoint" --data "$(data_of "$1" "$2")" --directions "$3" --beam "$BEAM" "${SEARCH_OPTIONS[@]}" \
    --name "${TABLE_NAME[$1]}" --dataset "$NAME-$2-$3" "${DEVICE[@]}" --output "$OUTPUT/translations/$(model_name "$@")"
}

stage_score() {
  score
  [[ -z $ADEQUACY_MODEL ]] || run python -m eval adequacy "${FOLDERS[@]}" --model "$ADEQUACY_MODEL" --output "$OUTPUT/adequacy"
}

# With the accuracy and perplexity of pre-training per task (Tables 4.12 and 4.13).
stage_report() {
  local system logs=()
  for system in "${SYSTEM_IDS[@]}"; do
    ! is_pretrained "$system" || logs+=("${TABLE_NAME[$system]}=$(pretrained_folder "$system")/train.log")
  done
  if [[ ${#logs[@]} -gt 0 ]]; then
    run python -m eval probe pretraining-accuracy "${logs[@]}" --dataset "$NAME" --output "$OUTPUT/probes"
    PROBE_RESULTS+=("$OUTPUT/probes/pretraining-accuracy.json")
  fi
  add_probe_files "$OUTPUT/adequacy/adequacy.json"
  report "$OUTPUT" "$TITLE: $NAME" "$(largest_dataset)" "${FOLDERS[@]}"
}

# Systems of the dataset, a size and a direction, that has most.
largest_dataset() {
  local most
  most=$(for_each_model dataset_and_system | sort -u | cut -d' ' -f1 | uniq -c | sort -n | tail -n 1)
  awk '{ print $1 }' <<< "$most"
}

dataset_and_system() { echo "$2-$3 $1"; } # SYSTEM SIZE DIRECTION SEED

experiment "$@"
