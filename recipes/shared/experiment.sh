# shellcheck shell=bash disable=SC2034
# An experiment: a configuration, a table of systems, and stages from text to report. Sourced by a run.sh, which defines its
# stages as functions `stage_NAME`, and may define again what it does differently. `experiment` at its end reads the command
# line and runs the stages.

# shellcheck source=recipes/shared/environment.sh
source "$(dirname "$0")/../shared/environment.sh"

HERE=$(cd "$(dirname "$0")" && pwd) # the recipe's folder
ROOT=$(cd "$HERE/../.." && pwd)
# shellcheck source=recipes/shared/command_line.sh
source "$ROOT/recipes/shared/command_line.sh"
# shellcheck source=recipes/shared/jobs.sh
source "$ROOT/recipes/shared/jobs.sh"
# shellcheck source=recipes/shared/launching.sh
source "$ROOT/recipes/shared/launching.sh"

# --- settings of the command line, then of a configuration; run.sh and configs/ overwrite them ---------------------

CONFIG='' SYSTEMS='' STAGES='' SEARCH='' DATA_ROOT='' OUTPUT='' FINISHED_ONLY=no PLAN=''
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
MAX_WORDS=''        # of a training line, where that is not the length in tokens
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
TRAINING_PAIRS=''  # sentence pairs of the training text, by which --plan knows how long an epoch is before there is text

# --- the driver ----------------------------------------------------------------------------------------------------

# Read the command line and the configuration, check both, and run the stages in their order.
experiment() { # ARGUMENT...
  read_options "$@"
  use_environment
  [[ -z $PLAN ]] || DRY_RUN=yes
  load_config "${REQUIRED_SETTINGS[@]}"
  OUTPUT=${OUTPUT:-outputs/$RECIPE/$NAME}
  DATA=$OUTPUT/data/$NAME # the folder's name becomes the name of the test set in tables
  # shellcheck disable=SC2153  # of the configuration
  PAIRS=$(english_centric "${LANGUAGES[@]}")
  load_systems
  SYSTEMS=${SYSTEMS:-$(joined "${DEFAULT_SYSTEMS[@]}")}
  [[ $SYSTEMS != all ]] || SYSTEMS=$(joined "${ALL_SYSTEMS[@]}")
  [[ -z $SEARCH ]] || add_grid
  check_lists
  check_folders DATA_ROOT
  check_output
  check_comet
  check_recipe
  [[ -n $PLAN ]] || check_corpus
  note_overruled
  check_launcher
  choose_finished
  FOLDERS=() # of translations
  for_each_model add_folder
  if [[ -n $PLAN ]]; then
    run_stages | plan_trainings
  elif [[ $DRY_RUN == yes ]]; then
    run_stages | python -m fairseq_ext dry-run
  else
    run_stages
  fi
}

plan_trainings() { python -m fairseq_ext plan --flops "$PLAN" ${TRAINING_PAIRS:+--sentence-pairs "$TRAINING_PAIRS"}; }

run_stages() {
  local stage
  [[ $DRY_RUN != yes ]] || { exec 3>&1 && NOTE='#'; }
  for stage in "${STAGE_LIST[@]}"; do
    note "$stage: $NAME"
    "stage_$stage"
  done
}

