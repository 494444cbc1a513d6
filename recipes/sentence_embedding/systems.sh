# shellcheck shell=bash disable=SC2034,SC2054,SC2153
# The rows of Table 2.14 (EMS and its ablations), the three systems LaBSE-EMS of 2.4, and LASER's decoder in place of XTR, whose
# time 2.4.7 compares.
MODEL=(--arch "$ARCHITECTURE" "${MODEL_OPTIONS[@]}" --dropout "$DROPOUT" --attention-dropout "$ATTENTION_DROPOUT" --criterion weighted_losses)
XTR=(--token-reconstruction-language-dim "$LANGUAGE_WIDTH")
UGT=(--unified-generation-language-dim "$LANGUAGE_WIDTH")
CONTRAST=(--sentence-contrast-dim "$CONTRAST_WIDTH")
EMS=("${MODEL[@]}" --losses token_reconstruction,sentence_contrast)
SCALED=(--additive-margin-temperature 0.1 --additive-margin-dim "$CONTRAST_WIDTH")

system ems '' '' "${EMS[@]}" "${XTR[@]}" "${CONTRAST[@]}"
system margin-vanilla '' '' "${MODEL[@]}" --losses additive_margin
system no-xtr '' '' "${MODEL[@]}" --losses sentence_contrast "${CONTRAST[@]}"
system no-contrast '' '' "${MODEL[@]}" --losses token_reconstruction "${XTR[@]}"
system no-mlp '' '' "${EMS[@]}" "${XTR[@]}" --sentence-contrast-dim 0
system no-language '' '' "${EMS[@]}" "${XTR[@]}" "${CONTRAST[@]}" --token-reconstruction-without-language
system shared-embedding '' '' "${EMS[@]}" "${XTR[@]}" "${CONTRAST[@]}" --token-reconstruction-shared-embedding
system margin-scaled '' '' "${MODEL[@]}" --losses additive_margin "${SCALED[@]}"
system margin-joint '' '' "${MODEL[@]}" --losses token_reconstruction,additive_margin "${XTR[@]}" "${SCALED[@]}"
system decoder '' '' "${MODEL[@]}" --losses translation,sentence_contrast "${CONTRAST[@]}" --decoder-layers "$DECODER_LAYERS" --random-sides --fused-vocabulary-loss
system ugt '' '' "${MODEL[@]}" --losses unified_generation,sentence_contrast "${UGT[@]}" "${CONTRAST[@]}"

# A translation model whose encoder has the same size and reads the same text, no language tag either: its vectors are the
# mean of its states.
variant translation '' '' "${TRANSLATION_MODEL[@]}" --language-tags t-dec --dropout "$DROPOUT" --attention-dropout "$ATTENTION_DROPOUT" \
  --criterion fused_label_smoothed_cross_entropy --label-smoothing "$LABEL_SMOOTHING"
