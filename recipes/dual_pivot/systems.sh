# shellcheck shell=bash disable=SC2034,SC2054,SC2153 # settings are those of configurations
# Tables 2 and 3: one pair, with its translations (3.3) and without (3.2), hyperparameters of 5.3 and, for BUCC, of 5.2. Section 6:
# the two losses and the two parts of the module (Table 4), single layers (Figure 2), several pairs (Table 5).
MIXTURE=(--pooling-layer mix)
AVERAGE=(--pooling-layer average) # a mixture that is not trained (6.1)
MAP=(--sentence-width "$SENTENCE_WIDTH")
PAIRED=(--losses triplet_ranking --triplet-ranking-margin "$PAIRED_MARGIN" --triplet-ranking-random-negatives 0)
# Vectors of length 1, as in the published code: without, how much lambda weighs depends on the encoder's scale.
ADVERSARIAL=(--adversarial-alignment-steps 2 --adversarial-alignment-unit-vectors --adversarial-alignment-bound "$UNPAIRED_BOUND")
UNIT_CYCLE=(--cycle-consistency-unit-vectors)
CYCLE=("${UNIT_CYCLE[@]}" --cycle-consistency-margin 0.2 --cycle-consistency-random-negatives 1 --cycle-consistency-weight 10)
DRAWN=(--unpaired ${UNPAIRED_LEARNING_RATE:+--lr "$UNPAIRED_LEARNING_RATE"})
ONLY_ADVERSARIAL=("${DRAWN[@]}" --losses adversarial_alignment "${ADVERSARIAL[@]}")
ONLY_CYCLE=("${DRAWN[@]}" --losses cycle_consistency "${CYCLE[@]}")
UNPAIRED=("${DRAWN[@]}" --losses adversarial_alignment,cycle_consistency "${ADVERSARIAL[@]}" "${CYCLE[@]}")
OF_BUCC=("${UNPAIRED[@]}" --cycle-consistency-margin 0 --cycle-consistency-random-negatives 0 --cycle-consistency-weight 5)

for pair in "${SINGLE_PAIRS[@]}"; do
  on_pair=(--pairs "$pair" --pair-budget "$BUDGET")
  system "paired-$pair" '' '' "${on_pair[@]}" "${MIXTURE[@]}" "${MAP[@]}" "${PAIRED[@]}"
  system "unpaired-$pair" '' '' "${on_pair[@]}" "${MIXTURE[@]}" "${MAP[@]}" "${UNPAIRED[@]}"
  [[ -z $BUCC ]] || system "unpaired-bucc-$pair" '' '' "${on_pair[@]}" "${MIXTURE[@]}" "${MAP[@]}" "${OF_BUCC[@]}"
done

# Of the first pair.
FIRST=(--pairs "${SINGLE_PAIRS[0]:-}" --pair-budget "$BUDGET")
variant paired-mixture '' '' "${FIRST[@]}" "${MIXTURE[@]}" "${PAIRED[@]}"
variant paired-map '' '' "${FIRST[@]}" "${AVERAGE[@]}" "${MAP[@]}" "${PAIRED[@]}"
variant unpaired-mixture '' '' "${FIRST[@]}" "${MIXTURE[@]}" "${UNPAIRED[@]}"
variant unpaired-map '' '' "${FIRST[@]}" "${AVERAGE[@]}" "${MAP[@]}" "${UNPAIRED[@]}"
variant adversarial-mixture '' '' "${FIRST[@]}" "${MIXTURE[@]}" "${ONLY_ADVERSARIAL[@]}"
variant adversarial-map '' '' "${FIRST[@]}" "${AVERAGE[@]}" "${MAP[@]}" "${ONLY_ADVERSARIAL[@]}"
variant adversarial-both '' '' "${FIRST[@]}" "${MIXTURE[@]}" "${MAP[@]}" "${ONLY_ADVERSARIAL[@]}"
variant cycle-mixture '' '' "${FIRST[@]}" "${MIXTURE[@]}" "${ONLY_CYCLE[@]}"
variant cycle-map '' '' "${FIRST[@]}" "${AVERAGE[@]}" "${MAP[@]}" "${ONLY_CYCLE[@]}"
variant cycle-both '' '' "${FIRST[@]}" "${MIXTURE[@]}" "${MAP[@]}" "${ONLY_CYCLE[@]}"
for layer in "${SINGLE_LAYERS[@]}"; do
  variant "paired-layer-$layer" '' '' "${FIRST[@]}" --pooling-layer "$layer" "${MAP[@]}" "${PAIRED[@]}"
  variant "unpaired-layer-$layer" '' '' "${FIRST[@]}" --pooling-layer "$layer" "${MAP[@]}" "${UNPAIRED[@]}"
done
for name in "${SEVERAL[@]}"; do
  on_several=(--pairs "${PAIRS_OF[$name]}" --pair-budget "${SEVERAL_BUDGET:-$BUDGET}")
  variant "paired-$name" '' '' "${on_several[@]}" "${MIXTURE[@]}" "${MAP[@]}" "${PAIRED[@]}"
  variant "unpaired-$name" '' '' "${on_several[@]}" "${MIXTURE[@]}" "${MAP[@]}" "${UNPAIRED[@]}"
done
