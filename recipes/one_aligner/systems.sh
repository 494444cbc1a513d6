# shellcheck shell=bash disable=SC2034,SC2054,SC2153
# Trained on one pair (Tables 4 and 5), on several and on all (Tables 3 and 7), with fewer pairs of sentences (Figure 1); and parts
# of the model left out in training (2.2 to 2.4, 3.3), for which the paper has no table.
for pair in "${SINGLE_PAIRS[@]}"; do
  system "$pair" '' '' --pairs "$pair" --pair-budget "$BUDGET" "${LOSS[@]}"
done
# The other pairs of Table 9 and Figure 1, with as many sentences as they have.
for language in "${LANGUAGES[@]}"; do
  pair=$language-en
  [[ -z $EVERY_PAIR || $language == en ]] || is_among "$pair" "${SINGLE_PAIRS[@]}" ||
    variant "$pair" '' '' --pairs "$pair" --pair-budget "$BUDGET" "${LOSS[@]}"
done
for name in "${SEVERAL[@]}"; do
  system "$name" '' '' --pairs "${PAIRS_OF[$name]}" --pair-budget "$BUDGET" "${LOSS[@]}"
done
for size in "${SIZES[@]}"; do
  system "size-$size" '' '' --pairs "$SIZE_PAIR" --pair-budget "$size" "${LOSS[@]}"
  # Fewer sentences are fewer updates, too; here they are read as often as makes as many updates, and validated as often.
  times=$((BUDGET / size))
  [[ $times -le 1 ]] ||
    variant "size-$size-as-long" '' '' --pairs "$SIZE_PAIR" --pair-budget "$size" "${LOSS[@]}" --max-epoch $((EPOCHS * times)) --validate-interval "$times"
done
[[ -z $EVERY_PAIR ]] || system unlimited '' '' --pairs "$EVERY_PAIR" "${LOSS[@]}"

# Of the first pair. Each is chosen by the measure that it is trained by. An option that comes again counts.
BY_COSINE=(--eval-retrieval-similarity cosine)
NOT_NORMALIZED=(--global-ranking-normalization 0 --eval-retrieval-normalization 0)
ABLATED=(--pairs "${SINGLE_PAIRS[0]:-}" --pair-budget "$BUDGET" "${LOSS[@]}")
variant pooled '' '' "${ABLATED[@]}" --global-ranking-similarity dot "${BY_COSINE[@]}"
variant pooled-unnormalized '' '' "${ABLATED[@]}" --global-ranking-similarity dot "${BY_COSINE[@]}" "${NOT_NORMALIZED[@]}"
variant unnormalized '' '' "${ABLATED[@]}" "${NOT_NORMALIZED[@]}"
variant one-dimensional '' '' "${ABLATED[@]}" --global-ranking-one-dimensional
variant cosine '' '' "${ABLATED[@]}" --global-ranking-similarity bert-score-cosine
