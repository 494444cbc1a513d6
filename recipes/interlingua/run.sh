#!/usr/bin/env bash
# Neural interlingua of fixed and variable length: the systems of chapter 7 of the thesis, from text to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/translation.sh
source "$HERE/../shared/translation.sh"

RECIPE=interlingua TITLE="Neural interlingua"
ENCODER_LAYERS=6 # of MNMT: M + N (7.2.1)
INTERLINGUA_LENGTH=
INTERLINGUA_OPTIONS=() # of the model of all systems that have one
REQUIRED_SETTINGS=(INTERLINGUA_LENGTH)
SPACY_MODEL=''
ALL_STAGES="prepare train translate score curves probe report"
PROBE_READS='' # what it translates, the probe translates itself
COMPARISONS=( # differ on two axes: bridge and losses, language tags and initialization
  mnmt:fixed-universal mnmt:fixed-specific mnmt:variable fixed-universal:variable fixed-specific:variable mnmt:t-enc
  mnmt:variable-per-token mnmt:variable+w2w mnmt:t-enc+w2w mnmt+w2w:variable+w2w mnmt+w2w:t-enc+w2w
)
COMBINATIONS=( # without, with each, and with both changes: do gains add up (9.2)?
  mnmt:variable:mnmt+w2w:variable+w2w mnmt:t-enc:mnmt+w2w:t-enc+w2w mnmt:variable:mnmt@deshuffling:variable@deshuffling
)

