# shellcheck shell=bash
# Data of JASS and ENSS: samples of pairs for fine-tuning, monolingual text for pre-training, and its analysis. Sourced by run.sh.

TEXT= # folder of the text for pre-training, and its steps

# Samples are drawn from clean text, so that they have the sizes that they are called after.
stage_prepare() {
  local source=() raw=$DATA_ROOT options=("${SAMPLE_OPTIONS[@]}") clean=(--max-length "${MAX_WORDS:-$MAX_LENGTH}" "${CLEAN_OPTIONS[@]}") size
  if [[ $CORPUS != text ]]; then
    [[ -z $DATA_ROOT ]] || source=(--from-folder "$DATA_ROOT")
    raw=$OUTPUT/raw
    run python -m data_prep download "$CORPUS" "${CORPUS_OPTIONS[@]}" "${source[@]}" --output "$raw"
  fi
  [[ -z $MONOLINGUAL ]] || options+=(--monolingual "$MONOLINGUAL")
  run python -m data_prep clean --input "$raw" --output "$OUTPUT/text" "${clean[@]}"
  run python -m data_prep low-resource --input "$OUTPUT/text" --sizes "$SIZES" "${options[@]}" --output "$OUTPUT/samples"
  run python -m data_prep clean --input "$OUTPUT/samples/monolingual" --output "$TEXT/text" "${clean[@]}" \
    --also-exclude "$OUTPUT/text"
  segment "$TEXT/text" "$TEXT" "$OUTPUT/data/monolingual" "${SUBWORD_OPTIONS[@]}"
  for size in "${SIZE_IDS[@]}"; do prepare_size "$size"; done
}

# The pairs in the subwords of pre-training and, for the optimized Transformer, in its own (Table B.1).
prepare_size() { # SIZE
  local merges text=$OUTPUT/samples/$1
  segment "$text" "$OUTPUT/pairs/$1" "$OUTPUT/data/$1" --dictionary-from "$TEXT/subword"
  if [[ " ${SYSTEM_IDS[*]} " == *" optimized "* ]]; then
    read -r _ merges _ <<< "$(optimized_settings "$1")"
    segment "$text" "$OUTPUT/pairs/$1-optimized" "$OUTPUT/data/$1-optimized" --merges "$merges"
  fi
}

stage_parse() {
  local model=()
  [[ -z $SPACY_MODEL ]] || model=(--model "$SPACY_MODEL")
  [[ ${#BUNSETSU_OPTIONS[@]} == 0 ]] || run python -m data_prep bunsetsu "${BUNSETSU_OPTIONS[@]}" \
    --input "$TEXT/tokenized" --text "$TEXT/text" --output "$TEXT/structures"
  [[ ${#PHRASES_OPTIONS[@]} == 0 ]] || run python -m data_prep phrases "${PHRASES_OPTIONS[@]}" "${model[@]}" \
    --input "$TEXT/tokenized" --text "$TEXT/text" --output "$TEXT/structures"
  run python -m data_prep position-changes --input "$TEXT/structures" # 4.5.1
  run python -m data_prep structures --input "$TEXT/structures" --tokenized "$TEXT/tokenized" \
    --subword "$TEXT/subword" --data "$OUTPUT/data/monolingual"
}
