#!/usr/bin/env bash
# Small sentence encoders that learn from a large one: LEALLA, chapter 3 of the thesis, from text to tables of retrieval.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/sentence_encoders.sh
source "$HERE/../shared/sentence_encoders.sh"

RECIPE=distillation TITLE="Distilled sentence encoders"
SEEDS=1
ALL_STAGES="prepare encode train evaluate report"
REQUIRED_SETTINGS=(BATCH_PAIRS STUDENTS)
TEACHER='' TEACHER_DATA='' TEACHER_IN_TRAINING=''
TEACHER_NAME=teacher VECTORS_DTYPE=float16 # of the files with its vectors
TEACHER_POOLING=  # of a folder of transformers, which says not how it is pooled
ENCODE_OPTIONS=() # how the teacher's vectors are computed

# What 3.3.2 has for all systems; a configuration changes it.
ALPHA=1 BETA=1e3 GAMMA=1e-2
WEIGHT_DECAY=1e-2
MAX_LENGTH=128 # tokens; longer sentences are cut
MAX_WORDS=256  # of a line of the training text
SPEED_TEXT=test.de-en.de SPEED_THREADS=2 # of the comparison of speeds
MARGIN_OPTIONS=() FEATURE_OPTIONS=() LOGIT_OPTIONS=() # of the losses
SELECTION_OPTIONS=(--best-checkpoint-metric retrieval --maximize-best-checkpoint-metric)
STUDENTS=() ABLATED=() MARGIN_ALONE=() REDUCTIONS=()
REDUCED_START='' REDUCED_VECTORS='' REDUCED_VECTORS_OPTIONS=() # what reduced-N begins with; name of the vectors that reduced-N reads, and how the teacher gives them if not as it is
TEACHER_MODEL=() REDUCTION_OPTIONS=() # of reduced-N: the teacher's architecture, and how it is trained
declare -A STUDENT_OPTIONS STUDENT_WIDTH STUDENT_BETA # options quoted, as those of systems

# A student: its width, options of its model and training, and its own BETA, if it has one.
student() { # NAME WIDTH BETA OPTION...
  local options=("${@:4}")
  STUDENTS+=("$1")
  STUDENT_WIDTH[$1]=$2 STUDENT_BETA[$1]=$3 STUDENT_OPTIONS[$1]=${options[*]@Q}
}

