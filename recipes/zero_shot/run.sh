#!/usr/bin/env bash
# Layer normalization in zero-shot translation: the systems of chapter 8 of the thesis, from text to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"

RECIPE=zero_shot TITLE="Zero-shot translation"
SEEDS=1,10,20
RESIDUAL_LAYER=4 # "w/o Res.": the middle encoder layer of six (8.2.1)
TARGET_LAYERS=5 # LCS: the top encoder layers of six that are told the target language
KNOWN_PROBES="llr similarity retrieval cosine"
PROBES=${KNOWN_PROBES// /,}
CURVE_LLR=all # checkpoints of the learning curves whose languages are recognized
LLR_PROTOCOL=optimum # how its classifiers are trained
PROBE_LAYERS=all
PROBE_LINES=
KEEP_STATES=no
CURVE_LINES= # lines of each set whose states the learning curves have, where a configuration keeps checkpoints
DECODING=plain
COMPARISONS=(1:0 2:0 3:0 5:0 6:0 7:0 8:0 2:1-simple) # differ on two axes: the pivot and what system 4 is not, placement and affinity
COMPARISONS+=(1:1-warmup 1:1-rate 1:1-long 2:2-warmup 2:2-rate 2:2-long) # differ on none: in the schedule
ALL_STAGES="prepare train translate score curves probe report"
# shellcheck source=recipes/shared/curves.sh
source "$HERE/../shared/curves.sh"

usage() {
  cat << END
usage: bash recipes/zero_shot/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Trains systems of Table 8.2 on English-centric data, translates supervised and zero-shot directions, scores, compares,
reports. What is complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       opus, iwslt, europarl (the paper's), multi30k, l10n, l10n-8, phrasebook (small), or a file
                      like those in configs/
  --systems LIST      of 0 (system 4 through English as pivot), 1-8 (Table 8.2), 1-simple to 8-simple (E.3),
                      swap-prenorm (8.2.4), no-enc-last (E.1), 1-warmup, 1-rate, 1-long, 2-warmup, 2-rate, 2-long
                      (four times the warm-up, half the learning rate, twice the updates), embedded, embedded-t-enc
                      (PostNorm with language embeddings in place of tags), 1-lcs, 2-lcs (the target language
                      in encoder layers); or 'all' (default: $(list_systems))
  --decoding LIST     how each model translates, each a system of the tables: plain, source-contrast,
                      language-contrast, contrast (both), rescored (default: $DECODING)
$(usage_of_experiment)
  --probes LIST       some of ${KNOWN_PROBES// /,} (default: all)
  --curve-llr WHICH   checkpoints of the learning curves with layer-wise language recognition, whose classifiers learn
                      from the validation set and are tested on the test set: all, last, none (default: $CURVE_LLR)
  --llr-protocol NAME optimum (L2-regularized), early-stopping, or paper: 3 epochs (thesis 8.2.3)
                      (default: $LLR_PROTOCOL)
  --probe-layers LIST layers whose states are stored, for example L3,encoder-norm,L9 (default: $PROBE_LAYERS)
  --probe-lines N     first lines of each set whose states are stored (default: all); README.md has the disk space
  --keep-states       keep the states after the probes of a model
$(usage_of_all)

Example: bash recipes/zero_shot/run.sh --config multi30k --systems 1,2 --seeds 1,10 --jobs 2
END
}

# Ways to decode: the name of each, and its options of translate (docs/zero_shot_options.md).
declare -A DECODINGS=(
  [plain]=''
  [source-contrast]='--source-contrast'
  [language-contrast]='--language-contrast'
  [contrast]='--source-contrast --language-contrast'
  [rescored]='--language-rescoring 1'
)
DECODING_LIST=(plain)

# The translations of a model in one of these ways.
translations_of() { # DECODING SYSTEM SEED
  local folder
  folder=$OUTPUT/translations/$(model_name "${@:2}")
  if [[ $1 == plain ]]; then echo "$folder"; else echo "$folder-$1"; fi
}

add_folder() { # SYSTEM SEED
  local one
  for one in "${DECODING_LIST[@]}"; do FOLDERS+=("$(translations_of "$one" "$@")"); done
}

translate() { # SYSTEM SEED
  local one options
  set_evaluated "$@"
  for one in "${DECODING_LIST[@]}"; do
    read -ra options <<< "${DECODINGS[$one]}"
    run python -m eval translate "${EVALUATED[@]}" "${options[@]}" --output "$(translations_of "$one" "$@")"
  done
}

check_recipe() {
  local one
  split_list --decoding "$DECODING" DECODING_LIST
  for one in "${DECODING_LIST[@]}"; do one_of --decoding "$one" "${!DECODINGS[@]}"; done
  [[ -z $PROBE_LINES ]] || positive --probe-lines "$PROBE_LINES"
  split_list --probes "$PROBES" PROBE_LIST
  # shellcheck disable=SC2086  # a list of words
  for one in "${PROBE_LIST[@]}"; do one_of --probes "$one" $KNOWN_PROBES; done
  one_of --curve-llr "$CURVE_LLR" all last none
  one_of --llr-protocol "$LLR_PROTOCOL" optimum early-stopping paper
}

# Layer-wise language recognition in stored states.
recognize() { # STATES RESULTS
  run python -m eval probe llr "$1" --protocol "$LLR_PROTOCOL" --output "$2"
}

# What the probes find in one model.
probe() { # SYSTEM SEED
  [[ ${TRAINED_AS[$1]} == "$1" ]] || return 0 # the pivot's model is that of another system
  set_evaluated "$@"
  alone "${EVALUATED[1]%/*}" probed probe_evaluated "$@"
}

# The hidden states take much room, and go when the probes are done. Results of another checkpoint, or of other layers, lines or
# protocol, go before, so that all of a folder are of the same.
probe_evaluated() { # SYSTEM SEED
  local name states results one before='' known='' missing=() lines=()
  local settings="$PROBE_LAYERS ${PROBE_LINES:-all} ${SEARCH_OPTIONS[*]} --beam $BEAM $LLR_PROTOCOL"
  name=$(model_name "$@")
  states=$OUTPUT/states/$name results=$OUTPUT/probes/$name
  ! is_measured "$results/finished" "${EVALUATED[1]}" || { read -r before && read -r known; } < "$results/finished" || true
  [[ $before == "$settings" ]] || known=''
  for one in "${PROBE_LIST[@]}"; do [[ " $known " == *" $one "* && -e $results/$one.json ]] || missing+=("$one"); done
  if [[ ${#missing[@]} == 0 ]]; then
    note "$results: probed, skipped"
    return
  fi
  [[ -n $known || ! -e $results ]] || run rm -r "$results"
  [[ -z $PROBE_LINES ]] || lines=(--max-lines "$PROBE_LINES")
  run python -m eval probe states "${EVALUATED[@]}" --layers "$PROBE_LAYERS" "${lines[@]}" --output "$states"
  for one in "${missing[@]}"; do
    if [[ $one == llr ]]; then recognize "$states" "$results"; else run python -m eval probe "$one" "$states" --output "$results"; fi
  done
  [[ $DRY_RUN == yes ]] || printf '%s\n' "$settings" "$known ${missing[*]}" > "$results/finished"
  [[ $KEEP_STATES == yes ]] || run rm -r "$states"
}

stage_probe() {
  for_each_model_at_once probe
  run python -m eval probe off-target "${FOLDERS[@]}" --output "$OUTPUT/probes"
}

add_probe_results() { # PROBE SYSTEM SEED
  add_probe_files "$OUTPUT/probes/$(model_name "$2" "$3")/$1.json"
}

stage_report() {
  local one
  for one in $KNOWN_PROBES; do for_each_model add_probe_results "$one"; done
  add_probe_files "$OUTPUT/probes/off-target.json" "$OUTPUT/curves/learning-curves.json"
  report "$OUTPUT" "$TITLE: $NAME" "$((${#SYSTEM_IDS[@]} * ${#DECODING_LIST[@]}))" "${FOLDERS[@]}"
}

experiment "decoding probes curve-llr llr-protocol probe-layers probe-lines" keep-states "$@"
