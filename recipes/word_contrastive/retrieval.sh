# shellcheck shell=bash
# Sentence and word retrieval on top of the encoder, and what it has to do with BLEU. Sourced by run.sh.

# On the validation set (5.3.3, 5.3.4), between all pairs of languages.
probe() { # SYSTEM SEED
  set_evaluated "$@"
  alone "${EVALUATED[1]%/*}" probed probe_evaluated "$(model_name "$@")"
}

probe_evaluated() { # NAME
  local states=$OUTPUT/states/$1 results=$OUTPUT/probes/$1
  if is_measured "$results/retrieval.json" "${EVALUATED[1]}" && [[ ! -e $results/.retrieval.unfinished ]]; then
    note "$results: probed, skipped"
    return
  fi
  retrieve "$states" "$results" "${EVALUATED[@]}"
}

# The states take much room, and go afterwards.
retrieve() { # STATES RESULTS OPTION_OF_STATES...
  run python -m eval probe states "${@:3}" --splits valid --valid-directions all --forced reference --layers encoder-norm \
    --output "$1"
  run python -m eval probe retrieval "$1" --split valid --words "$DATA" --output "$2"
  run rm -r "$1"
}

# Change in BLEU, on the test set, against change in sentence (5.3.3) and word retrieval (5.3.4): needs several systems, and
# three pairs of languages.
correlate() { # BASELINE
  local measure folder retrieval=()
  [[ ${#SYSTEM_IDS[@]} -gt 1 && ${#LANGUAGES[@]} -gt 2 ]] || return 0
  for folder in "${FOLDERS[@]}"; do retrieval+=("$OUTPUT/probes/${folder##*/}"); done
  for measure in sentence word; do
    run python -m eval probe correlate "${FOLDERS[@]}" --retrieval "${retrieval[@]}" \
      --measure "$measure" --output "$OUTPUT/probes/$1-$measure"
  done
}

stage_probe() {
  for_each_model_at_once probe
  for_each_baseline correlate
}

add_probe_results() { # SYSTEM SEED
  add_probe_files "$OUTPUT/probes/$(model_name "$@")/retrieval.json"
}
