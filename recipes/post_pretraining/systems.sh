# shellcheck shell=bash disable=SC2153 # settings are those of configurations
# Table 2 (unaligned and PPA with several sizes of the bitext) and Table 5 (its parts).
MOCO="--momentum-contrast-queue $QUEUE"
BOTH="--losses momentum_contrast,translation_language_modelling $MOCO"

default_systems <<< "$UNALIGNED | | | |"
for size in "${SIZES[@]}"; do
  first="--first-pairs ${PAIRS_OF[$size]}"
  default_systems <<< "ppa-$size | | $first $BOTH | |"
  other_systems << END
no-moco-$size | | $first --losses translation_language_modelling | |
no-tlm-$size | | $first --losses momentum_contrast $MOCO | |
mlm-$size | | $first $BOTH --translation-language-modelling-apart | |
no-cs-$size | ppa-$size | | without-code-switching |
END
done
