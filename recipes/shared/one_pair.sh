# shellcheck shell=bash disable=SC2034
# What recipes share that take a pre-trained encoder and train it on one pair of languages, or a few: the encoder as it is, layer by
# layer, the training, and the measures. Sourced after sentence_encoders.sh.

ENCODER='' COMPARED=''
SEEDS=1
ALL_STAGES="prepare untrained train evaluate report"
REQUIRED_SETTINGS=(BATCH_PAIRS BUDGET LAYERS)
ARCHITECTURE=sentence_encoder
DROPOUT=0.1 # of what is not the encoder's: nothing, it has its own
MAX_WORDS=256
LAYERS=()            # that are measured without training; DEPTH:LAYER, of encoders of so many layers
START_LAYER=last     # of the encoder that is trained: what the systems are compared with, measured beside LAYERS
COMPARED_MEASURES=() # FIRST:SECOND, by which the untrained encoders are compared with themselves
OPTIMIZER_OPTIONS=() # of fairseq-train, with what else all systems have
COMPARED_FOLDERS=()
PRETRAINING_OPTIONS=() # of `embeddings pretrain`, if the recipe makes its encoder, in a stage pretrain
PRETRAINED=''          # the folder that this leaves
LAYER_SUMS=no          # are the layers of the frozen encoder stored, and trained on?
SINGLE_PAIRS=() # one system each
SEVERAL=()      # names of systems that are trained on several pairs
declare -A PAIRS_OF

# A system that is trained on several pairs.
several() { # NAME PAIR...
  SEVERAL+=("$1")
  PAIRS_OF[$1]=$(IFS=, && echo "${*:2}")
}

