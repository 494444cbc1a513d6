# shellcheck shell=bash disable=SC2153 # settings are those of configurations
# Tables 2 and 3: one pair, with its translations (3.3) and without (3.2), hyperparameters of 5.3 and, for BUCC, of 5.2. Section 6:
# the two losses and the two parts of the module (Table 4), single layers (Figure 2), several pairs (Table 5).
MIXTURE="--pooling-layer mix"
AVERAGE="--pooling-layer average" # a mixture that is not trained (6.1)
MAP="--sentence-width $SENTENCE_WIDTH"
PAIRED="--losses triplet_ranking --triplet-ranking-margin $PAIRED_MARGIN --triplet-ranking-random-negatives 0"
# Vectors of length 1, as in the published code: without, how much lambda weighs depends on the encoder's scale.
ADVERSARIAL="--adversarial-alignment-steps 2 --adversarial-alignment-unit-vectors"
UNIT_CYCLE="--cycle-consistency-unit-vectors"
CYCLE="$UNIT_CYCLE --cycle-consistency-margin 0.2 --cycle-consistency-random-negatives 1 --cycle-consistency-weight 10"
DRAWN="--unpaired${UNPAIRED_LEARNING_RATE:+ --lr $UNPAIRED_LEARNING_RATE}"
UNPAIRED="$DRAWN --losses adversarial_alignment,cycle_consistency $ADVERSARIAL $CYCLE"
OF_BUCC="$DRAWN --losses adversarial_alignment,cycle_consistency $ADVERSARIAL $UNIT_CYCLE --cycle-consistency-margin 0 --cycle-consistency-random-negatives 0 --cycle-consistency-weight 5"

for pair in "${SINGLE_PAIRS[@]}"; do
  of_pair="--pairs $pair --pair-budget $BUDGET"
  default_systems << END
paired-$pair | | $of_pair $MIXTURE $MAP $PAIRED | |
unpaired-$pair | | $of_pair $MIXTURE $MAP $UNPAIRED | |
END
  [[ -z $BUCC ]] || default_systems <<< "unpaired-bucc-$pair | | $of_pair $MIXTURE $MAP $OF_BUCC | |"
done

# Of the first pair.
FIRST="--pairs ${SINGLE_PAIRS[0]:-} --pair-budget $BUDGET"
other_systems << END
paired-mixture | | $FIRST $MIXTURE $PAIRED | |
paired-map | | $FIRST $AVERAGE $MAP $PAIRED | |
unpaired-mixture | | $FIRST $MIXTURE $UNPAIRED | |
unpaired-map | | $FIRST $AVERAGE $MAP $UNPAIRED | |
adversarial-mixture | | $FIRST $MIXTURE $DRAWN --losses adversarial_alignment $ADVERSARIAL | |
adversarial-map | | $FIRST $AVERAGE $MAP $DRAWN --losses adversarial_alignment $ADVERSARIAL | |
adversarial-both | | $FIRST $MIXTURE $MAP $DRAWN --losses adversarial_alignment $ADVERSARIAL | |
cycle-mixture | | $FIRST $MIXTURE $DRAWN --losses cycle_consistency $CYCLE | |
cycle-map | | $FIRST $AVERAGE $MAP $DRAWN --losses cycle_consistency $CYCLE | |
cycle-both | | $FIRST $MIXTURE $MAP $DRAWN --losses cycle_consistency $CYCLE | |
END
for layer in "${SINGLE_LAYERS[@]}"; do
  other_systems << END
paired-layer-$layer | | $FIRST --pooling-layer $layer $MAP $PAIRED | |
unpaired-layer-$layer | | $FIRST --pooling-layer $layer $MAP $UNPAIRED | |
END
done
for name in "${SEVERAL[@]}"; do
  several="--pairs ${PAIRS_OF[$name]} --pair-budget ${SEVERAL_BUDGET:-$BUDGET}"
  other_systems << END
paired-$name | | $several $MIXTURE $MAP $PAIRED | |
unpaired-$name | | $several $MIXTURE $MAP $UNPAIRED | |
END
done
