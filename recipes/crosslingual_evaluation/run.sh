#!/usr/bin/env bash
# Is Cross-lingual Evaluation Only About Cross-lingual?: several encoders, measured by retrieval as they are, after question answering and
# calibrated, and by zero-shot transfer against translate-train; from published data sets to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/sentence_encoders.sh
source "$HERE/../shared/sentence_encoders.sh"
# shellcheck source=recipes/shared/fine_tuning.sh
source "$HERE/../shared/fine_tuning.sh"

RECIPE=crosslingual_evaluation TITLE="Cross-lingual evaluation"
CONFIGURED="KNOWN_ENCODERS XNLI_LANGUAGES GAP_SOURCE NAME_LANGUAGES STS_LANGUAGES VALID_LANGUAGES"
ENCODERS='' NLI='' STS='' STS17='' WMT20='' WIKIANN='' SQUAD=''
SEEDS=1,2,3,4,5 # A.2, of XNLI
ALL_STAGES="materials prepare calibrate answers retrieve finetune report"
TRAINING_STAGES="calibrate answers finetune"
LANGUAGES=() # of the driver's own text
LANGUAGE_GROUPS=one_aligner # which has the 36 languages of XTREME's Tatoeba
ORIGINAL=original # the variant of an encoder that is as it was
CORRELATED=3      # encoders of a correlation, at least

# What a configuration says of the fine-tunings: options of `embeddings finetune`.
XNLI_OPTIONS=() MANUAL_OPTIONS=() NAMES_OPTIONS=() ANSWERS_OPTIONS=()
KNOWN_ENCODERS=()
CURVES=() # encoders that are measured after every tenth of their calibration, too (Figure 2)
declare -A PARAMETERS_OF # without the embeddings, which are looked up: by it --plan knows an encoder before it is there
declare -A LAYER_OF RATE_OF PREFIX_OF CALIBRATION_OF FOLDER_OF # options of the calibration are quoted, as those of systems

# An encoder: the layer whose states are its sentence embeddings ('last': what its folder says), the learning rate of its fine-tuning
# for XNLI and names, what is in front of every sentence that becomes a vector, and options of its calibration.
encoder() { # NAME LAYER RATE [--prefix TEXT] [OPTION...]
  local options=("${@:4}")
  KNOWN_ENCODERS+=("$1")
  if [[ ${options[0]:-} == --prefix ]]; then
    PREFIX_OF[$1]=${options[1]}
    options=("${options[@]:2}")
  fi
  LAYER_OF[$1]=$2 RATE_OF[$1]=$3 CALIBRATION_OF[$1]=${options[*]@Q}
}

