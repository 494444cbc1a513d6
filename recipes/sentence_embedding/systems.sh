# shellcheck shell=bash
# The rows of Table 2.14 (EMS and its ablations), the three systems LaBSE-EMS of 2.4, and LASER's decoder in place of XTR, whose
# time 2.4.7 compares.
MODEL="--arch $ARCHITECTURE ${MODEL_OPTIONS[*]} --dropout $DROPOUT --attention-dropout $ATTENTION_DROPOUT --criterion weighted_losses"
EMS="$MODEL --losses token_reconstruction,sentence_contrast"
SCALED="--additive-margin-temperature 0.1 --additive-margin-dim $CONTRAST_WIDTH"

default_systems << END
ems | | $EMS $XTR_OPTIONS $CONTRAST_OPTIONS | |
margin-vanilla | | $MODEL --losses additive_margin | |
no-xtr | | $MODEL --losses sentence_contrast $CONTRAST_OPTIONS | |
no-contrast | | $MODEL --losses token_reconstruction $XTR_OPTIONS | |
no-mlp | | $EMS $XTR_OPTIONS --sentence-contrast-dim 0 | |
no-language | | $EMS $XTR_OPTIONS $CONTRAST_OPTIONS --token-reconstruction-without-language | |
shared-embedding | | $EMS $XTR_OPTIONS $CONTRAST_OPTIONS --token-reconstruction-shared-embedding | |
margin-scaled | | $MODEL --losses additive_margin $SCALED | |
margin-joint | | $MODEL --losses token_reconstruction,additive_margin $XTR_OPTIONS $SCALED | |
decoder | | $MODEL --losses translation,sentence_contrast $CONTRAST_OPTIONS --decoder-layers $DECODER_LAYERS --random-sides --fused-vocabulary-loss | |
ugt | | $MODEL --losses unified_generation,sentence_contrast $CONTRAST_OPTIONS | |
END

# A translation model whose encoder has the same size and reads the same text, no language tag either: its vectors are the
# mean of its states.
other_systems << END
$TRANSLATION | | $TRANSLATION_MODEL --language-tags t-dec --dropout $DROPOUT --attention-dropout $ATTENTION_DROPOUT --criterion fused_label_smoothed_cross_entropy --label-smoothing $LABEL_SMOOTHING | |
END
