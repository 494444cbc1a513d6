# shellcheck shell=bash disable=SC2153 # settings are those of configurations
# Students by their losses, STUDENT-LOSSES: the ablation of Tables 3.4 and A.4 for those that are ABLATED, additive margin (the rows
# of Table 3.1) and all three losses (Table 3.3) for the others, additive margin only for those that are MARGIN_ALONE (the other rows of
# Tables 3.1 and A.3). And the teacher with a trained layer to fewer dimensions, reduced-N (3.2.2, Table A.2): on stored vectors, so
# that no update runs the teacher. One layer in place of all of these is reduced-nested, whose first numbers are vectors, too.
AMS="--additive-margin-weight $ALPHA $MARGIN_OPTIONS"
LD="--logit-distillation-weight $GAMMA $LOGIT_OPTIONS"

# The losses of a system, with their options.
losses_of() { # BETA LOSSES
  local fd="--feature-distillation-weight $1 $FEATURE_OPTIONS"
  case $2 in
    ams) echo "--losses additive_margin $AMS" ;;
    fd) echo "--losses feature_distillation $fd" ;;
    ld) echo "--losses logit_distillation $LD" ;;
    ams-fd) echo "--losses additive_margin,feature_distillation $AMS $fd" ;;
    ams-ld) echo "--losses additive_margin,logit_distillation $AMS $LD" ;;
    fd-ld) echo "--losses feature_distillation,logit_distillation $fd $LD" ;;
    all) echo "--losses additive_margin,feature_distillation,logit_distillation $AMS $fd $LD" ;;
    ams-syn) echo "--losses additive_margin,feature_distillation $AMS $fd --feature-distillation-pattern synchronized" ;;
    ams-df) echo "--losses additive_margin,feature_distillation $AMS $fd --feature-distillation-pattern distillation-first" ;;
  esac
}

# A row of a student, whose options are those of its model and training; its own BETA, if it has one, comes in front.
row() { # STUDENT LOSSES
  local beta=$BETA options=${STUDENT_OPTIONS[$1]} below="" teacher="--teacher $TEACHER_NAME"
  if [[ $options == beta=* ]]; then beta=${options%% *} beta=${beta#beta=} options=${options#* }; fi
  [[ $2 != ams && $TEACHER_IN_TRAINING != yes ]] || teacher=""
  [[ $2 != ams-syn ]] || teacher="--teacher $(model_name "reduced-${STUDENT_WIDTH[$1]}" "${SEEDS%%,*}")" # its vectors are stored when it has been trained
  [[ $2 != ams-df ]] || below="--pooler-width $TEACHER_WIDTH --sentence-width ${STUDENT_WIDTH[$1]}"
  echo "$1-$2 | | $options $below --criterion weighted_losses $(losses_of "$beta" "$2") $teacher | |"
}

for student in "${STUDENTS[@]}"; do
  if is_among "$student" "${ABLATED[@]}"; then
    for losses in ams fd ld ams-fd ams-ld fd-ld all; do default_systems < <(row "$student" "$losses"); done
    other_systems < <(row "$student" ams-df)
    ! is_among "${STUDENT_WIDTH[$student]}" "${REDUCTIONS[@]}" || other_systems < <(row "$student" ams-syn)
  elif is_among "$student" "${MARGIN_ALONE[@]}"; then
    other_systems < <(row "$student" ams)
  else
    for losses in ams all; do default_systems < <(row "$student" "$losses"); done
  fi
done

ascending() { # NUMBER...
  printf '%s\n' "$@" | sort -n | paste -sd,
}

reduction() { # NAME WIDTH OPTION...
  echo "reduced-$1 | | $TEACHER_MODEL --freeze-encoder --encoder-vectors $REDUCED_VECTORS --sentence-width $2 --criterion weighted_losses $(losses_of 0 ams) ${*:3} $REDUCTION_OPTIONS | |"
}

for width in "${REDUCTIONS[@]}"; do default_systems < <(reduction "$width" "$width"); done
[[ ${#REDUCTIONS[@]} == 0 ]] || other_systems < <(reduction nested "${REDUCTIONS[0]}" --additive-margin-nested-widths "$(ascending "${REDUCTIONS[@]:1}")")
