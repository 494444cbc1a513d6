#!/usr/bin/env bash
# Layer normalization in zero-shot translation: the systems of chapter 8 of the thesis, from text to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/translation.sh
source "$HERE/../shared/translation.sh"

RECIPE=zero_shot TITLE="Zero-shot translation"
SEEDS=1,10,20
RESIDUAL_LAYER=4 # "w/o Res.": the middle encoder layer of six (8.2.1)
TARGET_LAYERS=5 # LCS: the top encoder layers of six that are told the target language
ALL_PROBES="llr similarity retrieval cosine"
PROBES=${ALL_PROBES// /,}
CURVE_LLR=all # checkpoints of the learning curves whose languages are recognized
LLR_PROTOCOL=optimum # how its classifiers are trained
PROBE_LAYERS=all
PROBE_LINES=
KEEP_STATES=no
CURVE_LINES= # lines of each set whose states the learning curves have, where a configuration keeps checkpoints
IDENTIFIER='' IDENTIFIER_OPTIONS=()
DECODING=plain DECODING_LIST=(plain)
COMPARISONS=(1:0 2:0 3:0 5:0 6:0 7:0 8:0 2:1-simple) # differ on two axes: the pivot and what system 4 is not, placement and affinity
COMPARISONS+=(1:1-warmup 1:1-rate 1:1-long 2:2-warmup 2:2-rate 2:2-long) # differ on none: in the schedule
ALL_STAGES="prepare train translate score curves probe report"

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
  --identifier FILE   fastText model that identifies languages for off-target rates (default: lid.176)
$(help_of search experiment comet training force plan)
  --probes LIST       some of ${ALL_PROBES// /,} (default: all)
  --curve-llr WHICH   checkpoints of the learning curves with layer-wise language recognition, whose classifiers learn
                      from the validation set and are tested on the test set: all, last, none (default: $CURVE_LLR)
  --llr-protocol NAME optimum (L2-regularized), early-stopping, or paper: 3 epochs (thesis 8.2.3)
                      (default: $LLR_PROTOCOL)
  --probe-layers LIST layers whose states are stored, for example L3,encoder-norm,L9 (default: $PROBE_LAYERS)
  --probe-lines N     first lines of each set whose states are stored (default: all); README.md has the disk space
  --keep-states       keep the states after the probes of a model
$(help_of all)

Example: bash recipes/zero_shot/run.sh --config multi30k --systems 1,2 --seeds 1,10 --jobs 2
END
}

check_recipe() {
  local item
  split_list --decoding "$DECODING" DECODING_LIST
  for item in "${DECODING_LIST[@]}"; do one_of --decoding "$item" plain source-contrast language-contrast contrast rescored; done
  [[ -z $PROBE_LINES ]] || positive --probe-lines "$PROBE_LINES"
  split_list --probes "$PROBES" PROBE_LIST
  # shellcheck disable=SC2086  # a list of words
  for item in "${PROBE_LIST[@]}"; do one_of --probes "$item" $ALL_PROBES; done
  one_of --curve-llr "$CURVE_LLR" all last none
  [[ $DRY_RUN == yes || -z $IDENTIFIER || -f $IDENTIFIER ]] || die "--identifier: $IDENTIFIER: no such file"
  [[ -z $IDENTIFIER ]] || IDENTIFIER_OPTIONS=(--identifier "$IDENTIFIER")
  SCORE_OPTIONS+=("${IDENTIFIER_OPTIONS[@]}")
  one_of --llr-protocol "$LLR_PROTOCOL" optimum early-stopping paper
}

stage_prepare() {
  fetch_text
  run python -m data_prep clean --input "$RAW" --output "$OUTPUT/text" --max-length "${MAX_WORDS:-$MAX_LENGTH}" "${CLEAN_OPTIONS[@]}"
  run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUTPUT/text" --output "$OUTPUT/tokenized"
  run python -m data_prep subword "${SUBWORD_OPTIONS[@]}" --input "$OUTPUT/tokenized" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$DATA"
}

stage_train() { train_systems train_system; }

train_system() { # SYSTEM SEED
  set_training_options "$1"
  train fairseq-train "$DATA" --save-dir "$OUTPUT/models/$(model_name "$@")" --seed "$2" --task multilingual_nmt --lang-pairs "$PAIRS" \
    --lr "$LEARNING_RATE" "${SCHEDULE_OPTIONS[@]}" --warmup-updates "$WARMUP_UPDATES" --optimizer fused_adam --adam-betas "(0.9, 0.98)" \
    --label-smoothing "$LABEL_SMOOTHING" --max-tokens "$MAX_TOKENS" --batches-per-update "$BATCH_GPUS" --max-epoch "$EPOCHS" \
    --max-source-positions "$MAX_LENGTH" --max-target-positions "$MAX_LENGTH" --skip-invalid-size-inputs-valid-test \
    "${SAVING[@]}" --log-format simple --log-interval 100 "${OPTIONS[@]}" "${EXTRA_OPTIONS[@]}"
}

stage_translate() { for_each_model_at_once translate; }

# Each way to decode is a system of its own (docs/zero_shot_options.md).
translate() { # SYSTEM SEED
  local decoding options
  set_evaluated "$@"
  for decoding in "${DECODING_LIST[@]}"; do
    case $decoding in
      plain) options=() ;;
      source-contrast | language-contrast) options=("--$decoding") ;;
      contrast) options=(--source-contrast --language-contrast) ;;
      rescored) options=(--language-rescoring 1) ;;
    esac
    run python -m eval translate "${EVALUATED[@]}" "${options[@]}" --output "$(translations_of "$decoding" "$@")"
  done
}

