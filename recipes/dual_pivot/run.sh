#!/usr/bin/env bash
# Dual-pivot transfer (Tien and Steinert-Threlkeld 2022): a small module above a frozen encoder learns from one pair of languages, with or
# without translations, and aligns all; from text to tables of retrieval.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/sentence_encoders.sh
source "$(dirname "$0")/../shared/sentence_encoders.sh"
# shellcheck source=recipes/shared/one_pair.sh
source "$(dirname "$0")/../shared/one_pair.sh"

RECIPE=dual_pivot TITLE="Dual-pivot transfer"
LANGUAGE_GROUPS=dual_pivot

# What sections 3 to 5 have for all systems; a configuration changes it.
LEARNING_RATE=1e-3
BATCH_PAIRS=32 # of the published code
BATCH_GPUS=1
MAX_LENGTH=256
OPTIMIZER_OPTIONS=(--optimizer adam --freeze-encoder --pooling sum)
SENTENCE_WIDTH=1024
PAIRED_MARGIN=0 # alpha of 5.2 and 5.3
UNPAIRED_LEARNING_RATE='' # if it is another one
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
$(usage_of_pretrained)
$(usage_of_sts)
$(usage_of_experiment)
$(usage_of_all)

Example: bash recipes/dual_pivot/run.sh --config l10n --encoder mlm/update-13000 --data-root l10n --tatoeba tatoeba/v1 --systems paired-de-en,unpaired-de-en
END
}

experiment "encoder compared tatoeba flores new-tatoeba bucc sts keep-out" "" "$@"