usage() {
  cat << END
usage: bash recipes/crosslingual_evaluation/run.sh --config NAME [--encoders NAME=FOLDER,...] [options] [-- OPTION of embeddings finetune ...]

Measures encoders by sentence retrieval and similarity as they are, after question answering, and calibrated; fine-tunes them for XNLI
and names in one language and tests them in all, and for XNLI in all; transfer rates, reports. What no data is given for is left out,
what is complete is skipped, what was killed continues. What follows -- is for the fine-tunings of the stage finetune. README.md beside
this file has the paper's numbers.

  --config NAME       paper, phrasebook (a toy setting that makes its own encoders and tasks), or a file like them
  --encoders LIST     NAME=FOLDER of every encoder, a folder of transformers or of sentence-transformers; NAME is one of the
                      configuration's: mbert, xlm-r-base, xlm-r, labse
  --systems LIST      only these of --encoders
$(help_of search)
$(help_of xnli)
  --tatoeba DIR       LASER's Tatoeba test sets, tatoeba.XXX-eng.XXX
  --sts17 DIR         rated pairs of STS 2017: STS.ar.tsv, STS.en.tsv, STS.es.tsv
  --wikiann DIR       WikiANN, a word and its tag per line: train-en.tsv, dev-en.tsv, test-LANG.tsv
  --wmt20 DIR         test sets of WMT20, en-cs.en, en-cs.cs, ..., by whose retrieval checkpoints are chosen: of question answering
                      and of calibration
  --squad DIR         SQuAD 1.1, train-v1.1.json and dev-v1.1.json: question answering
  --nli DIR           SNLI, snli_1.0_train.jsonl: calibration, which also reads MultiNLI (of --xnli) and --sts
  --sts FILE          STS benchmark, training part: sentence, sentence, rating from 0 to 5
  --seeds LIST        one fine-tuning for XNLI and for names per encoder and seed (default: $SEEDS); calibration and question
                      answering have the first
  --stages LIST       some of ${ALL_STAGES// /,} (default: all)
  --finished-only     report the encoders and seeds of which everything has been measured, and train nothing
  --output DIR        folder for everything (default: outputs/$RECIPE/CONFIG)
  --launcher NAME     cpu; gpu or torchrun; slurm (every step is one srun) (default: $LAUNCHER)
  --cpus-per-task N   cores of a step, with slurm (default: what Slurm gives)
  --jobs N            fine-tunings at a time: they share the cores, and have GPUs of their own (default: $JOBS)
  --jobs-per-gpu N    fine-tunings that may share one GPU (default: $JOBS_PER_GPU)
  --precision NAME    of training: bf16 or float32; auto is float32 (default: $PRECISION)
  --force             train anew what is trained or was begun, also with other options or data
$(help_of plan all)

Example: bash recipes/crosslingual_evaluation/run.sh --config paper --encoders mbert=models/mbert,labse=models/LaBSE --xnli xnli --launcher gpu
END
}

check_recipe() {
  local encoder given
  for encoder in "${SYSTEM_IDS[@]}"; do # of --search: the encoder with some options
    given=${encoder%%\~*}
    FOLDER_OF[$encoder]=${FOLDER_OF[$given]} LAYER_OF[$encoder]=${LAYER_OF[$given]} RATE_OF[$encoder]=${RATE_OF[$given]}
    PREFIX_OF[$encoder]=${PREFIX_OF[$given]:-} CALIBRATION_OF[$encoder]=${CALIBRATION_OF[$given]}
  done
  check_folders XNLI NLI STS17 WMT20 TATOEBA WIKIANN SQUAD
  if makes_materials; then
    XNLI=$OUTPUT/tasks/xnli NLI=$OUTPUT/tasks/snli STS=$OUTPUT/tasks/sts/train.csv STS17=$OUTPUT/tasks/sts
    WMT20=$OUTPUT/tasks/wmt20 TATOEBA=$OUTPUT/tasks/tatoeba WIKIANN=$OUTPUT/tasks/wikiann SQUAD=$OUTPUT/tasks/mlqa/squad
  else
    leave_out_stage materials
  fi
  makes_materials || [[ $DRY_RUN == yes || -z $STS || -f $STS ]] || die "--sts: $STS: no such file"
  for encoder in "${SYSTEM_IDS[@]}"; do
    makes_materials || [[ $DRY_RUN == yes || -d ${FOLDER_OF[$encoder]} ]] || die "--encoders: ${FOLDER_OF[$encoder]}: no such folder"
    [[ ${LAYER_OF[$encoder]} == last || ! -f ${FOLDER_OF[$encoder]}/modules.json ]] ||
      die "--encoders $encoder=${FOLDER_OF[$encoder]}: has modules.json, by which sentence-transformers makes vectors; expected a folder of transformers, whose layer ${LAYER_OF[$encoder]} is read (a copy without modules.json), or the layer 'last' in $CONFIG_FILE"
  done
  [[ $PRECISION != fp16 ]] || die "--precision fp16: expected auto, bf16 or float32"
  [[ -n $XNLI$TATOEBA$STS17$WIKIANN ]] || die "--xnli, --tatoeba, --sts17, --wikiann: expected at least one of them, what encoders are measured by"
  if [[ $GAP_SOURCE == en ]] || ! is_among "$GAP_SOURCE" "${XNLI_LANGUAGES[@]}"; then
    die "$CONFIG_FILE: GAP_SOURCE is $GAP_SOURCE; expected one of XNLI_LANGUAGES but en, from which transfer is measured besides"
  fi
  choose_variants
  set_valid_parallel
  ! has_stage finetune || for_each_finetuning check_files "${SYSTEM_IDS[0]}" "${SEED_LIST[0]}"
  CPU=("${DEVICE[@]}") # what measures has no precision
  set_training_device
}

check_corpus() { :; } # there is none

# Fill VARIANTS, of which every encoder is measured, and say what is left out.
choose_variants() {
  VARIANTS=("$ORIGINAL")
  if given "question answering" SQUAD WMT20; then VARIANTS+=(answers); fi
  if given calibration NLI XNLI STS WMT20; then VARIANTS+=(calibrated); fi
  given "XNLI, transfer rates" XNLI || true
  given "sentence retrieval" TATOEBA || true
  given "sentence similarity" STS17 || true
  given "recognition of names" WIKIANN || true
}

# Whether there is what something needs; a line if not.
given() { # WHAT VARIABLE_OF_OPTION...
  local option lacking=()
  for option in "${@:2}"; do [[ -n ${!option} ]] || lacking+=("$(option_of "$option")"); done
  [[ ${#lacking[@]} -gt 0 ]] || return 0
  note "left out: $1, for want of ${lacking[*]}"
  return 1
}

# Fill VALID_PARALLEL: the texts by whose retrieval checkpoints are chosen.
set_valid_parallel() {
  local language
  VALID_PARALLEL=()
  for language in "${VALID_LANGUAGES[@]}"; do
    VALID_PARALLEL+=(--valid-parallel "$WMT20/en-$language.en" "$WMT20/en-$language.$language")
  done
}

# How many examples the published files have.
plan_trainings() {
  local encoder variant language sizes=()
  makes_materials || sizes=("$NLI/snli_1.0_train.jsonl=549367" ${STS:+"$STS=5749"} "$SQUAD/train-v1.1.json=87599" "$WIKIANN/train-en.tsv=20000"
    "$OUTPUT/xnli-manual/train.tsv=6000")
  makes_materials || for language in "${XNLI_LANGUAGES[@]}"; do sizes+=("$(xnli_train "$language")=392702"); done
  for encoder in "${SYSTEM_IDS[@]}"; do
    [[ -n ${PARAMETERS_OF[${encoder%%\~*}]:-} ]] || continue
    for variant in "${VARIANTS[@]}"; do sizes+=("$(beginning_of "$encoder" "$variant")=${PARAMETERS_OF[${encoder%%\~*}]}"); done
  done
  python -m embeddings plan --flops "$PLAN" ${sizes:+--sizes "${sizes[@]}"}
}

# --- variants of an encoder ----------------------------------------------------------------------------------------

# XNLI Manual (4.1), whose training text is no machine's.
stage_prepare() {
  [[ -z $XNLI ]] || run python -m data_prep xnli-manual --dev "$(xnli_held_out dev)" --test "$(xnli_held_out test)" "${FORCED[@]}" --output "$OUTPUT/xnli-manual"
}

stage_calibrate() {
  is_among calibrated "${VARIANTS[@]}" || return 0
  for_each_encoder calibrate
  write_search_table calibration "${SYSTEM_IDS[@]/#/"$OUTPUT/calibrated/"}"
}

# The table of the points: what --search found in validation.
write_search_table() { # NAME FOLDER...
  [[ -z $SEARCH ]] || run python -m fairseq_ext search-table "${@:2}" --output "$OUTPUT/search/$1"
}

calibrate() { # ENCODER
  local options LAYER PREFIX OPTIONS
  set_layer "$1"
  set_prefix "$1"
  eval "options=(${CALIBRATION_OF[$1]})"
  set_training_options "$1"
  ! is_among "$1" "${CURVES[@]}" || options+=(--keep-checkpoints)
  run python -m embeddings calibrate --model "${FOLDER_OF[$1]}" "${LAYER[@]}" "${PREFIX[@]}" --nli "$NLI/snli_1.0_train.jsonl" "$(xnli_train en)" \
    --sts "$STS" "${VALID_PARALLEL[@]}" "${options[@]}" "${OPTIONS[@]}" --seed "${SEED_LIST[0]}" "${DEVICE[@]}" "${FORCED[@]}" \
    --output "$OUTPUT/calibrated/$1"
}

stage_answers() { ! is_among answers "${VARIANTS[@]}" || for_each_encoder learn_answers; }

learn_answers() { # ENCODER
  local LAYER
  set_layer "$1"
  run python -m embeddings finetune --task answers --model "${FOLDER_OF[$1]}" --encoder-name "$1" --dataset "SQuAD 1.1" \
    --train "en=$SQUAD/train-v1.1.json" "${VALID_PARALLEL[@]}" "${LAYER[@]}" --test "en=$SQUAD/dev-v1.1.json" \
    "${ANSWERS_OPTIONS[@]}" --seed "${SEED_LIST[0]}" "${DEVICE[@]}" "${FORCED[@]}" --output "$OUTPUT/answers/$1"
}

# Call a function for every encoder, --jobs at a time.
for_each_encoder() { # COMMAND
  local encoder
  for encoder in "${SYSTEM_IDS[@]}"; do start_job "$encoder" "$1" "$encoder"; done
  finish_jobs encoders
}

# Fill LAYER, the option that says which states are pooled.
set_layer() { # ENCODER
  LAYER=()
  [[ ${LAYER_OF[$1]} == last ]] || LAYER=(--layer "${LAYER_OF[$1]}")
}

# Fill PREFIX, the option that says what is in front of every sentence.
set_prefix() { # ENCODER
  PREFIX=()
  [[ -z ${PREFIX_OF[$1]:-} ]] || PREFIX=(--prefix "${PREFIX_OF[$1]}")
}

# The folder of a variant of an encoder.
variant_of() { # ENCODER VARIANT
  local folder stage=$2
  case $2 in
    "$ORIGINAL") folder=${FOLDER_OF[$1]} ;;
    answers) folder=$OUTPUT/answers/$1/model ;;
    calibrated) folder=$OUTPUT/calibrated/$1/encoder stage=calibrate ;;
  esac
  [[ $DRY_RUN == yes || $COLLECTS == yes || -d $folder ]] || die "$folder: no such folder; run the stage $stage first"
  echo "$folder"
}

# The folder that a fine-tuning begins with: of a calibrated encoder that with the layers above the one that is read.
beginning_of() { # ENCODER VARIANT
  local folder
  folder=$(variant_of "$@") || exit
  [[ $2 != calibrated || ${LAYER_OF[$1]} == last ]] || folder+=-all-layers
  echo "$folder"
}

# Its name in tables.
title_of() { # ENCODER VARIANT
  local name=${TABLE_NAME[$1]:-$1}
  case $2 in
    "$ORIGINAL") echo "$name" ;;
    answers) echo "$name, question answering" ;;
    calibrated) echo "$name, calibrated" ;;
  esac
}

