# shellcheck shell=bash
# Tables 5.2 and C.1 to C.3: each baseline, and what is added to it. All stop by the validation loss of translation.
STOPPING="${SAMPLING_OPTIONS[*]} ${STOPPING_OPTIONS[*]}"
PLAIN="--criterion fused_label_smoothed_cross_entropy $STOPPING"
ADDED="--criterion weighted_losses --fused-vocabulary-loss --best-checkpoint-metric nmt_loss $STOPPING"
SCRATCH="--arch $ARCHITECTURE ${MODEL_OPTIONS[*]} --norm-placement post --language-tags s-enc-t-dec --dropout $DROPOUT"
TAGGED=$(printf '%s\n' "${LANGUAGES[@]}" | sort | paste -sd,)
MBART_START=$OUTPUT/mbart/start.pt
MBART_FT="--arch mnmt_transformer_mbart --language-tags mbart --langs $TAGGED"

rows() { # BASELINE OPTIONS NAME
  cat << END
$1 | | $2 $PLAIN | | $3
$1+align | | $2 $ADDED --losses translation,attention_alignment --alignments fast_align | | $3 +align
$1+w2w | | $2 $ADDED --losses translation,word_contrastive --alignments word2word | | $3 +w2w
$1+FA | | $2 $ADDED --losses translation,word_contrastive --alignments fast_align | | $3 +FA
$1+sent | | $2 $ADDED --losses translation,sentence_contrastive | | $3 +sent
END
}

default_systems < <(rows mlsc "$SCRATCH" "MLSC")

# Both readings of the dropout of 5.2.3, from the thesis' 0.3: the projection's is 0.2 (`mlsc-d3+w2w`), or the model's is, where the
# loss is added (`mlsc-d2+w2w`); `mlsc-d2` has that model without the loss, and is what this one is compared with. Labels leave dropout
# out, so names say it.
SCRATCH_DROPOUT_3="${SCRATCH% --dropout*} --dropout 0.3"
SCRATCH_DROPOUT_2="${SCRATCH% --dropout*} --dropout 0.2"
W2W="--losses translation,word_contrastive --alignments word2word"
other_systems << END
mlsc-d3 | | $SCRATCH_DROPOUT_3 $PLAIN | | MLSC, dropout 0.3
mlsc-d2 | | $SCRATCH_DROPOUT_2 $PLAIN | | MLSC, dropout 0.2
mlsc-d3+w2w | | $SCRATCH_DROPOUT_3 $ADDED $W2W | | MLSC, dropout 0.3 +w2w, projection 0.2
mlsc-d2+w2w | | $SCRATCH_DROPOUT_3 $ADDED $W2W --word-contrastive-model-dropout 0.2 --word-contrastive-dropout 0 | | MLSC, dropout 0.2 +w2w, projection 0
END

if [[ -n $MBART ]]; then by_default=default_systems; else by_default=other_systems; fi
"$by_default" < <(rows mbart "$MBART_FT" "mBART FT")