usage() {
  cat << END
usage: bash recipes/distillation/run.sh --config NAME --teacher MODEL [options] [-- OPTION of fairseq-train ...]

Trains small sentence encoders of chapter 3 on pairs with English and the vectors of a teacher, measures how well they and
the teacher retrieve translations, reports. What is complete is skipped, what was killed continues. README.md beside this file
has the paper's numbers.

  --config NAME       lealla (the paper's), l10n (small), or a file like those in configs/
  --systems LIST      of STUDENT-LOSSES (ams, fd, ld, ams-fd, ams-ld, fd-ld, all, and ams-df, distillation-first, and ams-syn,
                      synchronized, which needs reduced-N of the student's width), reduced-N, reduced-nested, or 'all'
                      (default: without ams-df, ams-syn, reduced-nested and the other rows of Tables 3.1 and A.3;
                      systems.sh says which students have which losses)
  --teacher MODEL     the teacher: a folder of transformers or sentence-transformers, or a checkpoint of sentence_embedding
  --teacher-data DIR  of a checkpoint: the binarized folder of its training, on which the students are trained, too
  --teacher-in-training  the teacher encodes every batch of every student, in place of once and for all: slower, and without
                      files of vectors; reduced-N has its files all the same
$(help_of test_sets united_nations compared)
$(help_of search experiment training force plan all)

Example: bash recipes/distillation/run.sh --config l10n --teacher outputs/sentence_embedding/l10n/models/ems-seed1/checkpoint_best.pt --teacher-data outputs/sentence_embedding/l10n/data/l10n
END
}

check_recipe() {
  check_test_sets
  check_compared
  [[ -n $TEACHER ]] || die "--teacher: expected a folder of transformers or sentence-transformers, or a checkpoint"
  [[ $DRY_RUN == yes || -e $TEACHER ]] || die "--teacher: $TEACHER: no such file or folder"
  check_folders TEACHER_DATA
  TEACHER_OPTIONS=(--model "$TEACHER" "${DEVICE[@]}") POOLING_IN_TRAINING=()
  if [[ $TEACHER == *.pt ]]; then
    [[ -n $TEACHER_DATA ]] || die "--teacher $TEACHER: a checkpoint needs --teacher-data, the binarized folder of its training"
    [[ -z $KEEP_OUT ]] || die "--keep-out: of text that this recipe prepares; --teacher-data is prepared"
    # the text that a teacher was trained on is the students', too; where a recipe made it, its record of `clean` lies beside
    ! has_stage evaluate || warn_of_late_test_sets "$TEACHER_DATA/../../text/clean.json" "the text of --teacher-data" "where that is prepared"
    [[ -z $UNITED_NATIONS ]] || note "--united-nations: whether $TEACHER_DATA has sentences of this set (UNPC) is not known here"
    DATA=$TEACHER_DATA
    TEACHER_OPTIONS+=(--model-data "$DATA")
  else
    [[ -z $TEACHER_DATA ]] || die "--teacher-data $TEACHER_DATA: --teacher $TEACHER is no checkpoint; expected none"
  fi
  check_reductions
  set_pooling
  ! has_stage train || check_synchronized
}

# reduced-N of a configuration begins with a checkpoint or with a folder, not with either.
check_reductions() {
  [[ ,$SYSTEMS == *,reduced-* ]] || return 0
  [[ -n $REDUCED_START ]] || die "--config $CONFIG: REDUCED_START is not set; expected --finetune-from-model or --pretrained-encoder, with which reduced-N begins"
  if [[ $REDUCED_START == --finetune-from-model ]]; then
    [[ $TEACHER == *.pt ]] || die "--systems: reduced-N of --config $CONFIG begins with a checkpoint, --teacher $TEACHER is none; leave reduced-N out"
  else
    [[ $TEACHER != *.pt ]] || die "--systems: reduced-N of --config $CONFIG begins with a folder of transformers, --teacher $TEACHER is none; leave reduced-N out"
  fi
}

# A folder of sentence-transformers says how it is pooled, one of transformers does not.
set_pooling() {
  [[ -d $TEACHER && ! -e $TEACHER/modules.json ]] || return 0
  [[ -n $TEACHER_POOLING ]] || die "--teacher $TEACHER: a folder of transformers says not how it is pooled; expected one of sentence-transformers, or TEACHER_POOLING in the configuration"
  TEACHER_OPTIONS+=(--pooling "$TEACHER_POOLING")
  POOLING_IN_TRAINING=(--teacher-pooling "$TEACHER_POOLING")
}

# A student that learns from the reduced teacher needs that one: trained before, or in this run.
check_synchronized() {
  local system teacher first=${SEED_LIST[0]}
  for system in "${SYSTEM_IDS[@]}"; do
    [[ $system == *-ams-syn ]] || continue
    teacher=$(reduced_teacher_of "$system")
    is_among "$teacher" "${SYSTEM_IDS[@]}" || [[ $DRY_RUN == yes ]] ||
      [[ -e $OUTPUT/models/$(model_name "$teacher" "$first")/checkpoint_best.pt ]] ||
      die "--systems: $system learns from $teacher of seed $first, the first of --seeds, which is not trained; add it, or begin --seeds with one that is"
  done
}

reduced_teacher_of() { # SYSTEM
  echo "reduced-${STUDENT_WIDTH[${1%-ams-syn}]}"
}

# --- stages --------------------------------------------------------------------------------------------------------

stage_prepare() {
  local words=$OUTPUT/text
  if [[ -n $TEACHER_DATA ]]; then
    note "students are trained on $DATA"
    return
  fi
  fetch_text
  run python -m data_prep clean --input "$RAW" --output "$OUTPUT/text" --max-length "${MAX_WORDS:-$MAX_LENGTH}" "${CLEAN_OPTIONS[@]}"
  if ! is_among --tokenizer "${SUBWORD_OPTIONS[@]}"; then # tokenizers of transformers read raw text
    words=$OUTPUT/tokenized
    run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUTPUT/text" --output "$words"
  fi
  run python -m data_prep subword "${SUBWORD_OPTIONS[@]}" --input "$words" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$DATA"
}

# The teacher's vectors of all training and validation sentences, beside these.
stage_encode() {
  local text=()
  [[ -n $TEACHER_DATA ]] || text=(--text "$OUTPUT/text")
  ! are_read "$TEACHER_NAME" || store_vectors "$TEACHER_NAME" "${TEACHER_OPTIONS[@]}" "${text[@]}"
  [[ $REDUCED_VECTORS == "$TEACHER_NAME" ]] || ! are_read "$REDUCED_VECTORS" ||
    store_vectors "$REDUCED_VECTORS" "${TEACHER_OPTIONS[@]}" "${REDUCED_VECTORS_OPTIONS[@]}" "${text[@]}"
}

# Whether the systems read the teacher's vectors of a name: what takes days, and --force makes anew, is not made for others.
are_read() { # NAME
  local system
  for system in "${SYSTEM_IDS[@]}"; do
    case ${system%%\~*} in
      *-ams | *-ams-syn) ;; # without a teacher, or with one that is a system
      reduced-*) [[ $1 != "$REDUCED_VECTORS" ]] || return 0 ;;
      *) [[ $1 != "$TEACHER_NAME" || $TEACHER_IN_TRAINING == yes ]] || return 0 ;;
    esac
  done
  return 1
}

