# shellcheck shell=bash disable=SC2034,SC2054,SC2153
# Table 8.2, and what is compared with its systems. A line each (shared/experiment.sh): ID, the system whose model it uses, name, options.
MODEL=(--arch "$ARCHITECTURE" "${MODEL_OPTIONS[@]}" --dropout "$DROPOUT" --criterion fused_label_smoothed_cross_entropy)
PRE=("${MODEL[@]}" --norm-placement pre)
POST=("${MODEL[@]}" --norm-placement post)
WITHOUT_RESIDUAL=(--drop-residual-layers "$RESIDUAL_LAYER") # around the self-attention of one encoder layer (8.2.1)

variant 0 4 '' # system 4 through English
evaluated 0 --pivot en
system 1 '' '' "${PRE[@]}" --language-tags s-enc-t-dec
system 2 '' '' "${POST[@]}" --language-tags s-enc-t-dec
system 3 '' '' "${PRE[@]}" --language-tags t-enc
system 4 '' '' "${POST[@]}" --language-tags t-enc
system 5 '' '' "${PRE[@]}" --language-tags s-enc-t-dec "${WITHOUT_RESIDUAL[@]}"
system 6 '' '' "${POST[@]}" --language-tags s-enc-t-dec "${WITHOUT_RESIDUAL[@]}"
system 7 '' '' "${PRE[@]}" --language-tags t-enc "${WITHOUT_RESIDUAL[@]}"
system 8 '' '' "${POST[@]}" --language-tags t-enc "${WITHOUT_RESIDUAL[@]}"

# LayerNorm-simple: layer normalization without gain and bias (E.3).
for system in "${DEFAULT_SYSTEMS[@]}"; do
  set_training_options "$system"
  variant "$system-simple" '' '' "${OPTIONS[@]}" --no-norm-affine
done

# How PreNorm and PostNorm come by what each lacks at the budget of a configuration (not in the thesis): four times the warm-up, half the
# learning rate, twice the updates (and epochs). A schedule is on no axis, so names say it.
WARMUP=$((4 * WARMUP_UPDATES))
HALF_RATE=$(awk "BEGIN { print ${LEARNING_RATE:-0} / 2 }")
LONGER=(--max-epoch $((2 * EPOCHS)))
for option in "${SCHEDULE_OPTIONS[@]}"; do
  [[ ! $option =~ ^[0-9]+$ ]] || option=$((2 * option))
  LONGER+=("$option")
done
for system in 1 2; do
  set_training_options "$system"
  norm=PreNorm
  [[ $system == 1 ]] || norm=PostNorm
  variant "$system-warmup" '' "$norm S-ENC-T-DEC, $WARMUP warm-up updates" "${OPTIONS[@]}" --warmup-updates "$WARMUP"
  variant "$system-rate" '' "$norm S-ENC-T-DEC, learning rate $HALF_RATE" "${OPTIONS[@]}" --lr "$HALF_RATE"
  variant "$system-long" '' "$norm S-ENC-T-DEC, twice the updates" "${OPTIONS[@]}" "${LONGER[@]}"
done

# LCS (Sun et al. 2024), whose upper encoder layers are told the target language; Swap-PreNorm (8.2.4); PreNorm w/o Enc-Last (E.1).
variant 1-lcs '' '' "${PRE[@]}" --language-tags s-enc-t-dec --target-embedding-layers "$TARGET_LAYERS"
variant 2-lcs '' '' "${POST[@]}" --language-tags s-enc-t-dec --target-embedding-layers "$TARGET_LAYERS"
variant swap-prenorm '' '' "${MODEL[@]}" --norm-placement swap-pre --language-tags s-enc-t-dec
variant no-enc-last '' '' "${PRE[@]}" --language-tags s-enc-t-dec --no-encoder-final-norm

# Language embeddings in place of tags among the tokens (docs/language_tags.md; not in the thesis).
variant embedded '' '' "${POST[@]}" --language-tags embedded
variant embedded-t-enc '' '' "${POST[@]}" --language-tags embedded-t-enc
