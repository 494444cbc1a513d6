# shellcheck shell=bash disable=SC2034
# An experiment: a configuration, a table of systems, and stages from text to report. Sourced by a run.sh, which may define
# again what it does differently, and defines the stages that are its own; `experiment` at its end reads the command line and
# runs the stages.

# shellcheck source=recipes/shared/environment.sh
source "$(dirname "$0")/../shared/environment.sh"

HERE=$(cd "$(dirname "$0")" && pwd) # the recipe's folder
ROOT=$(cd "$HERE/../.." && pwd)
for part in command_line launching training planning systems finished scoring; do
  # shellcheck disable=SC1090
  source "$ROOT/recipes/shared/$part.sh"
done

# --- settings of the command line, then of a configuration; run.sh and configs/ overwrite them ---------------------

CONFIG='' SYSTEM_LIST='' STAGES='' DATA_ROOT='' OUTPUT=''
SEEDS=1,10
ALL_STAGES="prepare train translate score probe report"
TRAINING_STAGES=train
CONFIGURED="CORPUS LANGUAGES MERGES ARCHITECTURE DROPOUT LEARNING_RATE EPOCHS BATCH_GPUS" # what a configuration sets
REQUIRED_SETTINGS=()                                                                         # besides

ARCHITECTURE='' DROPOUT='' LEARNING_RATE='' EPOCHS='' # every configuration sets these
# What the papers have in common for all corpora (7.3.2, 8.2.1).
WARMUP_UPDATES=4000
MAX_TOKENS=4096
MAX_LENGTH=256
MAX_WORDS='' # of a training line, where that is not the length in tokens
LABEL_SMOOTHING=0.1 # fairseq's usual value; the thesis gives one in chapter 4 alone
MODEL_OPTIONS=() BEAM=5
SEARCH_OPTIONS=() # of translate and of what the probes translate
CORPUS_OPTIONS=() # of phrasebook or download: sizes, ids
CLEAN_OPTIONS=()
TOKENIZER_OPTIONS=()
SUBWORD_OPTIONS=() # without them, byte pair encoding with MERGES merges
SCHEDULE_OPTIONS=(--lr-scheduler inverse_sqrt)
SAVE_UPDATES=0
KEEP_UPDATES=1 # checkpoints of SAVE_UPDATES that are kept; -1: all

# The options and flags of all experiments; a recipe adds its own, or sets these, with what it describes in its help, where it has fewer.
RECIPE_OPTIONS="config systems=SYSTEM_LIST seeds stages data-root output comet comet-python comet-batch-size launcher gpus nodes cpus-per-task jobs jobs-per-gpu precision"
RECIPE_FLAGS="force plan finished-only"