# The vectors of an encoder, of the pairs that are trained on; with --force in place of those of another encoder.
store_vectors() { # NAME ENCODER_OPTION...
  run python -m embeddings encode --data "$DATA" --split train,valid --pairs "$(pairs_with_english "${LANGUAGES[@]}")" --name "$1" \
    --dtype "$VECTORS_DTYPE" "${ENCODE_OPTIONS[@]}" "${@:2}" "${FORCED[@]}"
}

# The teachers of synchronized distillation (A.1), which are systems here, come before their students.
stage_train() {
  local system teacher asked=("${SYSTEM_IDS[@]}") synchronized=()
  note_negatives
  SYSTEM_IDS=()
  for system in "${asked[@]}"; do
    if [[ $system == *-ams-syn ]]; then synchronized+=("$system"); else SYSTEM_IDS+=("$system"); fi
  done
  train_systems train_system
  for teacher in $(for system in "${synchronized[@]}"; do reduced_teacher_of "$system"; done | sort -u); do
    is_among "$teacher" "${asked[@]}" || note_kept_teacher "$teacher"
    encode_reduced "$teacher"
  done
  SYSTEM_IDS=("${synchronized[@]}")
  train_systems train_system
  SYSTEM_IDS=("${asked[@]}")
}

# Its vectors are made anew, not itself: it may have been reduced from another teacher than the other students'.
note_kept_teacher() { # SYSTEM
  [[ $FORCE != yes ]] ||
    note "--force: $1, which students learn from, is not among --systems and stays as it is; add it where the teacher or its vectors are others"
}

# The vectors of a reduced teacher, of the first seed for students of all seeds.
encode_reduced() { # SYSTEM
  set_encoder "$1" "${SEED_LIST[0]}"
  store_vectors "$(model_name "$1" "${SEED_LIST[0]}")" "${ENCODER_OPTIONS[@]}"
}

# Losses that gather compare the pairs of all GPUs at a time; gradients of further batches add up, but their pairs do not meet.
note_negatives() {
  local world=$((GPUS * NODES))
  [[ "${MARGIN_OPTIONS[*]} ${LOGIT_OPTIONS[*]}" == *-gather* && $world -lt $BATCH_GPUS ]] || return 0
  note "$((world * BATCH_PAIRS)) pairs are compared with each other (N of 3.1 and 3.4), not $((BATCH_GPUS * BATCH_PAIRS)): $world of $BATCH_GPUS GPUs"
}