usage_of_pretrained() {
  cat << END
  --encoder FOLDER    the pre-trained encoder, a folder of transformers: XLM-R, or one of \`embeddings pretrain\`
  --compared LIST     folders of further encoders, which are measured without training, too
$(usage_of_test_sets)
  --new-tatoeba DIR   output of \`data_prep new-tatoeba\`: measured in evaluate, kept out of the training text by prepare
END
}

check_recipe() {
  local folder twice
  check_test_sets
  use_own_encoder
  if [[ -n $PRETRAINED ]] && { has_stage untrained || has_stage evaluate; }; then
    warn_of_late_test_sets pretrain "$OUTPUT/monolingual/clean.json"
  fi
  [[ -n $ENCODER ]] || die "--encoder: expected a folder of transformers; \`python -m embeddings pretrain\` makes one"
  [[ -n $PRETRAINED ]] || check_folders ENCODER
  [[ -z $COMPARED ]] || split_list --compared "$COMPARED" COMPARED_FOLDERS
  for folder in "${COMPARED_FOLDERS[@]}"; do
    [[ $DRY_RUN == yes || -n $PRETRAINED || -d $folder ]] || die "--compared: $folder: no such folder"
  done
  twice=$(basename -a "$ENCODER" "${COMPARED_FOLDERS[@]}" | sort | uniq -d | head -n 1)
  [[ -z $twice ]] || die "--compared: two encoders are called $twice, as their results would be; rename a folder, or link it"
  if has_stage untrained || has_stage evaluate || has_stage report; then
    [[ -n $TATOEBA$FLORES$BUCC$NEW_TATOEBA || ${#MULTIWAY[@]} -gt 0 ]] || die "--tatoeba: $NAME has no test set of its own; give --tatoeba, --flores or --bucc"
    [[ -n $PRETRAINED ]] || for_each_layer : # each of them is known
  fi
}

# --- stages --------------------------------------------------------------------------------------------------------

# Without --encoder: the last checkpoint of the recipe's own pre-training, and the first and a middle one to compare with.
use_own_encoder() {
  [[ -z $ENCODER && ${#PRETRAINING_OPTIONS[@]} -gt 0 ]] || return 0
  local mlm=$OUTPUT/mlm updates earlier
  read -ra updates <<< "$PRETRAINING_UPDATES"
  PRETRAINED=$mlm ENCODER=$mlm/update-${updates[-1]}
  for earlier in "${updates[@]::${#updates[@]}-1}"; do
    [[ -n $COMPARED ]] || COMPARED_FOLDERS+=("$mlm/update-$earlier")
  done
  SUBWORD_OPTIONS=(--tokenizer "$ENCODER")
  [[ -n $DATA_ROOT ]] || die "--data-root: expected the folder of the corpus"
  has_stage pretrain || [[ $DRY_RUN == yes || -d $ENCODER ]] || die "$ENCODER: no such folder; run the stage pretrain first"
}

# A masked language model of the corpus's languages, each by itself, without sentences of test sets.
stage_pretrain() {
  local language codes table=$OUTPUT/table text=$OUTPUT/monolingual options=("${PRETRAINING_OPTIONS[@]}")
  [[ -n $PRETRAINED ]] || return 0
  [[ $LAUNCHER != cpu ]] || options+=(--cpu)
  codes=$(IFS=, && echo "${LANGUAGES[*]}")
  if ! leaves_nothing; then
    mkdir -p "$table"
    for language in "${LANGUAGES[@]}"; do
      link_text "$DATA_ROOT/train.$language" "$table/train.$language"
      link_text "$DATA_ROOT/multiway/valid.$language" "$table/valid.$language"
    done
  fi
  test_texts
  run python -m data_prep clean --input "$table" --output "$text" --exclude-text "$DATA_ROOT"/multiway/test.* "${TEST_TEXTS[@]}"
  run python -m embeddings pretrain --text "$text" --languages "$codes" "${options[@]}" --output "$PRETRAINED" "${ANEW[@]}"
}

# A text under another name, which ends as its own does if it is compressed.
link_text() { # FILE LINK
  local ending
  for ending in '' .gz .xz; do
    [[ -f $1$ending ]] || continue
    rm -f "$2" "$2".*
    ln -s "$(realpath "$1$ending")" "$2$ending"
    return
  done
  [[ $DRY_RUN == yes ]] || die "$1: no such file, compressed or not"
}

stage_prepare() { prepare_without_test_sets; }

stage_untrained() { for_each_layer untrained; }

# Call `"$@" FOLDER LAYER` for every layer of every encoder.
for_each_layer() { # COMMAND...
  local folder layer layers=()
  for folder in "$ENCODER" "${COMPARED_FOLDERS[@]}"; do
    layers_of "$folder"
    for layer in "${layers[@]}"; do "$@" "$folder" "$layer"; done
  done
}

# Fill layers: those of LAYERS that are meant for an encoder.
layers_of() { # FOLDER
  local layer depth
  layers=()
  for layer in "${LAYERS[@]}"; do
    if [[ $layer == *:* ]]; then
      [[ -n ${depth-} ]] || find_depth "$1"
      [[ $layer != "$depth":* && $depth != unknown ]] || layers+=("${layer#*:}")
    else
      layers+=("$layer")
    fi
  done
  [[ ${#layers[@]} -gt 0 ]] || die "$1: has $depth layers; expected, in the configuration, $depth:LAYER among LAYERS (${LAYERS[*]})"
  add_start_layer "$1"
}

# Add START_LAYER to layers, of the encoder that is trained.
add_start_layer() { # FOLDER
  local start
  [[ $1 == "$ENCODER" ]] || return 0
  start=$(start_layer)
  [[ -z $start ]] || is_among "$start" "${layers[@]}" || layers+=("$start")
}

# START_LAYER, the last one by its number: if that is not known, in a dry run that of LAYERS, else nothing.
start_layer() {
  local depth numbered
  if [[ $START_LAYER != last ]]; then
    echo "$START_LAYER"
    return
  fi
  read_depth "$ENCODER"
  numbered=("${LAYERS[@]%%:*}")
  [[ $depth != unknown || $DRY_RUN != yes ]] || depth=$(printf '%s\n' "${numbered[@]}" | grep -x '[0-9]*' | sort -n | tail -n 1)
  [[ $depth == unknown ]] || echo "$depth"
}

# Fill depth: the layers of an encoder; a dry run need not know them, and shows those of any.
find_depth() { # FOLDER
  read_depth "$1"
  [[ $DRY_RUN == yes || $depth != unknown ]] || die "$1/config.json: no num_hidden_layers; expected a folder of transformers"
}

read_depth() { # FOLDER
  depth=unknown
  [[ ! -f $1/config.json ]] || depth=$(grep -oPm 1 '"(num_hidden_layers|n_layers)": *\K[0-9]+' "$1/config.json" || echo unknown)
}

# The vector of a sentence is the mean of a layer's states; cosine does not tell it from their sum.
untrained() { # FOLDER LAYER
  local encoder=(--model "$1" --layer "$2" --encoder-name "$(basename "$1") layer $2")
  [[ $LAUNCHER != cpu ]] || encoder+=(--cpu)
  retrieve_everywhere "$(untrained_folder "$@")" "${encoder[@]}"
}

untrained_folder() { # FOLDER LAYER
  echo "$OUTPUT/untrained/$(basename "$1")-layer-$2"
}

stage_train() {
  if [[ $PLAN == yes && $LAYER_SUMS == yes ]] && ! any_file "$DATA"/train.*.frozen.layers; then
    note "no sums of layers are stored yet: the plan is of trainings that encode every batch, and too long"
  elif [[ $LAYER_SUMS == yes ]]; then
    store_layer_sums
  fi
  train_systems
}

# The frozen encoder reads every sentence once, for all systems that are trained on its pair.
store_layer_sums() {
  local system pairs encoder=(--model "$ENCODER")
  [[ $LAUNCHER != cpu ]] || encoder+=(--cpu)
  pairs=$(for system in "${SYSTEM_IDS[@]}"; do pairs_of "$system" | tr , '\n'; done | sort -u | paste -sd,)
  [[ $PLAN == yes ]] ||
    run python -m embeddings encode --data "$DATA" --pairs "$pairs" --layer-sums --name frozen --max-tokens "$MAX_LENGTH" "${encoder[@]}" "${ANEW[@]}"
  OPTIMIZER_OPTIONS+=(--layer-sums frozen)
}

pairs_of() { # SYSTEM: those that it is trained on, as given last
  grep -oP -- '--pairs \K\S+' <<< "${TRAINING_OPTIONS[$1]}" | tail -1
}

train_system() { # SYSTEM SEED
  local options
  read -ra options <<< "${TRAINING_OPTIONS[$1]}"
  train_on_data "$OUTPUT/models/$(model_name "$@")" "$2" --task sentence_embedding --arch "$ARCHITECTURE" \
    --pretrained-encoder "$ENCODER" --criterion weighted_losses "${OPTIMIZER_OPTIONS[@]}" --lr-scheduler fixed \
    --batch-size "$BATCH_PAIRS" --max-epoch "$EPOCHS" --eval-retrieval --best-checkpoint-metric retrieval \
    --maximize-best-checkpoint-metric "${options[@]}"
}

stage_evaluate() { for_each_model_at_once evaluate; }

stage_report() {
  RESULTS=() RETRIEVAL=()
  compare_trained
  compare_untrained
  compare_sizes
  run python -m eval report "${RESULTS[@]}" --output "$OUTPUT/report" --title "$TITLE: $NAME" --similarity "$SHOWN_SIMILARITY" --direction "$DIRECTION"
  [[ $DRY_RUN == yes ]] || note "report: $OUTPUT/report/report.html"
}

# Every system with the encoder that it began with, if that was measured, and the first system with every other: one family.
compare_trained() {
  local trained=() pairs=() start system
  start=$(start_layer)
  [[ -z $start ]] || add_untrained "$ENCODER" "$start"
  RESULTS=() # the start comes with all untrained ones, where the report shows it
  [[ ${#RETRIEVAL[@]} -gt 0 ]] || start=''
  for_each_model add_trained
  [[ ${#RETRIEVAL[@]} -gt 0 ]] || return 0 # of BUCC alone
  [[ -z $start ]] || for system in "${trained[@]:1}"; do pairs+=("${trained[0]}:$system"); done
  [[ ${#pairs[@]} == 0 ]] || pairs=(--pairs "${pairs[@]}")
  [[ -z $start && ${#trained[@]} -lt 2 ]] ||
    compare_retrieval comparison --against-first --metric "$SHOWN_SIMILARITY" "${pairs[@]}"
}

add_trained() { # SYSTEM SEED
  add_retrieval "$@"
  is_among "$1" "${trained[@]}" || trained+=("$1")
}

# Every layer of every encoder by COMPARED_MEASURES.
compare_untrained() {
  RETRIEVAL=()
  for_each_layer add_untrained
  [[ ${#RETRIEVAL[@]} == 0 || ${#COMPARED_MEASURES[@]} == 0 ]] ||
    compare_retrieval comparison-of-measures --measures "${COMPARED_MEASURES[@]}"
}

compare_sizes() { :; } # what a recipe plots besides

# Layers that nobody measured are no loss to the report.
add_untrained() { # FOLDER LAYER
  local folder
  folder=$(untrained_folder "$@")
  [[ $DRY_RUN != yes && ! -d $folder ]] || add_encoder_results "$folder"
}
