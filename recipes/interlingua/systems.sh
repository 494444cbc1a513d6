# shellcheck shell=bash disable=SC2034,SC2054,SC2153
# Table 7.2, repairs of the length predictor, and free combination (README.md). An interlingua takes the place of the upper half
# of the encoder (7.2.1); its checkpoint is that of the lowest validation loss of translation (7.3.2).
HALF=$((ENCODER_LAYERS / 2))
TAGS=(--language-tags s-enc-t-dec)
COMMON=(--norm-placement post "${MODEL_OPTIONS[@]}" --dropout "$DROPOUT")
PLAIN=(--criterion fused_label_smoothed_cross_entropy)
WEIGHTED=(--criterion weighted_losses --fused-vocabulary-loss --best-checkpoint-metric nmt_loss)
UNTAGGED=(--arch "mnmt_$ARCHITECTURE" --encoder-layers "$ENCODER_LAYERS" "${COMMON[@]}")
UNTAGGED_MNMT=("${UNTAGGED[@]}" "${PLAIN[@]}") # of pre-training
INTERLINGUA=(--arch "interlingua_$ARCHITECTURE" --encoder-layers "$HALF" --interlingua-layers $((ENCODER_LAYERS - HALF)) "${COMMON[@]}" "${TAGS[@]}"
  "${INTERLINGUA_OPTIONS[@]}" "${WEIGHTED[@]}")
FIXED=("${INTERLINGUA[@]}" --interlingua-length "$INTERLINGUA_LENGTH" --losses translation,interlingua_alignment)
VARIABLE=("${INTERLINGUA[@]}" --losses translation,interlingua_alignment,length_prediction)
ORDINAL=(--length-prediction-deviation 1)
SOURCE_LENGTH=(--length-predictor-source-length)
JITTER=(--interlingua-length-jitter 0.2)
CANDIDATES=(--length-candidates 5)
CONTRAST=(--losses translation,word_contrastive --alignments word2word)

system pivot mnmt "MNMT"
evaluated pivot --pivot en
system mnmt '' "MNMT" "${UNTAGGED[@]}" "${TAGS[@]}" "${PLAIN[@]}"
system fixed-universal '' "Len-fix. Uni. Intl." "${FIXED[@]}" --interlingua fixed-universal
system fixed-specific '' "Len-fix. LS. Intl." "${FIXED[@]}" --interlingua fixed-language-specific
system variable '' "Len-vari. Intl." "${VARIABLE[@]}"

# The length as a number, not as a class (7.2.1, footnote 3).
variant regression '' "Len-vari. Intl. regression" "${VARIABLE[@]}" --length-predictor-regression

# Repairs of the length predictor.
variant candidates variable "Len-vari. Intl. candidates"
evaluated candidates "${CANDIDATES[@]}"
variant ordinal '' "Len-vari. Intl. ordinal" "${VARIABLE[@]}" "${ORDINAL[@]}"
variant source-length '' "Len-vari. Intl. source-length" "${VARIABLE[@]}" "${SOURCE_LENGTH[@]}"
variant jitter '' "Len-vari. Intl. jitter" "${VARIABLE[@]}" "${JITTER[@]}"
variant repaired '' "Len-vari. Intl. repaired" "${VARIABLE[@]}" "${ORDINAL[@]}" "${SOURCE_LENGTH[@]}" "${JITTER[@]}"
evaluated repaired "${CANDIDATES[@]}"

# The other reading of equation 7.6: a position weighs as much as a token of the translation loss (docs/interlingua.md).
variant variable-per-token '' "Len-vari. Intl. per token" "${VARIABLE[@]}" --interlingua-alignment-per-token

# Free combination (9.2) on PostNorm: word contrast with interlingua and with T-ENC; `mnmt` and `variable` are two of the six. A
# query of the interlingua is that of the source language, which T-ENC does not say.
variant mnmt+w2w '' "MNMT +w2w" "${UNTAGGED[@]}" "${TAGS[@]}" "${WEIGHTED[@]}" "${CONTRAST[@]}"
variant variable+w2w '' "Len-vari. Intl. +w2w" "${INTERLINGUA[@]}" --losses translation,interlingua_alignment,length_prediction,word_contrastive --alignments word2word
variant t-enc '' "T-ENC" "${UNTAGGED[@]}" --language-tags t-enc "${PLAIN[@]}"
variant t-enc+w2w '' "T-ENC +w2w" "${UNTAGGED[@]}" --language-tags t-enc "${WEIGHTED[@]}" "${CONTRAST[@]}"

# Initialization from linguistic pre-training (chapter 4), by system and by what is pre-trained (`pretrain` of run.sh).
if has_function pretraining_settings; then
  for system in mnmt variable t-enc mnmt+w2w variable+w2w t-enc+w2w; do
    set_training_options "$system"
    variant "$system@deshuffling" '' "${TABLE_NAME[$system]}, MASS+deshuffling" "${OPTIONS[@]}"
    variant "$system@enss" '' "${TABLE_NAME[$system]}, ENSS" "${OPTIONS[@]}"
  done
fi