usage() {
  cat << END
usage: bash recipes/interlingua/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Trains systems of Table 7.2 on English-centric data, translates supervised and zero-shot directions, compares, probes,
reports. What is complete is skipped, what was killed continues. README.md beside this file has the paper's numbers.

  --config NAME       opus, iwslt, europarl (the paper's), multi30k, l10n, phrasebook (small), or a file like
                      those in configs/
  --systems LIST      of pivot, mnmt, fixed-universal, fixed-specific, variable (Table 7.2);
                      variable-per-token (the other reading of equation 7.6);
                      mnmt+w2w, variable+w2w, t-enc, t-enc+w2w (free combination, 9.2);
                      with l10n and phrasebook each of mnmt, variable, t-enc, also +w2w, with @deshuffling or @enss
                      (initialized from linguistic pre-training);
                      regression (of lengths: 7.2.1, footnote 3), candidates, ordinal, source-length, jitter, repaired (repairs of the
                      length predictor, see README.md);
                      or 'all' (default: $(list_systems))
  --spacy-model NAME  English spaCy pipeline, or its folder, that parses the text of @enss
$(help_of search experiment comet training force plan all)

Example: bash recipes/interlingua/run.sh --config multi30k --systems mnmt,variable --seeds 1,10 --jobs 2
END
}

check_recipe() {
  [[ $SYSTEMS != *@enss* || -n $SPACY_MODEL ]] || ! has_stage prepare ||
    die "--systems: @enss needs the phrases of English text; give a spaCy pipeline with --spacy-model, a name or a path"
}

# Text and subwords; the lexicon of word contrast; phrases of the English side of all pairs, which HFSS reorders.
stage_prepare() {
  fetch_text
  run python -m data_prep clean --input "$RAW" --output "$OUTPUT/text" --max-length "${MAX_WORDS:-$MAX_LENGTH}" "${CLEAN_OPTIONS[@]}"
  run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUTPUT/text" --output "$OUTPUT/tokenized"
  run python -m data_prep subword "${SUBWORD_OPTIONS[@]}" --input "$OUTPUT/tokenized" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$DATA"
  if [[ $SYSTEMS == *+w2w* ]]; then
    run python -m data_prep align --aligner word2word --train-sample 0 --input "$OUTPUT/tokenized" --subword "$OUTPUT/subword" \
      --data "$DATA" --output "$OUTPUT/aligned/word2word"
  fi
  if [[ $SYSTEMS == *@enss* ]]; then
    run python -m data_prep phrases --parser spacy --model "$SPACY_MODEL" --lang en --input "$OUTPUT/tokenized" \
      --text "$OUTPUT/text" --output "$OUTPUT/structures"
    run python -m data_prep structures --input "$OUTPUT/structures" --tokenized "$OUTPUT/tokenized" --subword "$OUTPUT/subword" \
      --data "$DATA"
  fi
}

# --- training ------------------------------------------------------------------------------------------------------

# What systems start from, if the configuration has `start_settings`: all of a seed and of one placement of tags start from one
# MNMT, which is trained with these settings. That of SYSTEM@PRETRAINING is trained half as long, with `pretraining_settings`, from a
# model that was pre-trained for the other half, so that all systems see as many updates.
stage_train() {
  local start starts pretraining pretrainings system seed
  if has_function start_settings; then
    [[ $DRY_RUN == yes ]] || need_data
    [[ $FORCE != yes ]] ||
      note "--force: what these systems start from is trained anew, too; systems that are not among them no longer share it"
    starts=$(for system in "${SYSTEM_IDS[@]}"; do start_of "$system"; done | sort -u)
    pretrainings=$(for start in $starts; do [[ $start != *@* ]] || echo "${start##*@}"; done | sort -u)
    for pretraining in $pretrainings; do # starts that differ in their tags share one
      for seed in "${SEED_LIST[@]}"; do start_job '' attended pretrain "$pretraining" "$seed"; done
    done
    finish_jobs trainings
    for start in $starts; do
      for seed in "${SEED_LIST[@]}"; do start_job '' attended train_start "$start" "$seed"; done
    done
    finish_jobs trainings
  fi
  train_systems train_system
}

has_function() { declare -F "$1" > /dev/null; }

# The system that the start of a system is, but for its training.
start_of() { # SYSTEM
  local start=mnmt
  [[ $1 != t-enc* ]] || start=t-enc
  [[ $1 != *@* ]] || start+=@${1##*@}
  echo "$start"
}

start_folder() { # STARTING_SYSTEM SEED
  local name=start-$1
  echo "$OUTPUT/models/${name/start-mnmt/start}-seed$2"
}

pretrained_folder() { echo "$OUTPUT/models/pretrained-$1-seed$2"; } # PRETRAINING SEED

# In a shell of its own, as the settings are those of this training: MASS and deshuffling of all languages, or of all but
# English, which has ENSS (chapter 4), on both sides of the same pairs.
pretrain() { # PRETRAINING SEED
  local tasks=("${LANGUAGES[@]/%/=mass+deshuffling}")
  [[ $1 != enss ]] || tasks=("${tasks[@]/#en=mass+deshuffling/en=mass+hfss}")
  pretraining_settings
  train_model "$(pretrained_folder "$@")" "$2" --task linguistic_pretraining --pretraining-tasks "$(joined "${tasks[@]}")" \
    "${UNTAGGED_MNMT[@]}" --best-checkpoint-metric ppl
}

# Likewise.
train_start() { # STARTING_SYSTEM SEED
  local start=()
  if [[ $1 == *@* ]]; then
    pretraining_settings
    start=(--pretrained-checkpoint "$(pretrained_folder "${1##*@}" "$2")/checkpoint_best.pt")
  else
    start_settings
  fi
  load_systems # whose options the settings change
  set_training_options "$1"
  train_model "$(start_folder "$@")" "$2" --task multilingual_nmt --lang-pairs "$PAIRS" "${OPTIONS[@]}" "${start[@]}"
}

train_system() { # SYSTEM SEED
  local start=()
  ! has_function start_settings || start=(--pretrained-checkpoint "$(start_folder "$(start_of "$1")" "$2")/checkpoint_best.pt")
  set_training_options "$1"
  train_model "$OUTPUT/models/$(model_name "$@")" "$2" --task multilingual_nmt --lang-pairs "$PAIRS" "${OPTIONS[@]}" "${start[@]}"
}

train_model() { # FOLDER SEED OPTION...
  train fairseq-train "$DATA" --save-dir "$1" --seed "$2" \
    --lr "$LEARNING_RATE" "${SCHEDULE_OPTIONS[@]}" --warmup-updates "$WARMUP_UPDATES" --optimizer fused_adam --adam-betas "(0.9, 0.98)" \
    --label-smoothing "$LABEL_SMOOTHING" --max-tokens "$MAX_TOKENS" --batches-per-update "$BATCH_GPUS" --max-epoch "$EPOCHS" \
    --max-source-positions "$MAX_LENGTH" --max-target-positions "$MAX_LENGTH" --skip-invalid-size-inputs-valid-test \
    "${SAVING[@]}" --log-format simple --log-interval 100 "${@:3}" "${EXTRA_OPTIONS[@]}"
}

# --- translation and probes ----------------------------------------------------------------------------------------

stage_translate() { for_each_model_at_once translate; }

translate() { # SYSTEM SEED
  set_evaluated "$@"
  run python -m eval translate "${EVALUATED[@]}" --output "$OUTPUT/translations/$(model_name "$@")"
}

stage_score() { score; }

# Every checkpoint that is kept, on the validation set, with greedy search.
stage_curves() {
  [[ $KEEP_UPDATES != 1 ]] || return 0
  CURVE=()
  for_each_model curve
  finish_jobs checkpoints
  [[ ${#CURVE[@]} == 0 ]] || run python -m eval probe learning-curves "${CURVE[@]}" --output "$OUTPUT/curves"
}

curve() { # SYSTEM SEED
  [[ ${TRAINED_AS[$1]} == "$1" ]] || return 0
  CURVE_NAME=${TABLE_NAME[$1]}
  for_each_checkpoint "$(model_name "$@")" measure_later
}

measure_later() { # NAME FOLDER CHECKPOINT
  CURVE+=("$2")
  start_job "$1" alone "$2" measured measure_checkpoint "$2" "$3"
}

measure_checkpoint() { # FOLDER CHECKPOINT
  run python -m eval translate --checkpoint "$2" --data "$DATA" --beam 1 "${SEARCH_OPTIONS[@]}" --name "$CURVE_NAME" "${DEVICE[@]}" --split valid --output "$1"
  run python -m eval score "$1"
}

# The interlingua, and validation losses of all trainings (Figure 7.3).
stage_probe() {
  for_each_model_at_once probe
  LOGS=()
  for_each_model add_log
  [[ ${#LOGS[@]} == 0 ]] ||
    run python -m eval probe validation-curves "${LOGS[@]}" --dataset "$NAME" --output "$OUTPUT/probes"
}

probe() { # SYSTEM SEED
  set_training_options "${TRAINED_AS[$1]}"
  [[ "${OPTIONS[*]}" == *"--arch interlingua_"* ]] || return 0
  set_evaluated "$@"
  run python -m eval probe interlingua "${EVALUATED[@]}" --output "$OUTPUT/probes/$1-seed$2"
}

add_log() { # SYSTEM SEED
  [[ ${TRAINED_AS[$1]} != "$1" ]] || LOGS+=("${TABLE_NAME[$1]}=$OUTPUT/models/$1-seed$2/train.log")
}

# --- report --------------------------------------------------------------------------------------------------------

stage_report() {
  for_each_model add_probe_results
  add_probe_files "$OUTPUT/probes/validation-curves.json" "$OUTPUT/curves/learning-curves.json"
  combine
  report "$OUTPUT" "$TITLE: $NAME" "${#SYSTEM_IDS[@]}" "${FOLDERS[@]}"
}

add_probe_results() { add_probe_files "$OUTPUT/probes/$1-seed$2/interlingua.json"; } # SYSTEM SEED

# Those COMBINATIONS of which all four systems are asked for; of the first seed that all have: the probe finds the others.
combine() {
  local four seed folders chosen=()
  for four in "${COMBINATIONS[@]}"; do
    for seed in "${SEED_LIST[@]}"; do
      folders=$(folders_of_four "$four" "$seed") || continue
      chosen+=("$folders")
      break
    done
  done
  [[ ${#chosen[@]} -gt 0 ]] || return 0
  run python -m eval probe combination "${FOLDERS[@]}" --combine "${chosen[@]}" --paired --output "$OUTPUT/probes"
  add_probe_files "$OUTPUT/probes/combination.json"
}

folders_of_four() { # SYSTEM:SYSTEM:SYSTEM:SYSTEM SEED
  local system folder folders=
  for system in ${1//:/ }; do
    folder=$OUTPUT/translations/$(model_name "$system" "$2")
    is_among "$folder" "${FOLDERS[@]}" || return 1
    folders+=:$folder
  done
  echo "${folders#:}"
}

experiment "$@"
