#!/usr/bin/env bash
# Linguistically-driven pre-training: the systems of chapter 4 of the thesis, from text to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"

RECIPE=jass_enss TITLE="Pre-training"
# shellcheck source=recipes/jass_enss/data.sh
source "$HERE/data.sh"
# shellcheck source=recipes/jass_enss/training.sh
source "$HERE/training.sh"

ALL_STAGES="prepare parse pretrain finetune translate score report"
TRAINING_STAGES="pretrain finetune"
SIZE_LIST='' DIRECTIONS='' MONOLINGUAL='' SPACY_MODEL='' ADEQUACY_MODEL='' PRETRAINING_SEED=1
REQUIRED_SETTINGS=(SIZES)

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

  --config NAME       aspec-ja-en, aspec-ja-zh, wikipedia-ja-zh, news-en-ko (the paper's), enja (small), or a file
  --systems LIST      rows of Table 4.2, see README.md (default: the configuration's)
  --sizes LIST        some of the configuration's numbers of pairs for fine-tuning (default: all of them)
  --directions LIST   such as ja-en,en-ja (default: both)
  --pretraining-seed N  of the pre-training that the seeds share (default: $PRETRAINING_SEED)
  --monolingual DIR   folder of train.LANG for pre-training (default: the pairs that are not for fine-tuning)
  --spacy-model NAME  English spaCy pipeline, or its folder, for configurations that parse with spaCy; fetched with
                      python -m spacy download en_core_web_sm
  --adequacy-model PATH  sentence-transformers model for adequacy (4.5.2; default: no adequacy)
$(usage_of_experiment)
$(usage_of_all)

--data-root holds the parallel corpus (files SPLIT.SRC-TGT.LANG; enja: in place of a download). There is one fine-tuning
per system, size, direction and seed.

Example: bash recipes/jass_enss/run.sh --config enja --spacy-model en_core_web_sm --launcher gpu --jobs 4 --jobs-per-gpu 4
END
}

check_recipe() {
  local size direction pair reverse="${LANGUAGES[1]}-${LANGUAGES[0]}"
  pair=$(tr ' ' - <<< "${LANGUAGES[*]}")
  check_folders MONOLINGUAL
  split_list --sizes "${SIZE_LIST:-$SIZES}" SIZE_IDS
  split_list --directions "${DIRECTIONS:-$reverse,$pair}" DIRECTION_IDS
  # shellcheck disable=SC2086  # a list of words
  for size in "${SIZE_IDS[@]}"; do one_of --sizes "$size" ${SIZES//,/ }; done
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

set_evaluated() { # SYSTEM SIZE DIRECTION SEED
  local checkpoint
  checkpoint=$(checkpoint_in "$OUTPUT/models/$(model_name "$@")" finetune)
  EVALUATED=(--checkpoint "$checkpoint" --data "$(data_of "$1" "$2")" --directions "$3" --beam "$BEAM" "${SEARCH_OPTIONS[@]}"
    --name "${TABLE_NAME[$1]}" --dataset "$NAME-$2-$3")
  [[ $LAUNCHER != cpu ]] || EVALUATED+=(--cpu)
}

stage_score() {
  score
  [[ -z $ADEQUACY_MODEL ]] || run python -m eval adequacy "${FOLDERS[@]}" --model "$ADEQUACY_MODEL" --output "$OUTPUT/adequacy"
}

# Systems of the dataset, a size and a direction, that has most.
largest_dataset() {
  local system size direction seed
  list_models | while read -r system size direction seed; do
    [[ $FINISHED_ONLY == yes && -z ${FINISHED["$system $size $direction $seed"]:-} ]] || echo "$size $direction $system"
  done | sort -u | cut -d' ' -f1,2 | uniq -c | sort -n | awk '{ most = $1 } END { print most + 0 }'
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

experiment "sizes=SIZE_LIST directions pretraining-seed monolingual spacy-model adequacy-model" "" "$@"
