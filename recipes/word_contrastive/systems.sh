# shellcheck shell=bash disable=SC2034
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
$1+align | | $2 $ADDED --losses translation,attention_alignment --alignments fast_align-all | | $3 +align
$1+w2w | | $2 $ADDED --losses translation,word_contrastive --alignments word2word | | $3 +w2w
$1+FA | | $2 $ADDED --losses translation,word_contrastive --alignments fast_align | | $3 +FA
$1+sent | | $2 $ADDED --losses translation,sentence_contrastive | | $3 +sent
END
}

default_systems < <(rows mlsc "$SCRATCH" "MLSC")

# The other reading of the dropout of 5.2.3: not the projection's is 0.2, as in `mlsc+w2w`, but the model's, which is 0.3 without the
# loss; of another dropout two thirds, too. `mlsc-less-dropout` has that model without the loss, and is what it is compared with. Labels
# leave dropout out, so names say it.
LESS_DROPOUT=$(awk "BEGIN { printf \"%.3g\", $DROPOUT * 2 / 3 }")
other_systems << END
mlsc-less-dropout | | ${SCRATCH% --dropout*} --dropout $LESS_DROPOUT $PLAIN | | MLSC, dropout $LESS_DROPOUT
mlsc-less-dropout+w2w | | $SCRATCH $ADDED --losses translation,word_contrastive --alignments word2word --word-contrastive-model-dropout $LESS_DROPOUT --word-contrastive-dropout 0 | | MLSC, dropout $LESS_DROPOUT +w2w, projection 0
END

if [[ -n $MBART ]]; then by_default=default_systems; else by_default=other_systems; fi
"$by_default" < <(rows mbart "$MBART_FT" "mBART FT")
