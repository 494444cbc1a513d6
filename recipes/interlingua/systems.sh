# shellcheck shell=bash
# Table 7.2, and repairs of the length predictor (README.md). An interlingua takes the place of the upper half of the encoder
# (7.2.1); its checkpoint is that of the lowest validation loss of translation (7.3.2).
HALF=$((ENCODER_LAYERS / 2))
COMMON="--norm-placement post --language-tags s-enc-t-dec ${MODEL_OPTIONS[*]} --dropout $DROPOUT"
MNMT="--arch mnmt_$ARCHITECTURE --encoder-layers $ENCODER_LAYERS $COMMON --criterion fused_label_smoothed_cross_entropy"
INTERLINGUA="--arch interlingua_$ARCHITECTURE --encoder-layers $HALF --interlingua-layers $((ENCODER_LAYERS - HALF)) $COMMON"
INTERLINGUA+=" --criterion weighted_losses --fused-vocabulary-loss --best-checkpoint-metric nmt_loss"
FIXED="$INTERLINGUA --interlingua-length $INTERLINGUA_LENGTH --losses translation,interlingua_alignment"
VARIABLE="$INTERLINGUA --losses translation,interlingua_alignment,length_prediction"
ORDINAL="--length-prediction-deviation 1"
SOURCE_LENGTH="--length-predictor-source-length"
JITTER="--interlingua-length-jitter 0.2"
CANDIDATES="--length-candidates 5"

default_systems << END
pivot | mnmt | | --pivot en | MNMT
mnmt | | $MNMT | | MNMT
fixed-universal | | $FIXED --interlingua fixed-universal | | Len-fix. Uni. Intl.
fixed-specific | | $FIXED --interlingua fixed-language-specific | | Len-fix. LS. Intl.
variable | | $VARIABLE | | Len-vari. Intl.
END

other_systems << END
candidates | variable | | $CANDIDATES | Len-vari. Intl. candidates
ordinal | | $VARIABLE $ORDINAL | | Len-vari. Intl. ordinal
source-length | | $VARIABLE $SOURCE_LENGTH | | Len-vari. Intl. source-length
jitter | | $VARIABLE $JITTER | | Len-vari. Intl. jitter
repaired | | $VARIABLE $ORDINAL $SOURCE_LENGTH $JITTER | $CANDIDATES | Len-vari. Intl. repaired
END