usage_of_experiment() {
  cat << END
  --seeds LIST        one training per system and seed (default: $SEEDS)
  --stages LIST       some of ${ALL_STAGES// /,} (default: all)
  --finished-only     leave systems and seeds out whose training has not finished, and train nothing
  --data-root DIR     local folder of the corpus, in place of a download
  --output DIR        folder for everything (default: outputs/$RECIPE/CONFIG)
$(usage_of_comet && usage_of_training)
  --force             retrain what is trained or was begun, also with other options or data, and make anew what it reads
                      (a pre-training, stored vectors); systems that read other ones then are refused until they are trained anew
  --plan              print what the trainings will take, from a pilot of half a minute of each; trains nothing
END
}

# The default systems, for --help.
list_systems() {
  load_systems "$HERE/systems.sh"
  paste -sd, <(printf '%s\n' "${DEFAULT_SYSTEMS[@]}")
}

# --- the driver ----------------------------------------------------------------------------------------------------

# Read the command line and the configuration, check both, and run the stages in their order.
experiment() { # OPTIONS FLAGS ARGUMENT...
  local stage
  read_options "$RECIPE_OPTIONS $1" "$RECIPE_FLAGS $2" "${@:3}"
  load_config "${REQUIRED_SETTINGS[@]}"
  OUTPUT=${OUTPUT:-outputs/$RECIPE/$NAME}
  DATA=$OUTPUT/data/$NAME # the folder's name becomes the name of the test set in tables
  # shellcheck disable=SC2153  # of the configuration
  PAIRS=$(english_centric "${LANGUAGES[@]}")
  load_systems "$HERE/systems.sh"
  [[ -n $SYSTEM_LIST ]] || SYSTEM_LIST=$(IFS=, && echo "${DEFAULT_SYSTEMS[*]}")
  [[ $SYSTEM_LIST != all ]] || SYSTEM_LIST=$(IFS=, && echo "${KNOWN_SYSTEMS[*]}")
  check_lists
  check_folders DATA_ROOT
  check_output
  check_comet
  check_recipe
  check_corpus
  note_overruled
  use_environment
  check_launcher
  choose_finished
  FOLDERS=()
  for_each_model add_folder
  for stage in $ALL_STAGES; do
    has_stage "$stage" || continue
    note "$stage: $NAME"
    "stage_$stage"
  done
  [[ $PLAN != yes ]] || show_plan
}

# Split the lists of the command line into SYSTEM_IDS, SEED_LIST and STAGE_LIST, and check their items.
check_lists() {
  local item possible=$ALL_STAGES option=--stages
  [[ $FINISHED_ONLY != yes ]] || possible=$(stages_after_training) option="--stages, with --finished-only"
  STAGES=${STAGES:-${possible// /,}}
  split_list --systems "$SYSTEM_LIST" SYSTEM_IDS
  split_list --seeds "$SEEDS" SEED_LIST
  split_list --stages "$STAGES" STAGE_LIST
  for item in "${SYSTEM_IDS[@]}"; do one_of --systems "$item" "${KNOWN_SYSTEMS[@]}"; done
  for item in "${SEED_LIST[@]}"; do positive --seeds "$item"; done
  # shellcheck disable=SC2086  # a list of words
  for item in "${STAGE_LIST[@]}"; do one_of "$option" "$item" $possible; done
  [[ $PLAN != yes ]] || plan_stages
}

check_recipe() { :; } # what a recipe has to check besides

# Text of one's own lies in a folder, and what is made here in none.
check_corpus() {
  [[ $DATA != *:* ]] || die "$DATA: has a colon, which separates folders in options; rename it, or the configuration that it is called after"
  has_stage prepare || return 0
  [[ $CORPUS != text || -n $DATA_ROOT || $DATA != "$OUTPUT/data/$NAME" ]] ||
    die "--config $CONFIG: give your text with --data-root, README.md says which"
  [[ $CORPUS != phrasebook || -z $DATA_ROOT ]] ||
    die "--data-root $DATA_ROOT: the text of --config $CONFIG is made by the recipe; expected none"
}

# What follows -- also wins over the options in which systems differ, whose names stay.
note_overruled() {
  local option system values
  for option in "${EXTRA_OPTIONS[@]}"; do
    option=${option%%=*}
    [[ $option =~ ^--[a-z0-9-]+$ ]] || continue
    values=$(for system in "${SYSTEM_IDS[@]}"; do given_last "$option" "${TRAINING_OPTIONS[${TRAINED_AS[$system]}]}"; done | sort -u)
    [[ $values != *$'\n'* ]] || note "$option: systems differ in it, and what follows -- is for all of them: they are no longer what their names say"
  done
}

# A line: the last value of an option among others, the option itself where it has none, nothing where it is not there.
given_last() { # OPTION OPTIONS
  local found
  found=$(grep -oP -- "(?<!\S)$1(?!\S)( +\K(?!--)\S+)?" <<< "$2" | tail -n 1) || true
  echo "$found"
}

has_stage() {
  is_among "$1" "${STAGE_LIST[@]}"
}

# Read the configuration that --config names, one of configs/ or a file, and set CONFIG_FILE and NAME.
load_config() { # FURTHER_SETTING...
  local name
  [[ -n $CONFIG ]] || die "--config: expected one of $(list_configs), or a file"
  CONFIG_FILE=$HERE/configs/$CONFIG.sh
  [[ -f $CONFIG_FILE ]] || CONFIG_FILE=$CONFIG
  [[ $CONFIG_FILE == */* ]] || CONFIG_FILE=./$CONFIG_FILE # bash would look for it on the PATH first
  [[ -f $CONFIG_FILE ]] || die "--config: found '$CONFIG', expected one of $(list_configs), or a file"
  NAME=${CONFIG_FILE##*/} NAME=${NAME%.sh}
  # shellcheck disable=SC1090
  source "$CONFIG_FILE"
  [[ ${#SUBWORD_OPTIONS[@]} -gt 0 || -z ${MERGES:-} ]] || SUBWORD_OPTIONS=(--merges "$MERGES")
  for name in $CONFIGURED "$@"; do
    [[ -n ${!name:-} || $name == MERGES && ${#SUBWORD_OPTIONS[@]} -gt 0 ]] || die "$CONFIG_FILE: $name is not set"
  done
}

list_configs() {
  basename -as .sh "$HERE"/configs/*.sh | paste -sd,
}

# English to and from every other language: the supervised directions of the papers.
english_centric() { # LANGUAGE...
  local pairs="" language
  for language in "$@"; do
    [[ $language == en ]] || pairs+=",en-$language,$language-en"
  done
  echo "${pairs#,}"
}

# --- models: one per system and seed -------------------------------------------------------------------------------

# Call `"$@" SYSTEM SEED` for every system and seed, or for those that --finished-only leaves.
for_each_model() { # COMMAND...
  local listed line model
  mapfile -t listed < <(list_models)
  for line in "${listed[@]}"; do
    [[ $FINISHED_ONLY != yes || -n ${FINISHED[$line]:-} ]] || continue
    read -ra model <<< "$line"
    "$@" "${model[@]}"
  done
}

# The same, --jobs at a time: what the command sets is lost where it is a job.
for_each_model_at_once() { # COMMAND
  for_each_model start_named "$1"
  finish_jobs models
}

start_named() { # COMMAND SYSTEM SEED
  start_job named "$(model_name "${@:2}")" "$@"
}

named() { # NAME COMMAND...
  JOB_NAME=$1
  "${@:2}"
}

# A line per system and seed.
list_models() {
  local system seed
  for system in "${SYSTEM_IDS[@]}"; do
    for seed in "${SEED_LIST[@]}"; do echo "$system $seed"; done
  done
}

model_name() { # SYSTEM SEED
  if [[ $1 == [0-9]* ]]; then echo "system$1-seed$2"; else echo "$1-seed$2"; fi
}

add_folder() { # SYSTEM SEED
  FOLDERS+=("$OUTPUT/translations/$(model_name "$@")")
}

# The checkpoint with the lowest validation loss of the model that a system uses.
checkpoint_of() { # SYSTEM SEED
  checkpoint_in "$OUTPUT/models/$(model_name "${TRAINED_AS[$1]}" "${@:2}")" train
}

checkpoint_in() { # FOLDER STAGE_THAT_TRAINS_IT
  leaves_nothing || [[ -e $1/checkpoint_best.pt ]] || die "$1/checkpoint_best.pt: no such file; run the stage $2 first"
  leaves_nothing || has_ended "$1" ||
    die "$1: its training has not come to its end; run the stage $2 again, or give --finished-only"
  echo "$1/checkpoint_best.pt"
}

# Whether a training has come to its end, as far as its folder says.
has_ended() { # RUN_FOLDER
  [[ ! -e $1/training.json ]] || ! grep -q '"outputs": null' "$1/training.json"
}

# --- stages --------------------------------------------------------------------------------------------------------

stage_prepare() {
  prepare
}

prepare() {
  prepare_text
  segment "$OUTPUT/text" "$OUTPUT" "$DATA" "${SUBWORD_OPTIONS[@]}"
}

# CORPUS=text are the user's own SPLIT.A-B.LANG files in --data-root; CORPUS=phrasebook is made.
prepare_text() {
  local source=() raw=$OUTPUT/raw languages
  languages=$(tr ' ' , <<< "${LANGUAGES[*]}")
  [[ -z $DATA_ROOT ]] || source=(--from-folder "$DATA_ROOT")
  if [[ $CORPUS == text ]]; then
    raw=$DATA_ROOT
  elif [[ $CORPUS == phrasebook ]]; then
    run python -m data_prep phrasebook --langs "$languages" "${CORPUS_OPTIONS[@]}" --output "$raw"
  else
    run python -m data_prep download "$CORPUS" --langs "$languages" "${source[@]}" "${CORPUS_OPTIONS[@]}" --output "$raw"
  fi
  run python -m data_prep clean --input "$raw" --output "$OUTPUT/text" --max-length "${MAX_WORDS:-$MAX_LENGTH}" "${CLEAN_OPTIONS[@]}"
}

# Tokenize, apply or learn subwords, binarize. Tokenizers of transformers read raw text.
segment() { # TEXT FOLDER DATA OPTION_OF_SUBWORD...
  local words=$1
  if ! is_among --tokenizer "${@:4}"; then
    words=$2/tokenized
    run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$1" --output "$words"
  fi
  run python -m data_prep subword "${@:4}" --input "$words" --output "$2/subword"
  run python -m data_prep binarize --input "$2/subword" --text "$1" --output "$3"
}

stage_train() {
  train_systems
}

# Every model once, whatever number of systems uses it; all systems of a seed before the next seed.
train_systems() {
  local system seed trained=" "
  need_data "$DATA"
  for seed in "${SEED_LIST[@]}"; do
    for system in "${SYSTEM_IDS[@]}"; do
      system=${TRAINED_AS[$system]}
      [[ $trained != *" $system/$seed "* ]] || continue
      trained+="$system/$seed "
      start_job train_system "$system" "$seed"
    done
  done
  finish_jobs
}

need_data() { # FOLDER
  leaves_nothing || [[ -d $1 ]] || die "$1: no such folder; run the stage prepare first"
}

train_system() { # SYSTEM SEED OPTION...
  local options
  read -ra options <<< "${TRAINING_OPTIONS[$1]}"
  train_translation "$OUTPUT/models/$(model_name "$1" "$2")" "$2" "${options[@]}" "${@:3}"
}

# Train on the pairs with English.
train_translation() { # FOLDER SEED OPTION...
  train_configured "$1" "$2" --task multilingual_nmt --lang-pairs "$PAIRS" "${@:3}"
}

# Train as the configuration says; options are the task's, the model's, with its dropout, the criterion's, and what a system has in
# place of the configuration's.
train_configured() { # FOLDER SEED OPTION...
  train_on_data "$1" "$2" --label-smoothing "$LABEL_SMOOTHING" --optimizer fused_adam --adam-betas "(0.9, 0.98)" \
    "${SCHEDULE_OPTIONS[@]}" --warmup-updates "$WARMUP_UPDATES" --max-tokens "$MAX_TOKENS" \
    --max-target-positions "$MAX_LENGTH" --skip-invalid-size-inputs-valid-test --max-epoch "$EPOCHS" "${@:3}"
}

# What all trainings on DATA have, whatever they learn.
train_on_data() { # FOLDER SEED OPTION...
  local interval=()
  [[ $SAVE_UPDATES == 0 ]] || interval=(--save-interval-updates "$SAVE_UPDATES" --keep-interval-updates "$KEEP_UPDATES")
  train "$1" "$DATA" --lr "$LEARNING_RATE" --batches-per-update "$BATCH_GPUS" --max-source-positions "$MAX_LENGTH" \
    --seed "$2" --no-epoch-checkpoints "${interval[@]}" --log-format simple --log-interval 100 "${@:3}" "${EXTRA_OPTIONS[@]}"
}

stage_translate() {
  for_each_model_at_once translate
}

translate() { # SYSTEM SEED
  set_evaluated "$@"
  run python -m eval translate "${EVALUATED[@]}" --output "$OUTPUT/translations/$(model_name "$@")"
}

# Whether something was measured after the model was made and after the sets that it is measured on were.
is_measured() { # RESULT CHECKPOINT
  [[ $1 -nt $2 && ! $DATA/preparation.json -nt $1 ]]
}

# Fill EVALUATED, the options that translation and probes share.
set_evaluated() { # SYSTEM SEED
  local checkpoint options
  checkpoint=$(checkpoint_of "$@")
  read -ra options <<< "${EVALUATION_OPTIONS[$1]}"
  EVALUATED=(--checkpoint "$checkpoint" --data "$DATA" --beam "$BEAM" "${SEARCH_OPTIONS[@]}" "${options[@]}")
  [[ -z ${TABLE_NAME[$1]} ]] || EVALUATED+=(--name "${TABLE_NAME[$1]}")
  [[ $LAUNCHER != cpu ]] || EVALUATED+=(--cpu)
}

stage_score() {
  score
}
