# shellcheck shell=bash
# Table 8.2. "w/o Res." (5 to 8) has no residual connection around the self-attention of one encoder layer (8.2.1); system 0
# is system 4 through English as pivot.
MODEL="--arch $ARCHITECTURE ${MODEL_OPTIONS[*]} --dropout $DROPOUT --criterion fused_label_smoothed_cross_entropy"
PRE="$MODEL --norm-placement pre"
POST="$MODEL --norm-placement post"
WITHOUT_RESIDUAL="--drop-residual-layers $RESIDUAL_LAYER"

other_systems << END
0 | 4 | | --pivot en |
END
default_systems << END
1 | | $PRE --language-tags s-enc-t-dec | |
2 | | $POST --language-tags s-enc-t-dec | |
3 | | $PRE --language-tags t-enc | |
4 | | $POST --language-tags t-enc | |
5 | | $PRE --language-tags s-enc-t-dec $WITHOUT_RESIDUAL | |
6 | | $POST --language-tags s-enc-t-dec $WITHOUT_RESIDUAL | |
7 | | $PRE --language-tags t-enc $WITHOUT_RESIDUAL | |
8 | | $POST --language-tags t-enc $WITHOUT_RESIDUAL | |
END

# LayerNorm-simple: layer normalization without gain and bias (E.3).
for system in "${DEFAULT_SYSTEMS[@]}"; do
  other_systems <<< "$system-simple | | ${TRAINING_OPTIONS[$system]} --no-norm-affine | |"
done

# How PreNorm and PostNorm come by what each lacks at the budget of a configuration (not in the thesis): four times the warm-up, half the
# learning rate, twice the updates (and epochs). A schedule is on no axis, so names say it.
HALF_RATE=$(awk "BEGIN { print ${LEARNING_RATE:-0} / 2 }")
LONGER="--max-epoch $((2 * EPOCHS))"
for option in "${SCHEDULE_OPTIONS[@]}"; do
  [[ ! $option =~ ^[0-9]+$ ]] || option=$((2 * option))
  LONGER+=" $option"
done
budgets() { # SYSTEM NAME
  cat << END
$1-warmup | | ${TRAINING_OPTIONS[$1]} --warmup-updates $((4 * WARMUP_UPDATES)) | | $2, $((4 * WARMUP_UPDATES)) warm-up updates
$1-rate | | ${TRAINING_OPTIONS[$1]} --lr $HALF_RATE | | $2, learning rate $HALF_RATE
$1-long | | ${TRAINING_OPTIONS[$1]} $LONGER | | $2, twice the updates
END
}
other_systems < <(budgets 1 "PreNorm S-ENC-T-DEC")
other_systems < <(budgets 2 "PostNorm S-ENC-T-DEC")

# LCS (Sun et al. 2024), whose upper encoder layers are told the target language; Swap-PreNorm (8.2.4); PreNorm w/o Enc-Last
# (E.1).
other_systems << END
1-lcs | | $PRE --language-tags s-enc-t-dec --target-embedding-layers $TARGET_LAYERS | |
2-lcs | | $POST --language-tags s-enc-t-dec --target-embedding-layers $TARGET_LAYERS | |
swap-prenorm | | $MODEL --norm-placement swap-pre --language-tags s-enc-t-dec | |
no-enc-last | | $PRE --language-tags s-enc-t-dec --no-encoder-final-norm | |
END

# Language embeddings in place of tags among the tokens (docs/language_tags.md; not in the thesis).
other_systems << END
embedded | | $POST --language-tags embedded | |
embedded-t-enc | | $POST --language-tags embedded-t-enc | |
END
