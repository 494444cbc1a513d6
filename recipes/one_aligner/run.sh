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
BUCC_OPTIONS=(--margin absolute --universal-threshold)
EVERY_PAIR='' # what is trained without budget
SIZES=()      # budgets of further systems of the pair SIZE_PAIR
SIZE_PAIR=''

usage() {
  cat << END
usage: bash recipes/one_aligner/run.sh --config NAME [--encoder FOLDER] [options] [-- OPTION of fairseq-train ...]

Measures a pre-trained encoder as it is (Table 1), trains it on one pair of languages, a few and all, under one budget of
sentence pairs, measures how well each retrieves translations of all languages, reports. What is complete is skipped, what was
killed continues. README.md beside this file has the paper's numbers.

  --config NAME       opus100, tatoeba_challenge (both the paper's), l10n (small), or a file like those in configs/
  --systems LIST      of pairs (de-en), size-N, names of several pairs, unlimited, and, not by default, of the ablation: pooled,
                      pooled-unnormalized, unnormalized, one-dimensional, cosine; or 'all'
$(usage_of_pretrained)
$(usage_of_experiment)
$(usage_of_all)

Example: bash recipes/one_aligner/run.sh --config l10n --encoder mlm/update-13000 --data-root l10n --tatoeba tatoeba/v1 --systems de-en,ja-en
END
}

# P@1 against the pairs of sentences that every system was trained on (Figure 1), before short ones are left out.
compare_sizes() {
  local system results=() table=$OUTPUT/training-pairs.tsv
  [[ ${#SYSTEM_IDS[@]} -gt 1 && -n $TATOEBA ]] || return 0
  if ! leaves_nothing; then
    for system in "${SYSTEM_IDS[@]}"; do printf '%s\t%s\n' "$system" "$(training_pairs "$system")"; done > "$table"
  fi
  for system in "${SYSTEM_IDS[@]}"; do results+=("$OUTPUT/retrieval/$(model_name "$system" "${SEED_LIST[0]}")/tatoeba"); done
  run python -m eval probe data-size "${results[@]}" --sizes "$table" --similarity bert-score-normalized --output "$OUTPUT/data-size"
  RESULTS+=("$OUTPUT/data-size/data-size.json")
}

training_pairs() { # SYSTEM
  local given="${TRAINING_OPTIONS[$1]}" pairs budget pair lines=0
  pairs=$(grep -oP -- '--pairs \K\S+' <<< "$given" | tail -1)
  budget=$(grep -oP -- '--pair-budget \K\S+' <<< "$given" | tail -1 || true)
  for pair in ${pairs//,/ }; do
    pair=$(tr - '\n' <<< "$pair" | sort | paste -sd-)
    lines=$((lines + $(wc -l < "$OUTPUT/text/train.$pair.${pair%-*}")))
  done
  if [[ -n $budget && $budget -lt $lines ]]; then echo "$budget"; else echo "$lines"; fi
}

experiment "encoder compared tatoeba flores new-tatoeba bucc" "" "$@"
