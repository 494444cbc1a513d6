# shellcheck shell=bash
# The rows of Table 2.14 (EMS and its ablations), the three systems LaBSE-EMS of 2.4, and LASER's decoder in place of XTR, whose
# time 2.4.7 compares.
MODEL="--arch $ARCHITECTURE ${MODEL_OPTIONS[*]} --dropout $DROPOUT --attention-dropout $ATTENTION_DROPOUT --criterion weighted_losses"
XTR="--token-reconstruction-language-dim $LANGUAGE_WIDTH"
UGT="--unified-generation-language-dim $LANGUAGE_WIDTH"
CONTRAST="--sentence-contrast-dim $CONTRAST_WIDTH"
EMS="$MODEL --losses token_reconstruction,sentence_contrast"
SCALED="--additive-margin-temperature 0.1 --additive-margin-dim $CONTRAST_WIDTH"

default_systems << END
ems | | $EMS $XTR $CONTRAST | |
margin-vanilla | | $MODEL --losses additive_margin | |
no-xtr | | $MODEL --losses sentence_contrast $CONTRAST | |
no-contrast | | $MODEL --losses token_reconstruction $XTR | |
no-mlp | | $EMS $XTR --sentence-contrast-dim 0 | |
no-language | | $EMS $XTR $CONTRAST --token-reconstruction-without-language | |
shared-embedding | | $EMS $XTR $CONTRAST --token-reconstruction-shared-embedding | |
margin-scaled | | $MODEL --losses additive_margin $SCALED | |
margin-joint | | $MODEL --losses token_reconstruction,additive_margin $XTR $SCALED | |
decoder | | $MODEL --losses translation,sentence_contrast $CONTRAST --decoder-layers $DECODER_LAYERS --random-sides --fused-vocabulary-loss | |
ugt | | $MODEL --losses unified_generation,sentence_contrast $UGT $CONTRAST | |
END

# A translation model whose encoder has the same size and reads the same text, no language tag either: its vectors are the
# mean of its states.
other_systems << END
$TRANSLATION | | ${TRANSLATION_MODEL:-} --language-tags t-dec --dropout $DROPOUT --attention-dropout $ATTENTION_DROPOUT --criterion fused_label_smoothed_cross_entropy --label-smoothing $LABEL_SMOOTHING | |
END
