#!/usr/bin/env bash
# OneAligner (Niu et al. 2022): one pair of languages teaches a pre-trained encoder to align all, from text to tables of retrieval.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/sentence_encoders.sh
source "$HERE/../shared/sentence_encoders.sh"
# shellcheck source=recipes/shared/pretrained_encoders.sh
source "$HERE/../shared/pretrained_encoders.sh"

RECIPE=one_aligner TITLE="OneAligner"
ALL_STAGES="pretrain prepare untrained train evaluate report"
SEEDS=1
CONFIGURED="CORPUS LANGUAGES LEARNING_RATE EPOCHS BATCH_GPUS BATCH_PAIRS BUDGET LAYERS"
MAX_WORDS=256          # of a line of text
PRETRAINING_OPTIONS=() # of `embeddings pretrain`, if the recipe makes its encoder, in the stage pretrain
PRETRAINING_UPDATES=() # after which it is kept; the last one is trained, the others are compared with it
LANGUAGE_GROUPS=one_aligner

# What section 3 has for all systems; a configuration changes it.
LEARNING_RATE=3e-6
BATCH_PAIRS=64
BATCH_GPUS=1
EPOCHS=3
MAX_LENGTH=100
BUDGET=1000000 # pairs of sentences, of all languages together
# With what else all systems have. Batches are drawn at random: the loss compares all sentences of a batch. The checkpoint is chosen by what
# is tested.
OPTIMIZER_OPTIONS=(--optimizer fused_adam --min-tokens 5 --random-batches --eval-retrieval-similarity bert-score --eval-retrieval-normalization 0.75)
LOSS=(--losses global_ranking --global-ranking-temperature 5 --global-ranking-normalization 0.75)
RETRIEVAL_OPTIONS=(--similarity "cosine,bert-score" --normalize 0.75)
SHOWN_SIMILARITY=bert-score-normalized # what is trained
COMPARED_MEASURES=(cosine:bert-score-normalized cosine:cosine-normalized bert-score:bert-score-normalized) # columns of Table 1
# XTREME's development and test sets; the nearest by vectors are compared by BERT-score.
BUCC_OPTIONS=(--tuned sample --tested training --universal-threshold --margin absolute --neighbours 16 --rescore bert-score --normalize 0.75)
EVERY_PAIR='' # what is trained without budget
SIZES=()      # budgets of further systems of the pair SIZE_PAIR
SIZE_PAIR=''
SIZE_GROUP=Tatoeba-36 # of languages, whose P@1 is plotted against sizes
DIRECTION=from            # English: the paper evaluates as XTREME, whose queries on Tatoeba are English sentences
LANGUAGE_SIZES=''         # LANGUAGE<tab>GiB of the text that the encoder was trained on

usage() {
  cat << END
usage: bash recipes/one_aligner/run.sh --config NAME [--encoder FOLDER] [options] [-- OPTION of fairseq-train ...]

Measures a pre-trained encoder as it is (Table 1), trains it on one pair of languages, a few and all, under one budget of
sentence pairs, measures how well each retrieves translations of all languages, reports. What is complete is skipped, what was
killed continues. README.md beside this file has the paper's numbers.

  --config NAME       opus100, tatoeba_challenge (both the paper's), l10n (small; without --encoder it makes its own in
                      the stage pretrain), or a file like those in configs/
  --systems LIST      of pairs (de-en), size-N, names of several pairs, unlimited, and, not by default, size-N-as-long and the
                      ablation: pooled, pooled-unnormalized, unnormalized, one-dimensional, cosine; or 'all'
$(help_of pretrained test_sets new_tatoeba)
$(help_of search experiment training force plan all)

Example: bash recipes/one_aligner/run.sh --config l10n --encoder mlm/update-13000 --data-root l10n --tatoeba tatoeba/v1 --systems de-en,ja-en
END
}