train_system() { # SYSTEM SEED
  local languages=() start=()
  if [[ $1 == reduced-* ]]; then
    start=("$REDUCED_START" "$TEACHER")
    if [[ -f $TEACHER ]]; then set_languages_of_teacher; fi
  elif [[ $TEACHER_IN_TRAINING == yes && ${1%%\~*} != *-ams && ${1%%\~*} != *-ams-syn ]]; then
    start=(--teacher-checkpoint "$TEACHER" "${POOLING_IN_TRAINING[@]}")
  fi
  set_training_options "$1"
  train fairseq-train "$DATA" --save-dir "$OUTPUT/models/$(model_name "$@")" --seed "$2" --task sentence_embedding \
    --pairs "$(pairs_with_english "${LANGUAGES[@]}")" --dropout "$DROPOUT" \
    --lr "$LEARNING_RATE" "${SCHEDULE_OPTIONS[@]}" --optimizer fused_adam --weight-decay "$WEIGHT_DECAY" \
    --batch-size "$BATCH_PAIRS" --batches-per-update "$BATCH_GPUS" --max-epoch "$EPOCHS" --max-source-positions "$MAX_LENGTH" \
    --eval-retrieval "${SELECTION_OPTIONS[@]}" "${SAVING[@]}" --log-format simple --log-interval 100 \
    "${languages[@]}" "${start[@]}" "${OPTIONS[@]}" "${EXTRA_OPTIONS[@]}"
}

# Fill languages: a teacher that is trained on has the embeddings of its own tags, also of languages that its students do not learn.
set_languages_of_teacher() {
  local teachers ours
  teachers=$(python -m fairseq_ext describe "$TEACHER" --json |
    python -c 'import json, sys; print(",".join(json.load(sys.stdin)["languages"]))') || exit 2
  ours=$(printf '%s\n' "${LANGUAGES[@]}" | LC_ALL=C sort | paste -sd,)
  [[ $teachers == "$ours" ]] || languages=(--langs "$teachers")
}

stage_evaluate() {
  evaluate_teacher
  evaluate_compared
  for_each_model_at_once evaluate_encoder
  measure_speed
}

# Beside reduced-nested also the first numbers of the teacher, which has not learnt to be cut.
evaluate_teacher() {
  local SMALLER_OPTIONS=("${SMALLER_OPTIONS[@]}")
  ! is_among reduced-nested "${SYSTEM_IDS[@]}" || also_cut "${REDUCTIONS[@]}" "$TEACHER_WIDTH"
  retrieve_everywhere "$OUTPUT/retrieval/teacher" "${TEACHER_OPTIONS[@]}" --encoder-name teacher
}

evaluate_encoder() { # SYSTEM SEED
  local SMALLER_OPTIONS=("${SMALLER_OPTIONS[@]}")
  [[ $1 != reduced-nested ]] || also_cut "${REDUCTIONS[@]}"
  evaluate "$@"
}

also_cut() { # WIDTH...
  SMALLER_OPTIONS=(--vectors "float32,int8,int8+rescored,binary,binary+rescored" --widths "$(ascending "$@")")
}

# Teacher and students in turns, on the test sentences of one language, on a processor.
measure_speed() {
  local options=(--lines 1000 --threads "$SPEED_THREADS" --cpu)
  ENCODERS=("teacher=$TEACHER")
  for_each_model add_encoder
  run python -m embeddings speed "${ENCODERS[@]}" --text "$DATA/text/$SPEED_TEXT" --model-data "$DATA" "${options[@]}" \
    --dataset "$NAME" --output "$OUTPUT/speed"
}

add_encoder() { ENCODERS+=("$(model_name "$@")=$(checkpoint_of "$@")"); } # SYSTEM SEED

stage_report() {
  RESULTS=() RETRIEVAL=()
  add_results evaluate retrieve_everywhere "$OUTPUT/retrieval/teacher"
  add_compared evaluate
  for_each_model add_evaluated
  RESULTS+=("$OUTPUT/speed/encoding-speed.json")
  write_report
}

experiment "$@"
