# shellcheck shell=bash disable=SC2034,SC2054,SC2153
# Tables 5.2 and C.1 to C.3: each baseline, and what is added to it. All stop by the validation loss of translation.
STOPPING=("${SAMPLING_OPTIONS[@]}" "${STOPPING_OPTIONS[@]}")
PLAIN=(--criterion fused_label_smoothed_cross_entropy "${STOPPING[@]}")
ADDED=(--criterion weighted_losses --fused-vocabulary-loss --best-checkpoint-metric nmt_loss "${STOPPING[@]}")
SCRATCH=(--arch "$ARCHITECTURE" "${MODEL_OPTIONS[@]}" --norm-placement post --language-tags s-enc-t-dec --dropout "$DROPOUT")
MBART_START=$OUTPUT/mbart/start.pt
MBART_MODEL=(--arch mnmt_transformer_mbart --language-tags mbart --langs "$(printf '%s\n' "${LANGUAGES[@]}" | sort | paste -sd,)")

system mlsc '' "MLSC" "${SCRATCH[@]}" "${PLAIN[@]}"
system mlsc+align '' "MLSC +align" "${SCRATCH[@]}" "${ADDED[@]}" --losses translation,attention_alignment --alignments fast_align-all
system mlsc+w2w '' "MLSC +w2w" "${SCRATCH[@]}" "${ADDED[@]}" --losses translation,word_contrastive --alignments word2word
system mlsc+FA '' "MLSC +FA" "${SCRATCH[@]}" "${ADDED[@]}" --losses translation,word_contrastive --alignments fast_align
system mlsc+sent '' "MLSC +sent" "${SCRATCH[@]}" "${ADDED[@]}" --losses translation,sentence_contrastive

# The other reading of the dropout of 5.2.3: not the projection's is 0.2, as in `mlsc+w2w`, but the model's, which is 0.3 without the
# loss; of another dropout two thirds, too. `mlsc-less-dropout` has that model without the loss, and is what it is compared with. Labels
# leave dropout out, so names say it.
LESS=$(awk "BEGIN { printf \"%.3g\", $DROPOUT * 2 / 3 }")
variant mlsc-less-dropout '' "MLSC, dropout $LESS" "${SCRATCH[@]}" --dropout "$LESS" "${PLAIN[@]}"
variant mlsc-less-dropout+w2w '' "MLSC, dropout $LESS +w2w, projection 0" "${SCRATCH[@]}" "${ADDED[@]}" --losses translation,word_contrastive \
  --alignments word2word --word-contrastive-model-dropout "$LESS" --word-contrastive-dropout 0

by_default=variant
[[ -z $MBART ]] || by_default=system
"$by_default" mbart '' "mBART FT" "${MBART_MODEL[@]}" "${PLAIN[@]}"
"$by_default" mbart+align '' "mBART FT +align" "${MBART_MODEL[@]}" "${ADDED[@]}" --losses translation,attention_alignment --alignments fast_align-all
"$by_default" mbart+w2w '' "mBART FT +w2w" "${MBART_MODEL[@]}" "${ADDED[@]}" --losses translation,word_contrastive --alignments word2word
"$by_default" mbart+FA '' "mBART FT +FA" "${MBART_MODEL[@]}" "${ADDED[@]}" --losses translation,word_contrastive --alignments fast_align
"$by_default" mbart+sent '' "mBART FT +sent" "${MBART_MODEL[@]}" "${ADDED[@]}" --losses translation,sentence_contrastive