check_recipe() {
  check_test_sets
  [[ -n $ENCODER || ${#PRETRAINING_OPTIONS[@]} == 0 ]] || use_own_encoder
  check_encoders
}

# Without --encoder: the last checkpoint of the recipe's own pre-training.
use_own_encoder() {
  PRETRAINED=$OUTPUT/mlm ENCODER=$OUTPUT/mlm/update-${PRETRAINING_UPDATES[-1]}
  [[ -n $COMPARED ]] || COMPARED_FOLDERS=("${PRETRAINING_UPDATES[@]::${#PRETRAINING_UPDATES[@]}-1}") COMPARED_FOLDERS=("${COMPARED_FOLDERS[@]/#/"$PRETRAINED/update-"}")
  [[ -n $DATA_ROOT ]] || die "--data-root: expected the folder of the corpus"
  has_stage pretrain || [[ $DRY_RUN == yes || -d $ENCODER ]] || die "$ENCODER: no such folder; run the stage pretrain first"
  if ! has_stage pretrain && { has_stage untrained || has_stage evaluate; }; then
    warn_of_late_test_sets "$OUTPUT/monolingual/clean.json" "the text of the stage pretrain" "to pretrain and train, too"
  fi
}

# A masked language model of the corpus's languages, each by itself, without sentences of test sets.
stage_pretrain() {
  local language table=$OUTPUT/table text=$OUTPUT/monolingual
  [[ -n $PRETRAINED ]] || return 0
  if [[ $DRY_RUN != yes ]]; then
    mkdir -p "$table"
    for language in "${LANGUAGES[@]}"; do
      link_text "$DATA_ROOT/train.$language" "$table/train.$language"
      link_text "$DATA_ROOT/multiway/valid.$language" "$table/valid.$language"
    done
  fi
  run python -m data_prep clean --input "$table" --output "$text" --exclude-text "$DATA_ROOT"/multiway/test.* "${TEST_TEXTS[@]}"
  run python -m embeddings pretrain --text "$text" --languages "$(joined "${LANGUAGES[@]}")" "${PRETRAINING_OPTIONS[@]}" "${DEVICE[@]}" \
    --output "$PRETRAINED" "${FORCED[@]}"
}

# A text under another name, which ends as its own does if it is compressed.
link_text() { # FILE LINK
  local ending
  for ending in '' .gz .xz; do
    [[ -f $1$ending ]] || continue
    rm -f "$2" "$2".*
    ln -s "$(realpath "$1$ending")" "$2$ending"
    return
  done
  die "$1: no such file, compressed or not"
}

stage_prepare() {
  fetch_text
  run python -m data_prep clean --input "$RAW" --output "$OUTPUT/text" --max-length "$MAX_WORDS" "${CLEAN_OPTIONS[@]}"
  run python -m data_prep subword --tokenizer "$ENCODER" --input "$OUTPUT/text" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$DATA"
}

stage_untrained() {
  for_each_layer untrained
  evaluate_compared
}

stage_train() { train_systems train_system; }

train_system() { # SYSTEM SEED
  set_training_options "$1"
  train fairseq-train "$DATA" --save-dir "$OUTPUT/models/$(model_name "$@")" --seed "$2" --task sentence_embedding --arch sentence_encoder \
    --pretrained-encoder "$ENCODER" --criterion weighted_losses \
    --lr "$LEARNING_RATE" --lr-scheduler fixed "${OPTIMIZER_OPTIONS[@]}" \
    --batch-size "$BATCH_PAIRS" --batches-per-update "$BATCH_GPUS" --max-epoch "$EPOCHS" --max-source-positions "$MAX_LENGTH" \
    --eval-retrieval --best-checkpoint-metric retrieval --maximize-best-checkpoint-metric \
    "${SAVING[@]}" --log-format simple --log-interval 100 "${OPTIONS[@]}" "${EXTRA_OPTIONS[@]}"
}

stage_evaluate() { for_each_model_at_once evaluate; }

stage_report() {
  RESULTS=() RETRIEVAL=()
  compare_trained
  RETRIEVAL=()
  for_each_layer add_untrained
  [[ ${#RETRIEVAL[@]} == 0 || ${#COMPARED_MEASURES[@]} == 0 ]] ||
    compare_retrieval comparison-of-measures --measures "${COMPARED_MEASURES[@]}"
  compare_sizes_of_bitext
  compare_sizes_of_languages
  add_compared untrained
  write_report --similarity "$SHOWN_SIMILARITY" --direction "$DIRECTION"
}

# P@1 against the pairs of sentences that systems of one pair of languages were trained on (Figure 1), before short ones are left
# out: on Tatoeba, and between all languages of a multi-parallel set.
compare_sizes_of_bitext() {
  local system table=$OUTPUT/training-pairs.tsv systems=() RETRIEVED=()
  for system in "${SYSTEM_IDS[@]}"; do
    ! is_of_one_pair "$system" || systems+=("$system")
  done
  [[ ${#systems[@]} -gt 1 ]] || return 0
  if [[ $DRY_RUN != yes ]]; then
    for system in "${systems[@]}"; do printf '%s\t%s\n' "$system" "$(training_pairs "$system")"; done > "$table"
  fi
  if [[ -n $TATOEBA ]]; then
    for_each_model add_retrieved_of_one_pair tatoeba
    compare_size data-size "$table" "pairs of sentences" --group "$SIZE_GROUP" --direction "$DIRECTION"
  fi
  if [[ ${#MULTIWAY[@]} -gt 0 ]]; then
    RETRIEVED=()
    for_each_model add_retrieved_of_one_pair multiway
    compare_size data-size-multiway "$table" "pairs of sentences"
  fi
}

# Not those of several pairs, whose languages grow with the data, nor ablations and -as-long, which are trained in another way.
is_of_one_pair() { # SYSTEM
  [[ $1 == size-* && $1 != *-as-long || $(pairs_of "$1") == "$1" ]]
}

# P@1 of the first system over all pairs that a language is in against the language's own text (Figure 2), on New-Tatoeba, or
# between all languages of a multi-parallel set.
compare_sizes_of_languages() {
  local language part parts=(new-tatoeba-english new-tatoeba-others) name=New-Tatoeba
  local table=$LANGUAGE_SIZES unit="GiB of text (CC-100)" RETRIEVED=()
  [[ -n $NEW_TATOEBA ]] || parts=(multiway) name="$NAME, multi-parallel"
  [[ -n $NEW_TATOEBA || ${#MULTIWAY[@]} -gt 0 ]] || return 0
  if [[ -n $PRETRAINED ]]; then
    table=$OUTPUT/language-sizes.tsv unit="bytes of text"
    [[ $DRY_RUN == yes ]] || for language in "${LANGUAGES[@]}"; do
      printf '%s\t%s\n' "$language" "$(wc -c < "$OUTPUT/monolingual/train.$language")"
    done > "$table"
  fi
  [[ -n $table ]] || return 0
  for part in "${parts[@]}"; do for_each_model add_retrieved_of_first "$part"; done
  compare_size language-size "$table" "$unit" --of languages --together "$name"
}

add_retrieved_of_first() { # TEST_SET SYSTEM SEED
  [[ $2 != "${SYSTEM_IDS[0]}" ]] || add_retrieved "$@"
}

add_retrieved_of_one_pair() { # TEST_SET SYSTEM SEED
  ! is_of_one_pair "$2" || add_retrieved "$@"
}

add_retrieved() { RETRIEVED+=("$(retrieval_folder "${@:2}")/$1"); } # TEST_SET SYSTEM SEED

compare_size() { # FOLDER TABLE UNIT OPTION...
  run python -m eval probe data-size "${RETRIEVED[@]}" --sizes "$2" --unit "$3" --similarity "$SHOWN_SIMILARITY" "${@:4}" --output "$OUTPUT/$1"
  RESULTS+=("$OUTPUT/$1/data-size.json")
}

training_pairs() { # SYSTEM
  local pair pairs budget total=0
  budget=$(value_in --pair-budget "$1")
  split_list --pairs "$(pairs_of "$1")" pairs
  for pair in "${pairs[@]}"; do
    pair=$(tr - '\n' <<< "$pair" | sort | paste -sd-)
    total=$((total + $(wc -l < "$OUTPUT/text/train.$pair.${pair%-*}")))
  done
  if [[ -n $budget && $budget -lt $total ]]; then echo "$budget"; else echo "$total"; fi
}

experiment "$@"