# --- sentence embeddings -------------------------------------------------------------------------------------------

stage_retrieve() {
  [[ -n $TATOEBA$STS17 ]] || return 0
  for_each_encoder measure_variants
  for_each_encoder measure_tenths
}

measure_variants() { # ENCODER
  local variant
  for variant in "${VARIANTS[@]}"; do measure_variant "$1" "$variant"; done
}

measure_tenths() { for_each_tenth "$1" measure_tenth; } # ENCODER

# Call a command for every tenth of the calibration of an encoder of CURVES.
for_each_tenth() { # ENCODER COMMAND...
  local folder percent=0 folders
  is_among "$1" "${CURVES[@]}" && is_among calibrated "${VARIANTS[@]}" || return 0
  mapfile -t folders < <(compgen -G "$OUTPUT/calibrated/$1/encoder-[0-9]*" | sort -V)
  [[ ${#folders[@]} -gt 0 ]] || folders=("$OUTPUT/calibrated/$1/encoder-UPDATE")
  for folder in "${folders[@]}"; do
    percent=$((percent + 10))
    "${@:2}" "$1" "$percent" "$folder"
  done
}

measure_tenth() { # ENCODER PERCENT MODEL
  measure_embeddings "$(measures_of "$1" "calibrated-$2")" --model "$3" --encoder-name "$(tenth_title "$@")" "${CPU[@]}"
}

tenth_title() { echo "$1, $2% of the calibration"; } # ENCODER PERCENT

# A calibrated encoder ends with the layer that is read, and knows its prefix.
measure_variant() { # ENCODER VARIANT
  local LAYER=() PREFIX=()
  if [[ $2 != calibrated ]]; then
    set_layer "$1"
    set_prefix "$1"
  fi
  measure_embeddings "$(measures_of "$@")" --model "$(variant_of "$@")" "${LAYER[@]}" "${PREFIX[@]}" --encoder-name "$(title_of "$@")" "${CPU[@]}"
}

measure_embeddings() { # FOLDER OPTION...
  local ratings=("${STS_LANGUAGES[@]/%/.tsv}")
  [[ -z $TATOEBA ]] || retrieve "$1/tatoeba" --tatoeba "$TATOEBA" "${@:2}"
  [[ -z $STS17 ]] || measure "$1/sts/sts.json" python -m embeddings sts "${ratings[@]/#/$STS17/STS.}" --dataset "STS 2017" "${@:2}"
}

measures_of() { # ENCODER VARIANT
  echo "$OUTPUT/retrieval/$1-$2"
}

# --- fine-tuning ---------------------------------------------------------------------------------------------------

stage_finetune() {
  check_beginnings
  for_each_model_at_once finetune_everywhere
  for_each_finetuning compare_finetunings
}

compare_finetunings() { # FINETUNING
  local folders=()
  for_each_model add_searched "$1"
  write_search_table "$1" "${folders[@]}"
}

add_searched() { folders+=("$(dirname "$(finetuned_file "$2" "$3" "$1")")"); } # FINETUNING ENCODER SEED

# What the stages before make must be there before the first of these trainings, and not when its turn comes after days.
check_beginnings() {
  local encoder variant
  [[ -z $XNLI ]] || [[ $DRY_RUN == yes ]] || [[ -e $OUTPUT/xnli-manual/test.tsv ]] ||
    die "$OUTPUT/xnli-manual/test.tsv: no such file; run the stage prepare first"
  [[ -n $WIKIANN ]] || return 0
  for encoder in "${SYSTEM_IDS[@]}"; do
    for variant in "${VARIANTS[@]}"; do variant_of "$encoder" "$variant" > /dev/null; done
  done
}

finetune_everywhere() { # ENCODER SEED
  for_each_finetuning finetune "$@"
}

# Call `"$@" FINETUNING` for every fine-tuning of an encoder: for XNLI of the encoder as it is, for names of every variant.
for_each_finetuning() { # COMMAND...
  local variant
  if [[ -n $XNLI ]]; then
    "$@" xnli-en
    "$@" xnli-all
    "$@" "xnli-$GAP_SOURCE"
    "$@" "manual-$GAP_SOURCE"
  fi
  [[ -z $WIKIANN ]] || for variant in "${VARIANTS[@]}"; do "$@" "names-$variant"; done
}

finetune() { # ENCODER SEED FINETUNING
  local variant FILES OPTIONS
  variant=$(variant_for "$3")
  set_training_options "$1"
  "set_files_of_${3%%-*}" "${3#*-}"
  measure "$(finetuned_file "$@")" python -m embeddings finetune --model "$(beginning_of "$1" "$variant")" --encoder-name "$(title_of "$1" "$variant")" \
    --learning-rate "${RATE_OF[$1]}" --seed "$2" "${FILES[@]}" "${OPTIONS[@]}" "${DEVICE[@]}" "${EXTRA_OPTIONS[@]}" "${FORCED[@]}"
}

# What is published; XNLI Manual is made.
check_files() { # ENCODER SEED FINETUNING
  local word FILES
  [[ $3 != manual-* ]] || return 0
  "set_files_of_${3%%-*}" "${3#*-}"
  for word in "${FILES[@]}"; do [[ $word != *=* ]] || need_files "${word#*=}"; done
}

# The variant of the encoder that a fine-tuning begins with.
variant_for() { # FINETUNING
  if [[ $1 == names-* ]]; then echo "${1#names-}"; else echo "$ORIGINAL"; fi
}

# Fill FILES, the task, its files and its other options. The best checkpoint of XNLI is that of the best mean over all languages (A.2).
set_files_of_xnli() { # LANGUAGE_OF_TRAINING|all
  local language languages=("$1")
  [[ $1 != all ]] || languages=("${XNLI_LANGUAGES[@]}")
  FILES=(--task pairs --train)
  for language in "${languages[@]}"; do FILES+=("$language=$(xnli_train "$language")"); done
  add_held_out "$(xnli_held_out dev)" "$(xnli_held_out test)"
  FILES+=("${XNLI_OPTIONS[@]}")
}

set_files_of_manual() { # LANGUAGE_OF_TRAINING
  local folder=$OUTPUT/xnli-manual
  FILES=(--task pairs --dataset "XNLI Manual" --train "$1=$folder/train.tsv")
  add_held_out "$folder/valid.tsv" "$folder/test.tsv"
  FILES+=("${XNLI_OPTIONS[@]}" "${MANUAL_OPTIONS[@]}")
}

# Add to FILES those of validation and of the test, each with all languages of XNLI.
add_held_out() { # VALID TEST
  local language
  FILES+=(--valid)
  for language in "${XNLI_LANGUAGES[@]}"; do FILES+=("$language=$1"); done
  FILES+=(--test)
  for language in "${XNLI_LANGUAGES[@]}"; do FILES+=("$language=$2"); done
}

set_files_of_names() {
  local language
  FILES=(--task names --train "en=$WIKIANN/train-en.tsv" --valid "en=$WIKIANN/dev-en.tsv" --test)
  for language in "${NAME_LANGUAGES[@]}"; do FILES+=("$language=$WIKIANN/test-$language.tsv"); done
  FILES+=("${NAMES_OPTIONS[@]}")
}

finetuned_file() { echo "$OUTPUT/finetuned/$(model_name "$1" "$2")/$3/finetuning.json"; } # ENCODER SEED FINETUNING

# --- report --------------------------------------------------------------------------------------------------------

stage_report() {
  local encoder variant retrieval=()
  RESULTS=() TRANSFERS=() FROM_ENGLISH=() FROM_SOURCE=() CALIBRATED=() CALIBRATED_AS=() TENTHS=() SHARES=()
  for encoder in "${SYSTEM_IDS[@]}"; do
    for variant in "${VARIANTS[@]}"; do add_measures "$encoder" "$variant"; done
  done
  compare_tenths
  if [[ $DRY_RUN == yes || -d $OUTPUT/finetuned || ${#RESULTS[@]} == 0 ]]; then
    for_each_model add_finetuned
  else
    note "left out: fine-tuned encoders, for want of the stage finetune"
  fi
  if [[ ${#CALIBRATED[@]} -ge $CORRELATED ]]; then
    retrieval=(--retrieval "${CALIBRATED[@]}" --retrieved-as "${CALIBRATED_AS[@]}")
  elif [[ ${#CALIBRATED[@]} -gt 0 && ${#FROM_ENGLISH[@]} -gt 0 ]]; then
    note "left out: correlations of transfer with retrieval, for want of $CORRELATED encoders"
  fi
  transfer from-en "${FROM_ENGLISH[@]}" "${retrieval[@]}"
  transfer "from-$GAP_SOURCE" "${FROM_SOURCE[@]}"
  RESULTS+=("${TRANSFERS[@]}")
  write_report
}

# Transfer from a language, if anything learned from it (Tables 2 to 4 and 8).
transfer() { # NAME [RESULT... OPTION...]
  [[ -n $XNLI && $# -gt 1 && $2 != --* ]] || return 0
  run python -m eval probe transfer "${@:2}" --output "$OUTPUT/transfer/$1"
  TRANSFERS+=("$OUTPUT/transfer/$1/transfer.json")
}

add_tenth() { # ENCODER PERCENT MODEL
  local RETRIEVAL=()
  add_results retrieve measure_embeddings "$(measures_of "$1" "calibrated-$2")"
  TENTHS+=("${RETRIEVAL[@]}")
  SHARES+=("$(tenth_title "$@")"$'\t'"$2")
}

# Retrieval against the share of the calibration (Figure 2): a figure, and not a row of retrieval for each tenth.
compare_tenths() {
  local encoder file results=()
  for encoder in "${SYSTEM_IDS[@]}"; do for_each_tenth "$encoder" add_tenth; done
  [[ ${#TENTHS[@]} -gt 0 ]] || return 0
  for file in "${RESULTS[@]}"; do is_among "$file" "${TENTHS[@]}" || results+=("$file"); done
  RESULTS=("${results[@]}")
  [[ $DRY_RUN == yes ]] || printf '%s\n' "${SHARES[@]}" > "$OUTPUT/calibrated/shares.tsv"
  run python -m eval probe data-size "${TENTHS[@]}" --sizes "$OUTPUT/calibrated/shares.tsv" --unit "% of the calibration" --output "$OUTPUT/along-calibration"
  RESULTS+=("$OUTPUT/along-calibration/data-size.json")
}

add_measures() { # ENCODER VARIANT
  local RETRIEVAL=()
  add_results retrieve measure_embeddings "$(measures_of "$@")"
  [[ $2 == calibrated && -n $TATOEBA ]] || return 0
  CALIBRATED+=("${RETRIEVAL[@]}")
  CALIBRATED_AS+=("$1=$(title_of "$@")")
}

add_finetuned() { for_each_finetuning add_result "$@"; } # ENCODER SEED

add_result() { # ENCODER SEED FINETUNING
  local file
  file=$(finetuned_file "$@")
  needs_result "$file" finetune
  RESULTS+=("$file")
  case $3 in
    xnli-en | xnli-all) FROM_ENGLISH+=("$file") ;;
    xnli-* | manual-*) FROM_SOURCE+=("$file") ;;
  esac
}

# Of --finished-only: encoders and seeds of which everything has been measured.
list_finished() { for_each_model model_name; }

has_what_is_read() { are_measured measure_all "$@"; } # ENCODER SEED

measure_all() { # ENCODER SEED
  local variant
  for_each_finetuning finetune "$@"
  for variant in "${VARIANTS[@]}"; do measure_embeddings "$(measures_of "$1" "$variant")"; done
}

experiment "$@"
