#!/usr/bin/env bash
# Word-level contrastive learning for many-to-many NMT: the systems of chapter 5 of the thesis, from text to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"

RECIPE=word_contrastive TITLE="Word-level contrastive learning"
SEEDS=1
PROBE_READS=scores.json # of changes in BLEU
ALL_STAGES="prepare train translate score curves probe report"
SAMPLING_OPTIONS=() STOPPING_OPTIONS=()
COMPARISONS=(mlsc-less-dropout:mlsc-less-dropout+w2w) # the model's dropout is its architecture's, or an option of the loss
# shellcheck source=recipes/shared/alignment.sh
source "$HERE/../shared/alignment.sh"
# shellcheck source=recipes/word_contrastive/retrieval.sh
source "$HERE/retrieval.sh"
# shellcheck source=recipes/word_contrastive/curves.sh
source "$HERE/curves.sh"
# shellcheck source=recipes/word_contrastive/mbart.sh
source "$HERE/mbart.sh"

usage() {
  cat << END
usage: bash recipes/word_contrastive/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Aligns words, trains systems of Table 5.2 in both directions of every pair with English, translates, scores, probes the
encoder's retrieval, compares, reports. What is complete is skipped, what was killed continues. README.md beside this
file has the paper's numbers.

  --config NAME       222_en-ja, 626_en-it-ja-nl-tr-vi, 626_en-tr-ro-et-my-kk (the paper's), multi30k, enja, l10n,
                      l10n-8, phrasebook (small), or a file like those in configs/; the paper's corpora are yours to collect, see README.md
  --systems LIST      of mlsc, mbart, each also with +align, +w2w, +FA, +sent (Tables C.1 to C.3), or 'all' (with --mbart)
                      (default: those of mlsc, and of mbart where --mbart is given); mlsc-less-dropout,
                      mlsc-less-dropout+w2w (the other reading of the dropout of 5.2.3)
  --mbart DIR         mBART-25 as fairseq publishes it: model.pt, dict.txt, sentence.bpe.model; its subwords are then
                      those of all systems
  --out-of-domain DIR bitexts of the same pairs that fast_align is trained on, too (5.2.1)
$(usage_of_experiment)
$(usage_of_all)

Example: bash recipes/word_contrastive/run.sh --config multi30k --systems mlsc,mlsc+w2w --seeds 1,10 --jobs 2
END
}

check_recipe() {
  local system
  check_folders OUT_OF_DOMAIN MBART
  for system in "${SYSTEM_IDS[@]}"; do
    [[ $system != mbart* || -n $MBART ]] || die "--systems: $system starts from mBART; give its folder with --mbart"
  done
  [[ -z $MBART ]] || SUBWORD_OPTIONS=(--pretrained "$MBART")
}

stage_prepare() {
  prepare
  align
  trim_mbart
}

train_system() { # SYSTEM SEED
  local options start=train_translation
  read -ra options <<< "${TRAINING_OPTIONS[$1]}"
  [[ $1 != mbart* ]] || start=finetune_mbart
  "$start" "$OUTPUT/models/$(model_name "$@")" "$2" "${options[@]}"
}

# Call a command per baseline: SYSTEM_IDS and FOLDERS are then those of the baseline and of what is added to it.
for_each_baseline() { # COMMAND
  local baseline system chosen=" ${SYSTEM_IDS[*]} " SYSTEM_IDS FOLDERS
  for baseline in mlsc mlsc-less-dropout mbart; do
    SYSTEM_IDS=() FOLDERS=()
    for system in "${KNOWN_SYSTEMS[@]}"; do
      [[ ${system%%+*} != "$baseline" || $chosen != *" $system "* ]] || SYSTEM_IDS+=("$system")
    done
    for_each_model add_folder
    [[ ${#SYSTEM_IDS[@]} == 0 ]] || "$1" "$baseline"
  done
}

stage_score() {
  for_each_baseline score
}

# One report per baseline.
report_baseline() { # BASELINE
  PROBE_RESULTS=()
  for_each_model add_probe_results
  add_probe_files "$OUTPUT/probes/$1"-{sentence,word}/correlation.json
  add_probe_files "$OUTPUT/curves/$1/retrieval-curves.json"
  [[ $DRY_RUN == yes ]] || mkdir -p "$OUTPUT/$1"
  report "$OUTPUT/$1" "$TITLE: $NAME, ${TABLE_NAME[$1]}" "${#SYSTEM_IDS[@]}" "${FOLDERS[@]}"
}

stage_report() {
  for_each_baseline report_baseline
}

experiment "mbart out-of-domain" "" "$@"
