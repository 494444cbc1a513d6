# shellcheck shell=bash disable=SC2034,SC2054,SC2153 # settings are those of configurations
# Students by their losses, STUDENT-LOSSES: the ablation of Tables 3.4 and A.4 for those that are ABLATED, additive margin (the rows
# of Table 3.1) and all three losses (Table 3.3) for the others, additive margin only for those that are MARGIN_ALONE (the other rows of
# Tables 3.1 and A.3). And the teacher with a trained layer to fewer dimensions, reduced-N (3.2.2, Table A.2): on stored vectors, so
# that no update runs the teacher. One layer in place of all of these is reduced-nested, whose first numbers are vectors, too.
AMS=(--additive-margin-weight "$ALPHA" "${MARGIN_OPTIONS[@]}")
LD=(--logit-distillation-weight "$GAMMA" "${LOGIT_OPTIONS[@]}")

# A line of the table for a student and its losses; $1 is `system` or `variant`.
distilled() { # TABLE STUDENT LOSSES
  local fd=(--feature-distillation-weight "${STUDENT_BETA[$2]:-$BETA}" "${FEATURE_OPTIONS[@]}") losses teacher=(--teacher "$TEACHER_NAME") below=() options
  case $3 in
    ams) losses=(--losses additive_margin "${AMS[@]}") ;;
    fd) losses=(--losses feature_distillation "${fd[@]}") ;;
    ld) losses=(--losses logit_distillation "${LD[@]}") ;;
    ams-fd) losses=(--losses additive_margin,feature_distillation "${AMS[@]}" "${fd[@]}") ;;
    ams-ld) losses=(--losses additive_margin,logit_distillation "${AMS[@]}" "${LD[@]}") ;;
    fd-ld) losses=(--losses feature_distillation,logit_distillation "${fd[@]}" "${LD[@]}") ;;
    all) losses=(--losses additive_margin,feature_distillation,logit_distillation "${AMS[@]}" "${fd[@]}" "${LD[@]}") ;;
    ams-syn) losses=(--losses additive_margin,feature_distillation "${AMS[@]}" "${fd[@]}" --feature-distillation-pattern synchronized) ;;
    ams-df) losses=(--losses additive_margin,feature_distillation "${AMS[@]}" "${fd[@]}" --feature-distillation-pattern distillation-first) ;;
  esac
  [[ $3 != ams && $TEACHER_IN_TRAINING != yes ]] || teacher=()
  # its vectors are stored when it has been trained
  [[ $3 != ams-syn ]] || teacher=(--teacher "$(model_name "reduced-${STUDENT_WIDTH[$2]}" "${SEEDS%%,*}")")
  [[ $3 != ams-df ]] || below=(--pooler-width "$TEACHER_WIDTH" --sentence-width "${STUDENT_WIDTH[$2]}")
  eval "options=(${STUDENT_OPTIONS[$2]})"
  "$1" "$2-$3" '' '' "${options[@]}" "${below[@]}" --criterion weighted_losses "${losses[@]}" "${teacher[@]}"
}

for student in "${STUDENTS[@]}"; do
  if is_among "$student" "${ABLATED[@]}"; then
    for losses in ams fd ld ams-fd ams-ld fd-ld all; do distilled system "$student" "$losses"; done
    distilled variant "$student" ams-df
    ! is_among "${STUDENT_WIDTH[$student]}" "${REDUCTIONS[@]}" || distilled variant "$student" ams-syn
  elif is_among "$student" "${MARGIN_ALONE[@]}"; then
    distilled variant "$student" ams
  else
    distilled system "$student" ams
    distilled system "$student" all
  fi
done

ascending() { # NUMBER...
  printf '%s\n' "$@" | sort -n | paste -sd,
}

REDUCED=("${TEACHER_MODEL[@]}" --freeze-encoder --encoder-vectors "$REDUCED_VECTORS" --criterion weighted_losses --losses additive_margin "${AMS[@]}")
for width in "${REDUCTIONS[@]}"; do
  system "reduced-$width" '' '' "${REDUCED[@]}" --sentence-width "$width" "${REDUCTION_OPTIONS[@]}"
done
[[ ${#REDUCTIONS[@]} == 0 ]] ||
  variant reduced-nested '' '' "${REDUCED[@]}" --sentence-width "${REDUCTIONS[0]}" --additive-margin-nested-widths "$(ascending "${REDUCTIONS[@]:1}")" "${REDUCTION_OPTIONS[@]}"
