#!/usr/bin/env bash
# Linguistically-driven pre-training: the systems of chapter 4 of the thesis, from text to tables.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=recipes/common.sh
source "$HERE/../common.sh"
# shellcheck source=recipes/jass_enss/systems.sh
source "$HERE/systems.sh"

CONFIG=
SYSTEM_LIST=
SIZE_LIST=
SEEDS=1,10
PRETRAINING_SEED=1
DIRECTIONS=
ALL_STAGES="prepare parse pretrain finetune translate score report"
STAGES=${ALL_STAGES// /,}
DATA_ROOT=
MONOLINGUAL=
SPACY_MODEL=
ADEQUACY_MODEL=
OUTPUT=

# What all configurations have in common (4.4.2, 4.4.3); a configuration may change it.
ARCHITECTURE=mnmt_transformer_big
DROPOUT=0.3
LEARNING_RATE=1e-4
PRETRAINING_LEARNING_RATE=1e-4
PRETRAINING_WARMUP=4000
PRETRAINING_GPUS=4 # of 4,096 tokens each; with fewer, gradients are accumulated
BATCH_GPUS=1
FINETUNING_TOKENS= # per batch of fine-tuning, where they are not those of pre-training
EPOCHS=1000 # early stopping ends it
PRETRAINING_STOP=(--save-interval-updates 5000 --keep-interval-updates 1 --patience 10)
FINETUNING_STOP=(--patience 10)
MAX_LENGTH=175
POSITIONS=512 # subwords of a sentence of 175 words
SAMPLE_OPTIONS=() BUNSETSU_OPTIONS=() PHRASES_OPTIONS=()

usage() {
  cat << END
usage: bash recipes/jass_enss/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Pre-trains the models of Table 4.2 on monolingual text, fine-tunes them on few pairs, translates, scores, compares,
reports. What is complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       aspec-ja-en, aspec-ja-zh, wikipedia-ja-zh, news-en-ko (the paper's), enja (small), or a file
  --systems LIST      rows of Table 4.2, see README.md (default: all of the configuration)
  --sizes LIST        numbers of pairs for fine-tuning (default: of the configuration)
  --directions LIST   such as ja-en,en-ja (default: both)
  --seeds LIST        one fine-tuning per system, size, direction and seed (default: $SEEDS)
  --pretraining-seed N  of the pre-training that they share (default: $PRETRAINING_SEED)
  --stages LIST       some of ${ALL_STAGES// /,} (default: all)
  --data-root DIR     folder of the parallel corpus (files SPLIT.SRC-TGT.LANG; enja: in place of a download)
  --monolingual DIR   folder of train.LANG for pre-training (default: the pairs that are not for fine-tuning)
  --spacy-model PATH  English spaCy pipeline, for configurations that parse with spaCy
  --adequacy-model PATH  sentence-transformers model for adequacy (4.5.2; default: no adequacy)
  --output DIR        folder for everything (default: outputs/jass_enss/CONFIG)
$(usage_of_training)
$(usage_of_all)

Example: bash recipes/jass_enss/run.sh --config enja --spacy-model en_core_web_sm --launcher gpu --jobs 4
END
}

read_options "$RECIPE_OPTIONS sizes=SIZE_LIST directions pretraining-seed monolingual spacy-model adequacy-model" "" "$@"

# --- check everything before anything is run --------------------------------------------------------------------

load_config "$HERE" SIZES
read -ra KNOWN_SYSTEMS <<< "$(systems_for "${LANGUAGES[@]}")"
[[ -n $SYSTEM_LIST && $SYSTEM_LIST != all ]] || SYSTEM_LIST=$(tr ' ' , <<< "${KNOWN_SYSTEMS[*]}")
PAIR=$(tr ' ' - <<< "${LANGUAGES[*]}")
split_lists DATA_ROOT MONOLINGUAL
IFS=, read -ra SIZE_IDS <<< "${SIZE_LIST:-$SIZES}"
IFS=, read -ra DIRECTION_IDS <<< "${DIRECTIONS:-${LANGUAGES[1]}-${LANGUAGES[0]},$PAIR}"
for system in "${SYSTEM_IDS[@]}"; do one_of --systems "$system" "${KNOWN_SYSTEMS[@]}"; done
# shellcheck disable=SC2086  # a list of words
for size in "${SIZE_IDS[@]}"; do one_of --sizes "$size" ${SIZES//,/ }; done
for direction in "${DIRECTION_IDS[@]}"; do
  one_of --directions "$direction" "$PAIR" "${LANGUAGES[1]}-${LANGUAGES[0]}"
done
positive --pretraining-seed "$PRETRAINING_SEED"
if [[ $CORPUS == text ]] && has_stage prepare; then
  [[ -n $DATA_ROOT ]] || die "--config $CONFIG: give the pairs with --data-root, README.md says which"
  [[ -n $MONOLINGUAL ]] || die "--config $CONFIG: give the text for pre-training with --monolingual, README.md says which"
fi
if [[ ${PHRASES_OPTIONS[*]} == *spacy* ]] && has_stage parse; then
  [[ -n $SPACY_MODEL ]] || die "--config $CONFIG: give an English spaCy pipeline with --spacy-model, a name or a path"
fi

use_environment
check_launcher

NAME=$(basename "$CONFIG_FILE" .sh)
OUTPUT=${OUTPUT:-outputs/jass_enss/$NAME}
TEXT=$OUTPUT/monolingual # of pre-training, and its steps

# --- data --------------------------------------------------------------------------------------------------------

# Samples are drawn from clean text, so that they have the sizes that they are called after.
prepare_texts() {
  local source=() raw=$DATA_ROOT options=("${SAMPLE_OPTIONS[@]}") size
  if [[ $CORPUS != text ]]; then
    [[ -z $DATA_ROOT ]] || source=(--from-folder "$DATA_ROOT")
    raw=$OUTPUT/raw
    run python -m data_prep download "$CORPUS" "${source[@]}" --output "$raw"
  fi
  [[ -z $MONOLINGUAL ]] || options+=(--monolingual "$MONOLINGUAL")
  run python -m data_prep clean --input "$raw" --output "$OUTPUT/text" --max-length "$MAX_LENGTH"
  run python -m data_prep low-resource --input "$OUTPUT/text" --sizes "$SIZES" "${options[@]}" --output "$OUTPUT/samples"
  # lines beside each other have nothing to do with each other: any ratio of their lengths is right
  run python -m data_prep clean --input "$OUTPUT/samples/monolingual" --output "$TEXT/text" --max-length "$MAX_LENGTH" \
    --max-ratio "$MAX_LENGTH" --also-exclude "$OUTPUT/text"
  segment "$TEXT/text" "$TEXT" "$OUTPUT/data/monolingual" "${SUBWORD_OPTIONS[@]}"
  for size in "${SIZE_IDS[@]}"; do prepare_size "$size"; done
}

# Tokenize, apply or learn subwords, binarize.
segment() { # TEXT FOLDER DATA OPTION_OF_SUBWORD...
  run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$1" --output "$2/tokenized"
  run python -m data_prep subword "${@:4}" --input "$2/tokenized" --output "$2/subword"
  run python -m data_prep binarize --input "$2/subword" --text "$1" --output "$3"
}

# The pairs in the subwords of pre-training and, for the optimized Transformer, in its own (Table B.1).
prepare_size() { # SIZE
  local merges text=$OUTPUT/samples/$1
  segment "$text" "$OUTPUT/pairs/$1" "$OUTPUT/data/$1" --dictionary-from "$TEXT/subword"
  if [[ ,$SYSTEM_LIST, == *,optimized,* ]]; then
    read -r _ merges _ <<< "$(optimized_settings "$1")"
    segment "$text" "$OUTPUT/pairs/$1-optimized" "$OUTPUT/data/$1-optimized" --merges "$merges"
  fi
}

parse() {
  local model=()
  [[ -z $SPACY_MODEL ]] || model=(--model "$SPACY_MODEL")
  [[ ${#BUNSETSU_OPTIONS[@]} == 0 ]] || run python -m data_prep bunsetsu "${BUNSETSU_OPTIONS[@]}" \
    --input "$TEXT/tokenized" --text "$TEXT/text" --output "$TEXT/structures"
  [[ ${#PHRASES_OPTIONS[@]} == 0 ]] || run python -m data_prep phrases "${PHRASES_OPTIONS[@]}" "${model[@]}" \
    --input "$TEXT/tokenized" --text "$TEXT/text" --output "$TEXT/structures"
  run python -m data_prep position-changes --input "$TEXT/structures" # 4.5.1
  run python -m data_prep structures --input "$TEXT/structures" --tokenized "$TEXT/tokenized" \
    --subword "$TEXT/subword" --data "$OUTPUT/data/monolingual"
}

# --- training and translation ------------------------------------------------------------------------------------

# Options of both trainings; "batch size 4096", Adam, the checkpoint of the lowest perplexity (4.4.3). The thesis leaves the
# betas and the schedule open.
train_model() { # FOLDER DATA SEED WARMUP_UPDATES TOKENS BATCH_GPUS OPTION...
  train "$1" "$2" --seed "$3" --warmup-updates "$4" --max-tokens "$5" --update-freq $(($6 > GPUS ? $6 / GPUS : 1)) \
    "${@:7}" --best-checkpoint-metric ppl --criterion fused_label_smoothed_cross_entropy --optimizer fused_adam \
    --adam-betas "(0.9, 0.98)" "${SCHEDULE_OPTIONS[@]}" --dropout "$DROPOUT" \
    --max-source-positions "$POSITIONS" --max-target-positions "$POSITIONS" --skip-invalid-size-inputs-valid-test \
    --max-epoch "$EPOCHS" --no-epoch-checkpoints \
    --log-format simple --log-interval 100 "${EXTRA_OPTIONS[@]}"
}

pretrained_folder() { # SYSTEM
  echo "$OUTPUT/pretrained/$1-seed$PRETRAINING_SEED"
}

pretrain() { # SYSTEM
  train_model "$(pretrained_folder "$1")" "$OUTPUT/data/monolingual" "$PRETRAINING_SEED" "$PRETRAINING_WARMUP" \
    "$MAX_TOKENS" "$PRETRAINING_GPUS" --task linguistic_pretraining \
    --pretraining-tasks "$(pretraining_tasks "$1" "${LANGUAGES[@]}")" --arch "$ARCHITECTURE" "${MODEL_OPTIONS[@]}" \
    --label-smoothing "$LABEL_SMOOTHING" --lr "$PRETRAINING_LEARNING_RATE" "${PRETRAINING_STOP[@]}"
}

run_name() { # SYSTEM SIZE DIRECTION SEED
  echo "$1-$2-$3-seed$4"
}

data_of() { # SYSTEM SIZE
  if [[ $1 == optimized ]]; then echo "$OUTPUT/data/$2-optimized"; else echo "$OUTPUT/data/$2"; fi
}

finetune() { # SYSTEM SIZE DIRECTION SEED
  local architecture=$ARCHITECTURE smoothing=$LABEL_SMOOTHING tokens=${FINETUNING_TOKENS:-$MAX_TOKENS}
  local options=("${MODEL_OPTIONS[@]}") checkpoint
  if [[ $1 == optimized ]]; then
    read -r architecture _ smoothing tokens <<< "$(optimized_settings "$2")"
    options=()
  elif is_pretrained "$1"; then
    checkpoint=$(pretrained_folder "$1")/checkpoint_best.pt
    [[ $DRY_RUN == yes || -e $checkpoint ]] || die "$checkpoint: no such file; run the stage pretrain first"
    options+=(--pretrained-checkpoint "$checkpoint")
  fi
  train_model "$OUTPUT/models/$(run_name "$@")" "$(data_of "$1" "$2")" "$4" "$WARMUP_UPDATES" "$tokens" "$BATCH_GPUS" \
    --task multilingual_nmt --lang-pairs "$3" --arch "$architecture" "${options[@]}" \
    --label-smoothing "$smoothing" --lr "$LEARNING_RATE" "${FINETUNING_STOP[@]}"
}

translate() { # SYSTEM SIZE DIRECTION SEED
  local name checkpoint options=()
  name=$(run_name "$@")
  checkpoint=$OUTPUT/models/$name/checkpoint_best.pt
  [[ $DRY_RUN == yes || -e $checkpoint ]] || die "$checkpoint: no such file; run the stage finetune first"
  [[ $LAUNCHER != cpu ]] || options=(--cpu)
  run python -m eval translate --checkpoint "$checkpoint" --data "$(data_of "$1" "$2")" --directions "$3" --beam "$BEAM" \
    "${options[@]}" --name "$(name_of "$1")" --dataset "$NAME-$2-$3" --output "$OUTPUT/translations/$name"
}

# Call `"$@" SYSTEM SIZE DIRECTION SEED` for every fine-tuned model; those of one table of results come together.
for_every_model() { # COMMAND...
  local system size direction seed
  for direction in "${DIRECTION_IDS[@]}"; do
    for size in "${SIZE_IDS[@]}"; do
      for system in "${SYSTEM_IDS[@]}"; do
        for seed in "${SEED_LIST[@]}"; do
          "$@" "$system" "$size" "$direction" "$seed"
        done
      done
    done
  done
}

FOLDERS=()
add_folder() { # SYSTEM SIZE DIRECTION SEED
  FOLDERS+=("$OUTPUT/translations/$(run_name "$@")")
}
for_every_model add_folder

if has_stage prepare; then
  note "prepare: $CORPUS (${LANGUAGES[*]})"
  prepare_texts
fi
if has_stage parse; then
  note "parse: ${LANGUAGES[*]}"
  parse
fi
if has_stage pretrain; then
  note "pretrain: systems $SYSTEM_LIST, seed $PRETRAINING_SEED"
  for system in "${SYSTEM_IDS[@]}"; do
    ! is_pretrained "$system" || start_job pretrain "$system"
  done
  finish_jobs
fi
if has_stage finetune; then
  note "finetune: systems $SYSTEM_LIST, sizes ${SIZE_IDS[*]}, seeds $SEEDS"
  for_every_model start_job finetune
  finish_jobs
fi
if has_stage translate; then
  note "translate"
  for_every_model translate
fi
if has_stage score; then
  note "score"
  score "${FOLDERS[@]}"
  [[ -z $ADEQUACY_MODEL ]] || run python -m eval adequacy "${FOLDERS[@]}" --model "$ADEQUACY_MODEL" --output "$OUTPUT/adequacy"
fi
# Accuracy and perplexity per task (Tables 4.12 and 4.13).
probe_accuracy() {
  local system logs=()
  for system in "${SYSTEM_IDS[@]}"; do
    ! is_pretrained "$system" || logs+=("$(name_of "$system")=$(pretrained_folder "$system")/train.log")
  done
  [[ ${#logs[@]} == 0 ]] || {
    run python -m eval probe pretraining-accuracy "${logs[@]}" --dataset "$NAME" --output "$OUTPUT/probes"
    PROBE_RESULTS+=("$OUTPUT/probes/pretraining-accuracy.json")
  }
}

if has_stage report; then
  note "report"
  probe_accuracy
  [[ ! -e $OUTPUT/adequacy/adequacy.json ]] || PROBE_RESULTS+=("$OUTPUT/adequacy/adequacy.json")
  if [[ ${#SYSTEM_IDS[@]} -gt 1 ]]; then
    report "$OUTPUT" "Pre-training: $NAME" "${FOLDERS[@]}"
  else # nothing to compare
    run python -m eval report "${FOLDERS[@]}" "${PROBE_RESULTS[@]}" --output "$OUTPUT/report" --title "Pre-training: $NAME"
  fi
fi
