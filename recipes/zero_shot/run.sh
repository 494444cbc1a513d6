#!/usr/bin/env bash
# Layer normalization in zero-shot translation: the systems of chapter 8 of the thesis, from text to tables.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=recipes/common.sh
source "$HERE/../common.sh"

CONFIG=
SYSTEM_LIST=${SYSTEMS// /,}
SEEDS=1,10,20
ALL_STAGES="prepare train translate score probe report"
STAGES=${ALL_STAGES// /,}
DATA_ROOT=
OUTPUT=
PROBE_LAYERS=all
PROBE_LINES=
KEEP_STATES=no
PROBES="llr similarity retrieval cosine"

usage() {
  cat << END
usage: bash recipes/zero_shot/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Trains systems of Table 8.2 on English-centric data, translates supervised and zero-shot directions, scores, compares,
reports. What is complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       opus, iwslt, europarl (the paper's), multi30k (small), or a file like those in configs/
  --systems LIST      of 0 (system 4 through English as pivot), 1-8 (Table 8.2), 1-simple to 8-simple (E.3),
                      swap-prenorm (8.2.4), no-enc-last (E.1); or 'all' (default: $SYSTEM_LIST)
  --seeds LIST        one training per system and seed (default: $SEEDS)
  --stages LIST       some of ${ALL_STAGES// /,} (default: all)
  --data-root DIR     local folder of the corpus, in place of a download
  --output DIR        folder for everything (default: outputs/zero_shot/CONFIG)
$(usage_of_training)
  --probe-layers LIST layers whose states are stored, for example L3,encoder-norm,L9 (default: $PROBE_LAYERS)
  --probe-lines N     first lines of each set whose states are stored (default: all); README.md has the disk space
  --keep-states       keep the states after the probes of a model
$(usage_of_all)

Example: bash recipes/zero_shot/run.sh --config multi30k --systems 1,2 --seeds 1,10 --jobs 2
END
}

read_options "$RECIPE_OPTIONS probe-layers probe-lines" keep-states "$@"

# --- check everything before anything is run --------------------------------------------------------------------

load_config "$HERE"

[[ $SYSTEM_LIST != all ]] || SYSTEM_LIST=$(tr ' ' , <<< "0 $SYSTEMS $VARIANTS")
split_lists DATA_ROOT
for system in "${SYSTEM_IDS[@]}"; do
  [[ $system == 0 ]] || system_options "$system" > /dev/null
done
[[ -z $PROBE_LINES ]] || positive --probe-lines "$PROBE_LINES"

use_environment
check_launcher

OUTPUT=${OUTPUT:-outputs/zero_shot/$(basename "$CONFIG_FILE" .sh)}
DATA=$OUTPUT/data/$(basename "$CONFIG_FILE" .sh) # the folder's name becomes the name of the test set in tables
PAIRS=$(english_centric "${LANGUAGES[@]}")

# The system whose model translates: row 0 of the table is system 4 through English.
model_of() { # SYSTEM
  if [[ $1 == 0 ]]; then echo 4; else echo "$1"; fi
}

run_name() { # SYSTEM SEED
  if [[ $1 == [0-9]* ]]; then echo "system$1-seed$2"; else echo "$1-seed$2"; fi
}

# --- stages ------------------------------------------------------------------------------------------------------

train_system() { # SYSTEM SEED
  local system
  read -ra system <<< "$(system_options "$1")"
  train_translation "$OUTPUT/models/$(run_name "$1" "$2")" "$2" --arch "$ARCHITECTURE" "${MODEL_OPTIONS[@]}" "${system[@]}" \
    --dropout "$DROPOUT" --criterion fused_label_smoothed_cross_entropy
}

train_all() {
  local system seed trained=" "
  [[ $DRY_RUN == yes || -d $DATA ]] || die "$DATA: no such folder; run the stage prepare first"
  for seed in "${SEED_LIST[@]}"; do
    for system in "${SYSTEM_IDS[@]}"; do
      system=$(model_of "$system")
      [[ $trained == *" $system/$seed "* ]] && continue # 4 may be asked for twice, for itself and for the pivot
      trained+="$system/$seed "
      start_job train_system "$system" "$seed"
    done
  done
  finish_jobs
}

translate() { # SYSTEM SEED
  local checkpoint options=()
  checkpoint=$OUTPUT/models/$(run_name "$(model_of "$1")" "$2")/checkpoint_best.pt # lowest validation loss (8.2.2)
  [[ $DRY_RUN == yes || -e $checkpoint ]] || die "$checkpoint: no such file; run the stage train first"
  [[ $1 != 0 ]] || options=(--pivot en)
  [[ $LAUNCHER != cpu ]] || options+=(--cpu)
  run python -m eval translate --checkpoint "$checkpoint" --data "$DATA" --beam "$BEAM" "${options[@]}" \
    --output "$OUTPUT/translations/$(run_name "$1" "$2")"
}

# What the probes find in one model. Its hidden states take much room, and go when the probes are done.
probe_system() { # SYSTEM SEED
  local checkpoint name states results probe settings="$PROBE_LAYERS ${PROBE_LINES:-all}" options=()
  [[ $1 != 0 ]] || return 0 # the pivot's model is that of system 4
  name=$(run_name "$1" "$2")
  checkpoint=$OUTPUT/models/$name/checkpoint_best.pt states=$OUTPUT/states/$name results=$OUTPUT/probes/$name
  [[ $DRY_RUN == yes || -e $checkpoint ]] || die "$checkpoint: no such file; run the stage train first"
  if [[ $results/finished -nt $checkpoint && $(< "$results/finished") == "$settings" ]]; then
    note "$results: probed, skipped"
    return
  fi
  [[ -z $PROBE_LINES ]] || options=(--max-lines "$PROBE_LINES")
  [[ $LAUNCHER != cpu ]] || options+=(--cpu)
  run python -m eval probe states --checkpoint "$checkpoint" --data "$DATA" --beam "$BEAM" \
    --layers "$PROBE_LAYERS" "${options[@]}" --output "$states"
  for probe in $PROBES; do
    run python -m eval probe "$probe" "$states" --output "$results"
  done
  [[ $DRY_RUN == yes ]] || echo "$settings" > "$results/finished"
  [[ $KEEP_STATES == yes ]] || run rm -r "$states"
}

probe_all() {
  for_each probe_system
  run python -m eval probe off-target "${FOLDERS[@]}" --output "$OUTPUT/probes"
}

# The result files of the probes of these systems, in the order of the report.
find_probe_results() {
  local system seed probe file
  for probe in $PROBES; do
    for system in "${SYSTEM_IDS[@]}"; do
      for seed in "${SEED_LIST[@]}"; do
        file=$OUTPUT/probes/$(run_name "$system" "$seed")/$probe.json
        [[ ! -e $file ]] || PROBE_RESULTS+=("$file")
      done
    done
  done
  [[ ! -e $OUTPUT/probes/off-target.json ]] || PROBE_RESULTS+=("$OUTPUT/probes/off-target.json")
}

FOLDERS=()
for system in "${SYSTEM_IDS[@]}"; do
  for seed in "${SEED_LIST[@]}"; do
    FOLDERS+=("$OUTPUT/translations/$(run_name "$system" "$seed")")
  done
done

if has_stage prepare; then
  note "prepare: $CORPUS (${LANGUAGES[*]})"
  prepare
fi
if has_stage train; then
  note "train: systems $SYSTEM_LIST, seeds $SEEDS"
  train_all
fi
if has_stage translate; then
  for_each translate
fi
if has_stage score; then
  note "score"
  score "${FOLDERS[@]}"
fi
if has_stage probe; then
  note "probe: $PROBES off-target"
  probe_all
fi
if has_stage report; then
  note "report"
  find_probe_results
  report "$OUTPUT" "Zero-shot translation: $(basename "$CONFIG_FILE" .sh)" "${FOLDERS[@]}"
fi
