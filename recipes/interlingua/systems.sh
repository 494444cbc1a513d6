# shellcheck shell=bash
# Table 7.2, repairs of the length predictor, and free combination (README.md). An interlingua takes the place of the upper half
# of the encoder (7.2.1); its checkpoint is that of the lowest validation loss of translation (7.3.2).
HALF=$((ENCODER_LAYERS / 2))
COMMON="--norm-placement post --language-tags s-enc-t-dec ${MODEL_OPTIONS[*]} --dropout $DROPOUT"
WEIGHTED="--criterion weighted_losses --fused-vocabulary-loss --best-checkpoint-metric nmt_loss"
MNMT="--arch mnmt_$ARCHITECTURE --encoder-layers $ENCODER_LAYERS $COMMON --criterion fused_label_smoothed_cross_entropy"
INTERLINGUA="--arch interlingua_$ARCHITECTURE --encoder-layers $HALF --interlingua-layers $((ENCODER_LAYERS - HALF)) $COMMON"
INTERLINGUA+=" ${INTERLINGUA_OPTIONS[*]} $WEIGHTED"
FIXED="$INTERLINGUA --interlingua-length $INTERLINGUA_LENGTH --losses translation,interlingua_alignment"
VARIABLE="$INTERLINGUA --losses translation,interlingua_alignment,length_prediction"
ORDINAL="--length-prediction-deviation 1"
SOURCE_LENGTH="--length-predictor-source-length"
JITTER="--interlingua-length-jitter 0.2"
CANDIDATES="--length-candidates 5"
CONTRAST=",word_contrastive --alignments word2word" # after a list of losses
MNMT_CONTRAST="${MNMT% --criterion*} $WEIGHTED --losses translation$CONTRAST"

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

# The other reading of equation 7.6: a position weighs as much as a token of the translation loss (docs/interlingua.md).
other_systems << END
variable-per-token | | $VARIABLE --interlingua-alignment-per-token | | Len-vari. Intl. per token
END

# Free combination (9.2) on PostNorm: word contrast with interlingua and with T-ENC; `mnmt` and `variable` are two of the six. A
# query of the interlingua is that of the source language, which T-ENC does not say.
other_systems << END
mnmt+w2w | | $MNMT_CONTRAST | | MNMT +w2w
variable+w2w | | $VARIABLE$CONTRAST | | Len-vari. Intl. +w2w
t-enc | | ${MNMT/s-enc-t-dec/t-enc} | | T-ENC
t-enc+w2w | | ${MNMT_CONTRAST/s-enc-t-dec/t-enc} | | T-ENC +w2w
END

# Initialization from linguistic pre-training (chapter 4) of both sides of the same pairs, by system and by what is pre-trained: MASS and
# deshuffling of all languages, or of all but English, which has ENSS.
pretraining_options() { # PRETRAINING
  local tasks
  tasks=$(printf ',%s=mass+deshuffling' "${LANGUAGES[@]}")
  [[ $1 != enss ]] || tasks=${tasks/,en=mass+deshuffling/,en=mass+hfss}
  echo "--pretraining-tasks ${tasks#,} ${MNMT/--language-tags s-enc-t-dec/} --best-checkpoint-metric ppl"
}
if has_pretraining; then
  for system in mnmt variable t-enc mnmt+w2w variable+w2w t-enc+w2w; do
    other_systems << END
$system@deshuffling | | ${TRAINING_OPTIONS[$system]} | | ${TABLE_NAME[$system]}, MASS+deshuffling
$system@enss | | ${TRAINING_OPTIONS[$system]} | | ${TABLE_NAME[$system]}, ENSS
END
  done
fi