# Read the configuration that --config names, one of configs/ or a file, and set CONFIG_FILE and NAME.
load_config() { # FURTHER_SETTING...
  local name choices
  choices="expected one of $(basename -as .sh "$HERE"/configs/*.sh | paste -sd,), or a file"
  [[ -n $CONFIG ]] || die "--config: $choices"
  CONFIG_FILE=$HERE/configs/$CONFIG.sh
  [[ -f $CONFIG_FILE ]] || CONFIG_FILE=$CONFIG
  [[ $CONFIG_FILE == */* ]] || CONFIG_FILE=./$CONFIG_FILE # bash would look for it on the PATH first
  [[ -f $CONFIG_FILE ]] || die "--config: found '$CONFIG', $choices"
  NAME=${CONFIG_FILE##*/} NAME=${NAME%.sh}
  # shellcheck disable=SC1090
  source "$CONFIG_FILE"
  [[ ${#SUBWORD_OPTIONS[@]} -gt 0 || -z ${MERGES:-} ]] || SUBWORD_OPTIONS=(--merges "$MERGES")
  for name in $CONFIGURED "$@"; do
    [[ -n ${!name:-} || $name == MERGES && ${#SUBWORD_OPTIONS[@]} -gt 0 ]] || die "$CONFIG_FILE: $name is not set"
  done
  SAVING=(--no-epoch-checkpoints)
  [[ $SAVE_UPDATES == 0 ]] || SAVING+=(--save-interval-updates "$SAVE_UPDATES" --keep-interval-updates "$KEEP_UPDATES")
}

# Split the lists of the command line into SYSTEM_IDS, SEED_LIST and STAGE_LIST, and check their items.
check_lists() {
  local item stages=$ALL_STAGES option=--stages ordered=()
  [[ $FINISHED_ONLY != yes ]] || stages=${ALL_STAGES##*"${TRAINING_STAGES##* } "} option="--stages, with --finished-only"
  STAGES=${STAGES:-${stages// /,}}
  split_list --systems "$SYSTEMS" SYSTEM_IDS
  split_list --seeds "$SEEDS" SEED_LIST
  split_list --stages "$STAGES" STAGE_LIST
  for item in "${SYSTEM_IDS[@]}"; do one_of --systems "$item" "${ALL_SYSTEMS[@]}"; done
  for item in "${SEED_LIST[@]}"; do positive --seeds "$item"; done
  # shellcheck disable=SC2086  # a list of words
  for item in "${STAGE_LIST[@]}"; do one_of "$option" "$item" $stages; done
  # in their order
  for item in $ALL_STAGES; do ! has_stage "$item" || ordered+=("$item"); done
  STAGE_LIST=("${ordered[@]}")
}

note_report() { [[ $DRY_RUN == yes ]] || note "report: $1/report/report.html"; } # OUTPUT

has_stage() { is_among "$1" "${STAGE_LIST[@]}"; }

leave_out_stage() { # STAGE
  local place
  for place in "${!STAGE_LIST[@]}"; do [[ ${STAGE_LIST[place]} != "$1" ]] || unset "STAGE_LIST[place]"; done
}

check_recipe() { :; } # what a recipe has to check besides
check_comet() { :; }  # of recipes that translate

# Text of one's own lies in a folder, and what is made here in none.
check_corpus() {
  [[ $DATA != *:* ]] || die "$DATA: has a colon, which separates folders in options; rename it, or the configuration that it is called after"
  has_stage prepare || return 0
  [[ $CORPUS != text || -n $DATA_ROOT || $DATA != "$OUTPUT/data/$NAME" ]] ||
    die "--config $CONFIG: give your text with --data-root, README.md says which"
  [[ $CORPUS != phrasebook || -z $DATA_ROOT ]] ||
    die "--data-root $DATA_ROOT: the text of --config $CONFIG is made by the recipe; expected none"
}

# English to and from every other language: the supervised directions of the papers.
english_centric() { # LANGUAGE...
  local language pairs=()
  for language in "$@"; do [[ $language == en ]] || pairs+=("en-$language" "$language-en"); done
  joined "${pairs[@]}"
}

# Make or download the text of the corpus, and set RAW, its folder. CORPUS=text are the user's own SPLIT.A-B.LANG files.
fetch_text() {
  local source=(${DATA_ROOT:+--from-folder "$DATA_ROOT"})
  RAW=$OUTPUT/raw
  case $CORPUS in
    text) RAW=$DATA_ROOT ;;
    phrasebook) run python -m data_prep phrasebook --langs "$(joined "${LANGUAGES[@]}")" "${CORPUS_OPTIONS[@]}" --output "$RAW" ;;
    *) run python -m data_prep download "$CORPUS" --langs "$(joined "${LANGUAGES[@]}")" "${source[@]}" "${CORPUS_OPTIONS[@]}" --output "$RAW" ;;
  esac
}

# --- the table of systems, `systems.sh` beside run.sh: a line each --------------------------------------------------
#
#   system    ID MODEL NAME OPTION...   a system that is trained by default, and its training options
#   variant   ID MODEL NAME OPTION...   one that --systems has to name
#   evaluated ID OPTION...              the options of translate of a system
#
# MODEL is the system whose model this one uses, if it has no training of its own. NAME is the name in tables; without one,
# eval makes one from the model's options.

declare -A TRAINED_AS TABLE_NAME
declare -A TRAINING EVALUATION # options, quoted as bash reads them

load_systems() {
  ALL_SYSTEMS=() DEFAULT_SYSTEMS=()
  # shellcheck disable=SC1091
  source "$HERE/systems.sh"
}

system() { # ID MODEL NAME OPTION...
  DEFAULT_SYSTEMS+=("$1")
  variant "$@"
}

variant() { # ID MODEL NAME OPTION...
  local options=("${@:4}")
  ALL_SYSTEMS+=("$1")
  TRAINED_AS[$1]=${2:-$1} TABLE_NAME[$1]=$3 TRAINING[$1]=${options[*]@Q} EVALUATION[$1]=''
}

evaluated() { # ID OPTION...
  local options=("${@:2}")
  EVALUATION[$1]=${options[*]@Q}
}

# --search: in place of every system that is asked for, one for each point of a grid of options of fairseq-train. SYSTEM with
# --lr 1e-4 --dropout 0.1 is called SYSTEM~lr~1e-4~dropout~0.1.
add_grid() {
  local dimensions dimension asked system systems=()
  IFS=: read -ra dimensions <<< "$SEARCH"
  for dimension in "${dimensions[@]}"; do
    [[ $dimension =~ ^[a-z][a-z0-9-]*=[^/~[:space:]]+$ ]] || die "--search: found '$dimension', expected OPTION=VALUE,VALUE, without -- and blanks, and separated by colons"
  done
  split_list --systems "$SYSTEMS" asked
  for system in "${asked[@]}"; do
    one_of --systems "$system" "${ALL_SYSTEMS[@]}"
    add_points "$system" "${dimensions[@]}"
  done
  SYSTEMS=$(joined "${systems[@]}")
}

# Add to `systems` those that a system becomes with every value of each option.
add_points() { # SYSTEM OPTION=VALUE,...
  [[ $# -gt 1 ]] || { systems+=("$1") && return; }
  local option=${2%%=*} values value point OPTIONS
  split_list --search "${2#*=}" values
  for value in "${values[@]}"; do
    set_training_options "$1"
    point=$1~$option~$value
    variant "$point" '' "${TABLE_NAME[$1]:-$1}, $option $value" "${OPTIONS[@]}" "--$option" "$value"
    EVALUATION[$point]=${EVALUATION[$1]}
    add_points "$point" "${@:3}"
  done
}

# The table of the points: what --search found in validation.
compare_points() {
  local folders=()
  [[ -n $SEARCH && ${#SYSTEM_IDS[@]} -gt 0 ]] || return 0
  for_each_model add_searched
  run python -m fairseq_ext search-table "${folders[@]}" --output "$OUTPUT/search"
}

add_searched() { folders+=("$OUTPUT/models/$(model_name "$@")"); } # SYSTEM SEED

# Fill OPTIONS, those of the training of a system, or of its evaluation.
set_training_options() { eval "OPTIONS=(${TRAINING[$1]})"; }   # SYSTEM
set_evaluation_options() { eval "OPTIONS=(${EVALUATION[$1]})"; } # SYSTEM

# The default systems, for --help.
list_systems() {
  load_systems
  joined "${DEFAULT_SYSTEMS[@]}"
}

# A line: the value of an option of the training of a system, empty if it does not have it.
value_in() { # OPTION SYSTEM
  local OPTIONS
  set_training_options "$2"
  last_value "$1" "${OPTIONS[@]}"
}

# What follows -- also wins over the options in which systems differ, whose names stay.
note_overruled() {
  local option system values
  for option in "${EXTRA_OPTIONS[@]%%=*}"; do
    [[ $option == --* ]] || continue
    values=$(for system in "${SYSTEM_IDS[@]}"; do value_in "$option" "${TRAINED_AS[$system]}"; done | sort -u)
    [[ $values != *$'\n'* ]] || note "$option: systems differ in it, and what follows -- is for all of them: they are no longer what their names say"
  done
}

# --- models: one per system and seed -------------------------------------------------------------------------------

# Call `"$@" SYSTEM SEED` for every system and seed, or for those that --finished-only leaves.
for_each_model() { # COMMAND...
  local lines line number=0
  mapfile -t lines < <(list_models)
  for line in "${lines[@]}"; do
    PLACE="$((++number)) of ${#lines[@]}"
    [[ $FINISHED_ONLY != yes || -n ${FINISHED[$line]:-} ]] || continue
    # shellcheck disable=SC2086  # names and numbers
    "$@" $line
  done
  PLACE=''
}

# The same, --jobs at a time: what the command sets is lost where it is a job.
for_each_model_at_once() { # COMMAND
  for_each_model start_named "$1"
  finish_jobs models
}

start_named() { start_job "$(model_name "${@:2}")" "$@"; } # COMMAND SYSTEM SEED

# Call `COMMAND SYSTEM SEED`, --jobs at a time, for every model once, whatever number of systems uses it; all systems of a seed
# before the next seed. A system without options is a model as it is, which needs no training.
train_systems() { # COMMAND
  local system seed model number=0 models=()
  for seed in "${SEED_LIST[@]}"; do
    for system in "${SYSTEM_IDS[@]}"; do
      system=${TRAINED_AS[$system]} model="$system $seed"
      [[ -z ${TRAINING[$system]} ]] || is_among "$model" "${models[@]}" || models+=("$model")
    done
  done
  [[ $DRY_RUN == yes || ${#models[@]} == 0 ]] || need_data
  for model in "${models[@]}"; do
    PLACE="$((++number)) of ${#models[@]}"
    # shellcheck disable=SC2086  # a name and a number
    start_job '' "$1" $model
  done
  PLACE=''
  finish_jobs trainings
  compare_points
}

need_data() { [[ -d $DATA ]] || die "$DATA: no such folder; run the stage prepare first"; }

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

add_folder() { FOLDERS+=("$OUTPUT/translations/$(model_name "$@")"); } # SYSTEM SEED

# The checkpoint with the lowest validation loss of the model that a system uses.
checkpoint_of() { checkpoint_in "$OUTPUT/models/$(model_name "${TRAINED_AS[$1]}" "$2")" train; } # SYSTEM SEED

checkpoint_in() { # FOLDER STAGE_THAT_TRAINS_IT
  [[ $DRY_RUN == yes ]] || [[ -e $1/checkpoint_best.pt ]] || die "$1/checkpoint_best.pt: no such file; run the stage $2 first"
  [[ $DRY_RUN == yes ]] || has_ended "$1" ||
    die "$1: its training has not come to its end; run the stage $2 again, or give --finished-only"
  echo "$1/checkpoint_best.pt"
}

# Whether a training has come to its end, as far as its folder says.
has_ended() { # RUN_FOLDER
  [[ ! -e $1/training.json ]] || ! grep -q '"outputs": null' "$1/training.json"
}

# Whether something was measured after the model was made and after the sets that it is measured on were.
is_measured() { # RESULT CHECKPOINT
  [[ $1 -nt $2 && ! $DATA/preparation.json -nt $1 ]]
}

# --- --finished-only: evaluate what there is while other trainings go on, whatever number of seeds each system has by then

declare -A FINISHED # the models that are left, as list_models writes them

list_finished() { python -m fairseq_ext finished-trainings "$OUTPUT/models"; } # names of models, a line each

# Leave systems and seeds out that the stages asked for could not go on with.
choose_finished() {
  local lines line names systems=()
  [[ $FINISHED_ONLY == yes ]] || return 0
  names=$(list_finished) || exit 2
  mapfile -t names <<< "$names"
  mapfile -t lines < <(list_models)
  for line in "${lines[@]}"; do
    # shellcheck disable=SC2086  # names and numbers
    is_finished $line || continue
    FINISHED[$line]=yes
    is_among "${line%% *}" "${systems[@]}" || systems+=("${line%% *}")
  done
  [[ ${#systems[@]} -gt 0 ]] || die "--finished-only: $OUTPUT: no system and seed is there yet for --stages $STAGES"
  SYSTEM_IDS=("${systems[@]}")
  note "finished: ${#FINISHED[@]} of ${#lines[@]} systems and seeds"
}

is_finished() { is_among "$(model_name "${TRAINED_AS[$1]}" "${@:2}")" "${names[@]}" && has_what_is_read "$@"; } # SYSTEM SEED
