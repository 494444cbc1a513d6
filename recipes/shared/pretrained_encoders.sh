# shellcheck shell=bash disable=SC2034
# What recipes share that train a pre-trained encoder on one pair of languages, or a few: the encoder as it is, layer by layer, and
# its comparison with the trained ones. Sourced after sentence_encoders.sh.

ENCODER='' COMPARED_FOLDERS=()
PRETRAINED=''        # the folder with encoders that the recipe makes, if it makes them
LAYERS=()            # that are measured without training; DEPTH:LAYER, of encoders of so many layers
START_LAYER=last     # of the encoder that is trained: what the systems are compared with, measured beside LAYERS
SINGLE_PAIRS=()      # one system each
SEVERAL=()           # names of systems that are trained on several pairs
declare -A PAIRS_OF

# A system that is trained on several pairs.
several() { # NAME PAIR...
  SEVERAL+=("$1")
  PAIRS_OF[$1]=$(joined "${@:2}")
}

check_encoders() {
  local folder given twice asked=()
  [[ -n $ENCODER ]] || die "--encoder: expected a folder of transformers; \`python -m embeddings pretrain\` makes one"
  [[ -z $COMPARED ]] || split_list --compared "$COMPARED" asked
  for given in "${asked[@]}"; do # NAME=FOLDER is measured as it is, not by layers
    if [[ $given == *=* ]]; then COMPARED_ENCODERS+=("$given"); else COMPARED_FOLDERS+=("$given"); fi
  done
  check_compared_encoders
  if [[ -z $PRETRAINED ]]; then
    check_folders ENCODER
    for folder in "${COMPARED_FOLDERS[@]}"; do [[ $DRY_RUN == yes || -d $folder ]] || die "--compared: $folder: no such folder"; done
  fi
  twice=$(basename -a "$ENCODER" "${COMPARED_FOLDERS[@]}" | sort | uniq -d | head -n 1)
  [[ -z $twice ]] || die "--compared: two encoders are called $twice, as their results would be; rename a folder, or link it"
  if has_stage untrained || has_stage evaluate || has_stage report; then
    [[ -n $TATOEBA$FLORES$BUCC$NEW_TATOEBA || ${#MULTIWAY[@]} -gt 0 ]] || die "--tatoeba: $NAME has no test set of its own; give --tatoeba, --flores or --bucc"
    [[ -n $PRETRAINED ]] || for_each_layer : # each of them is there
  fi
}

# Fill MEASURED, a line "LAYER FOLDER" per layer of an encoder that is measured as it is, and START, the layer of the trained one.
set_layers() {
  local lines
  lines=$(python -m embeddings layers "$ENCODER" "${COMPARED_FOLDERS[@]}" --layers "${LAYERS[@]}" --trained "$START_LAYER") || exit 2
  START=${lines%%$'\n'*}
  mapfile -t MEASURED <<< "${lines#*$'\n'}"
}

# Call `"$@" FOLDER LAYER` for every layer of every encoder.
for_each_layer() { # COMMAND...
  local line
  set_layers
  for line in "${MEASURED[@]}"; do "$@" "${line#* }" "${line%% *}"; done
}

# The vector of a sentence is the mean of a layer's states; cosine does not tell it from their sum. A folder of
# sentence-transformers is read as one of transformers.
untrained() { # FOLDER LAYER
  retrieve_everywhere "$(untrained_folder "$@")" --model "$1" --encoder transformers --layer "$2" \
    --encoder-name "${1##*/} layer $2" "${DEVICE[@]}"
}

untrained_folder() { echo "$OUTPUT/untrained/${1##*/}-layer-$2"; } # FOLDER LAYER

pairs_of() { value_in --pairs "$1"; } # SYSTEM, that it is trained on

# Every system with the encoder that it began with, if that was measured, and the first system with every other: one family.
compare_trained() {
  local start pairs=() system
  set_layers
  start=$START
  add_untrained "$ENCODER" "$start"
  RESULTS=() # the start comes with all untrained ones, where the report shows it
  [[ ${#RETRIEVAL[@]} -gt 0 ]] || start=''
  for_each_model add_evaluated
  [[ ${#RETRIEVAL[@]} -gt 0 ]] || return 0 # of BUCC alone
  [[ -z $start ]] || for system in "${SYSTEM_IDS[@]:1}"; do pairs+=("${SYSTEM_IDS[0]}:$system"); done
  [[ ${#pairs[@]} == 0 ]] || pairs=(--pairs "${pairs[@]}")
  [[ -z $start && ${#SYSTEM_IDS[@]} -lt 2 ]] ||
    compare_retrieval comparison --against-first --metric "$SHOWN_SIMILARITY" "${pairs[@]}"
}

# Layers that nobody measured are no loss to the report.
add_untrained() { # FOLDER LAYER
  local folder
  folder=$(untrained_folder "$@")
  [[ $DRY_RUN != yes && ! -d $folder ]] || add_results untrained retrieve_everywhere "$folder"
}