translations_of() { # DECODING SYSTEM SEED
  local ending=-$1
  echo "$OUTPUT/translations/$(model_name "${@:2}")${ending/#-plain/}"
}

add_folder() { # SYSTEM SEED
  local decoding
  for decoding in "${DECODING_LIST[@]}"; do FOLDERS+=("$(translations_of "$decoding" "$@")"); done
}

stage_score() { score; }

# Every checkpoint that is kept, on the validation set, with greedy search.
stage_curves() {
  local llr=()
  [[ $KEEP_UPDATES != 1 ]] || return 0
  CURVE=() RECOGNIZED=()
  for_each_model curve
  finish_jobs checkpoints
  [[ ${#RECOGNIZED[@]} == 0 ]] || llr=(--llr "${RECOGNIZED[@]}")
  [[ ${#CURVE[@]} == 0 ]] || run python -m eval probe learning-curves "${CURVE[@]}" "${llr[@]}" --output "$OUTPUT/curves"
}

curve() { # SYSTEM SEED
  [[ ${TRAINED_AS[$1]} == "$1" ]] || return 0
  TITLE_OPTION=(${TABLE_NAME[$1]:+--name "${TABLE_NAME[$1]}"})
  for_each_checkpoint "$(model_name "$@")" measure_later
}

measure_later() { # NAME FOLDER CHECKPOINT
  local results=''
  CURVE+=("$2")
  if [[ $CURVE_LLR == all || ($CURVE_LLR == last && $3 == "$LAST") ]]; then
    results=$2/llr-$LLR_PROTOCOL results=${results%-optimum}
    RECOGNIZED+=("$results")
  fi
  start_job "$1" alone "$2" measured measure_checkpoint "$2" "$results" \
    --checkpoint "$3" --data "$DATA" --beam 1 "${SEARCH_OPTIONS[@]}" "${TITLE_OPTION[@]}" "${DEVICE[@]}"
}

# Classifiers learn from states of the validation set and are tested on those of the test set, as for the final model. States are not
# extracted again for what is recognized already: they take much room, and are gone.
measure_checkpoint() { # FOLDER RESULTS_OF_RECOGNITION OPTION_OF_TRANSLATE...
  run python -m eval translate "${@:3}" --split valid --output "$1"
  run python -m eval score "$1" "${IDENTIFIER_OPTIONS[@]}"
  [[ -n $2 ]] || return 0
  ! is_measured "$2/llr.json" "$4" || [[ -e $2/.llr.unfinished ]] || return 0
  run python -m eval probe states "${@:3}" ${CURVE_LINES:+--max-lines "$CURVE_LINES"} --output "$1/states"
  run python -m eval probe llr "$1/states" --protocol "$LLR_PROTOCOL" --output "$2"
  run rm -r "$1/states"
}

stage_probe() {
  for_each_model_at_once probe
  run python -m eval probe off-target "${FOLDERS[@]}" "${IDENTIFIER_OPTIONS[@]}" --output "$OUTPUT/probes"
}

probe() { # SYSTEM SEED
  [[ ${TRAINED_AS[$1]} == "$1" ]] || return 0 # the pivot's model is that of another system
  set_evaluated "$@"
  alone "$OUTPUT/models/$(model_name "$@")" probed probe_model "$(model_name "$@")"
}

# The hidden states take much room, and go when the probes are done. Results of another checkpoint, or of other layers, lines or
# protocol, go before, so that all of a folder are of the same.
probe_model() { # NAME
  local states=$OUTPUT/states/$1 results=$OUTPUT/probes/$1 probe before='' finished='' missing=() protocol
  local settings="$PROBE_LAYERS ${PROBE_LINES:-all} ${SEARCH_OPTIONS[*]} --beam $BEAM $LLR_PROTOCOL"
  ! is_measured "$results/finished" "${EVALUATED[1]}" || { read -r before && read -r finished; } < "$results/finished" || true
  [[ $before == "$settings" ]] || finished=''
  for probe in "${PROBE_LIST[@]}"; do [[ " $finished " == *" $probe "* && -e $results/$probe.json ]] || missing+=("$probe"); done
  if [[ ${#missing[@]} == 0 ]]; then
    note "$results: probed, skipped"
    return
  fi
  [[ -n $finished || ! -e $results ]] || run rm -r "$results"
  run python -m eval probe states "${EVALUATED[@]}" --layers "$PROBE_LAYERS" ${PROBE_LINES:+--max-lines "$PROBE_LINES"} --output "$states"
  for probe in "${missing[@]}"; do
    protocol=()
    [[ $probe != llr ]] || protocol=(--protocol "$LLR_PROTOCOL")
    run python -m eval probe "$probe" "$states" "${protocol[@]}" --output "$results"
  done
  [[ $DRY_RUN == yes ]] || printf '%s\n' "$settings" "$finished ${missing[*]}" > "$results/finished"
  [[ $KEEP_STATES == yes ]] || run rm -r "$states"
}

stage_report() {
  local probe
  for probe in $ALL_PROBES; do for_each_model add_probe_results "$probe"; done
  add_probe_files "$OUTPUT/probes/off-target.json" "$OUTPUT/curves/learning-curves.json"
  report "$OUTPUT" "$TITLE: $NAME" "$((${#SYSTEM_IDS[@]} * ${#DECODING_LIST[@]}))" "${FOLDERS[@]}"
}

add_probe_results() { add_probe_files "$OUTPUT/probes/$(model_name "$2" "$3")/$1.json"; } # PROBE SYSTEM SEED

experiment "$@"
