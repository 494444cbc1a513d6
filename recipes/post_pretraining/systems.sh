# shellcheck shell=bash disable=SC2034,SC2054,SC2153 # settings are those of configurations
# Table 2 (unaligned and PPA with several sizes of the bitext) and Table 5 (its parts).
MOCO=(--momentum-contrast-queue "$QUEUE")
BOTH=(--losses momentum_contrast,translation_language_modelling "${MOCO[@]}")

system "$UNALIGNED" '' ''
variant "no-cs-$UNALIGNED" "$UNALIGNED" '' # fine-tuned without code-switching, as the baselines of Tables 2 and 4
for size in "${SIZES[@]}"; do
  first=(--first-pairs "${PAIRS_OF[$size]}")
  system "ppa-$size" '' '' "${first[@]}" "${BOTH[@]}"
  variant "printed-$size" '' '' "${first[@]}" "${BOTH[@]}" --momentum-contrast-any-length # as equation 2 is printed
  variant "no-moco-$size" '' '' "${first[@]}" --losses translation_language_modelling
  variant "no-tlm-$size" '' '' "${first[@]}" --losses momentum_contrast "${MOCO[@]}"
  variant "mlm-$size" '' '' "${first[@]}" "${BOTH[@]}" --translation-language-modelling-apart
  variant "no-cs-$size" "ppa-$size" '' # fine-tuned without code-switching
done
