#!/usr/bin/env bash
# OneAligner (Niu et al. 2022): one pair of languages teaches a pre-trained encoder to align all, from text to tables of retrieval.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/sentence_encoders.sh
source "$(dirname "$0")/../shared/sentence_encoders.sh"
# shellcheck source=recipes/shared/one_pair.sh
source "$(dirname "$0")/../shared/one_pair.sh"

RECIPE=one_aligner TITLE="OneAligner"
ALL_STAGES="pretrain $ALL_STAGES"
LANGUAGE_GROUPS=one_aligner

# What section 3 has for all systems; a configuration changes it.
LEARNING_RATE=3e-6
BATCH_PAIRS=64
BATCH_GPUS=1
EPOCHS=3
MAX_LENGTH=100
BUDGET=1000000 # pairs of sentences, of all languages together
OPTIMIZER_OPTIONS=(--optimizer fused_adam --min-tokens 5)
LOSS="--losses global_ranking --global-ranking-temperature 5 --global-ranking-normalization 0.75"
RETRIEVAL_OPTIONS=(--similarity "cosine,bert-score" --normalize 0.75)
SHOWN_SIMILARITY=bert-score-normalized # what is trained
COMPARED_MEASURES=(cosine:bert-score-normalized cosine:cosine-normalized bert-score:bert-score-normalized) # columns of Table 1
# XTREME's development and test sets; the nearest by vectors are compared by BERT-score.
BUCC_OPTIONS=(--tuned sample --tested training --universal-threshold --margin absolute --neighbours 16 --rescore bert-score --normalize 0.75)
EVERY_PAIR='' # what is trained without budget
SIZES=()      # budgets of further systems of the pair SIZE_PAIR
SIZE_PAIR=''
SIZE_GROUP=Tatoeba-36 # of languages, whose P@1 is plotted against sizes
DIRECTION=from    # English: the paper evaluates as XTREME, whose queries on Tatoeba are English sentences
LANGUAGE_SIZES=''                     # LANGUAGE<tab>GiB of the text that the encoder was trained on

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
$(usage_of_pretrained)
$(usage_of_experiment)
$(usage_of_all)

Example: bash recipes/one_aligner/run.sh --config l10n --encoder mlm/update-13000 --data-root l10n --tatoeba tatoeba/v1 --systems de-en,ja-en
END
}

compare_sizes() {
  compare_sizes_of_bitext
  compare_sizes_of_languages
}

# P@1 against the pairs of sentences that systems of one pair of languages were trained on (Figure 1), before short ones are left
# out: on Tatoeba, and between all languages of a multi-parallel set.
compare_sizes_of_bitext() {
  local system table=$OUTPUT/training-pairs.tsv systems=() RETRIEVED=()
  for system in "${SYSTEM_IDS[@]}"; do
    ! is_of_one_pair "$system" || systems+=("$system")
  done
  [[ ${#systems[@]} -gt 1 ]] || return 0
  if ! leaves_nothing; then
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
  [[ $1 == size-* && $1 != *-as-long || ${TRAINING_OPTIONS[$1]} == *"--pairs $1 "* ]]
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
    leaves_nothing || for language in "${LANGUAGES[@]}"; do
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

add_retrieved() { RETRIEVED+=("$(retrieval_folder "$2" "$3")/$1"); } # TEST_SET SYSTEM SEED

compare_size() { # FOLDER TABLE UNIT OPTION...
  run python -m eval probe data-size "${RETRIEVED[@]}" --sizes "$2" --unit "$3" --similarity "$SHOWN_SIMILARITY" "${@:4}" --output "$OUTPUT/$1"
  RESULTS+=("$OUTPUT/$1/data-size.json")
}

training_pairs() { # SYSTEM
  local given="${TRAINING_OPTIONS[$1]}" pairs budget pair lines=0
  pairs=$(pairs_of "$1")
  budget=$(grep -oP -- '--pair-budget \K\S+' <<< "$given" | tail -1 || true)
  for pair in ${pairs//,/ }; do
    pair=$(tr - '\n' <<< "$pair" | sort | paste -sd-)
    lines=$((lines + $(wc -l < "$OUTPUT/text/train.$pair.${pair%-*}")))
  done
  if [[ -n $budget && $budget -lt $lines ]]; then echo "$budget"; else echo "$lines"; fi
}

experiment "encoder compared tatoeba flores new-tatoeba bucc keep-out" "" "$@"
