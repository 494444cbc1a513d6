#!/usr/bin/env bash
# Dual-pivot transfer (Tien and Steinert-Threlkeld 2022): a small module above a frozen encoder learns from one pair of languages, with or
# without translations, and aligns all; from text to tables of retrieval.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/sentence_encoders.sh
source "$HERE/../shared/sentence_encoders.sh"
# shellcheck source=recipes/shared/pretrained_encoders.sh
source "$HERE/../shared/pretrained_encoders.sh"

RECIPE=dual_pivot TITLE="Dual-pivot transfer"
ALL_STAGES="prepare untrained train evaluate report"
SEEDS=1
CONFIGURED="CORPUS LANGUAGES LEARNING_RATE EPOCHS BATCH_GPUS BATCH_PAIRS BUDGET LAYERS"
LANGUAGE_GROUPS=dual_pivot
MAX_WORDS=256 # of a line of text

# What sections 3 to 5 have for all systems; a configuration changes it.
LEARNING_RATE=1e-3
BATCH_PAIRS=32 # of the published code
BATCH_GPUS=1
MAX_LENGTH=256
OPTIMIZER_OPTIONS=(--optimizer adam --freeze-encoder --pooling sum --random-batches) # with what else all systems have
LAYER_SUMS=no # are the layers of the frozen encoder stored, and trained on?
SENTENCE_WIDTH=1024
PAIRED_MARGIN=0 # alpha of 5.2 and 5.3
UNPAIRED_LEARNING_RATE='' # if it is another one
UNPAIRED_BOUND=none # of the discriminator: that of the published code
RETRIEVAL_OPTIONS=(--similarity cosine)
START_LAYER=average # the module begins as an even mixture of all layers (6.1)
DIRECTION=from # English (5.3)
BUCC_OPTIONS=(--tuned training --tested training --threshold-from de-en) # the pair's own (5.2), and the pivot pair's (6.4)
SINGLE_LAYERS=() # numbers of 6.2
SEVERAL_BUDGET='' # of systems with several pairs, if it is another one

usage() {
  cat << END
usage: bash recipes/dual_pivot/run.sh --config NAME --encoder FOLDER [options] [-- OPTION of fairseq-train ...]

Trains a mixture of layers and a linear map above a frozen encoder on one pair of languages, with its translations (paired) or
without (unpaired), measures how well vectors retrieve translations of all languages, beside those of single layers, reports. What is
complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       xlm_r (the paper's), l10n (small), or a file like those in configs/
  --systems LIST      of paired-PAIR and unpaired-PAIR, with --bucc unpaired-bucc-PAIR, and, not by default, paired- and
                      unpaired- with N-pairs, layer-N, mixture or map, and adversarial- and cycle- with mixture, map or both; or 'all'
$(help_of pretrained test_sets new_tatoeba)
  --sts DIR           rated pairs of sentences of STS 2017, STS.ar.tsv, STS.en-ar.tsv, … (sentence, sentence, rating): measured
                      in evaluate
$(help_of search experiment training force plan all)

Example: bash recipes/dual_pivot/run.sh --config l10n --encoder mlm/update-13000 --data-root l10n --tatoeba tatoeba/v1 --systems paired-de-en,unpaired-de-en
END
}

check_recipe() {
  check_test_sets
  check_encoders
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

# If LAYER_SUMS says so, the frozen encoder reads every sentence once, for all systems that are trained on its pair.
stage_train() {
  local system pairs
  if [[ $LAYER_SUMS == yes ]]; then
    pairs=$(for system in "${SYSTEM_IDS[@]}"; do pairs_of "$system" | tr , '\n'; done | sort -u | paste -sd,)
    run python -m embeddings encode --data "$DATA" --pairs "$pairs" --layer-sums --name frozen --max-tokens "$MAX_LENGTH" \
      --model "$ENCODER" "${DEVICE[@]}" "${FORCED[@]}"
    OPTIMIZER_OPTIONS+=(--layer-sums frozen)
  fi
  train_systems train_system
}

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
  for_each_layer add_untrained
  add_compared untrained
  write_report --similarity "$SHOWN_SIMILARITY" --direction "$DIRECTION"
}

experiment "$@"
