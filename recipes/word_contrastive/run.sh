#!/usr/bin/env bash
# Word-level contrastive learning for many-to-many NMT: the systems of chapter 5 of the thesis, from text to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/translation.sh
source "$HERE/../shared/translation.sh"

RECIPE=word_contrastive TITLE="Word-level contrastive learning"
SEEDS=1
PROBE_READS=scores.json # of changes in BLEU
ALL_STAGES="prepare train translate score curves probe report"
SAMPLING_OPTIONS=() STOPPING_OPTIONS=()
COMPARISONS=(mlsc-less-dropout:mlsc-less-dropout+w2w) # the model's dropout is its architecture's, or an option of the loss

# mBART-25: fairseq's own hyperparameters for fine-tuning, where the thesis (5.2.3) says nothing.
MBART='' OUT_OF_DOMAIN=''
MBART_LEARNING_RATE=3e-5
MBART_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 40000 --warmup-updates 2500 --dropout 0.3
  --attention-dropout 0.1 --label-smoothing 0.2 --adam-eps 1e-6)
MBART_POSITIONS=1024
MBART_TAGS=() # --tags LANG=NAME for languages that mBART does not have

usage() {
  cat << END
usage: bash recipes/word_contrastive/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Aligns words, trains systems of Table 5.2 in both directions of every pair with English, translates, scores, probes the
encoder's retrieval, compares, reports. What is complete is skipped, what was killed continues. README.md beside this
file has the paper's numbers.

  --config NAME       222_en-ja, 626_en-it-ja-nl-tr-vi, 626_en-tr-ro-et-my-kk (the paper's), multi30k, enja, l10n,
                      l10n-8, phrasebook (small), or a file like those in configs/; the paper's corpora are yours to collect, see README.md
  --systems LIST      of mlsc, mbart, each also with +align, +w2w, +FA, +sent (Tables C.1 to C.3), or 'all' (with --mbart)
                      (default: those of mlsc, and of mbart where --mbart is given); mlsc-less-dropout,
                      mlsc-less-dropout+w2w (the other reading of the dropout of 5.2.3)
  --mbart DIR         mBART-25 as fairseq publishes it: model.pt, dict.txt, sentence.bpe.model; its subwords are then
                      those of all systems
  --out-of-domain DIR bitexts of the same pairs that fast_align is trained on, too (5.2.1)
$(help_of search experiment comet training force plan all)

Example: bash recipes/word_contrastive/run.sh --config multi30k --systems mlsc,mlsc+w2w --seeds 1,10 --jobs 2
END
}

check_recipe() {
  local system
  check_folders OUT_OF_DOMAIN MBART
  for system in "${SYSTEM_IDS[@]}"; do
    [[ $system != mbart* || -n $MBART ]] || die "--systems: $system starts from mBART; give its folder with --mbart"
  done
  [[ -z $MBART ]] || SUBWORD_OPTIONS=(--pretrained "$MBART")
}

# Text, subwords, word alignments, and a checkpoint of mBART with the vocabulary of the corpus.
stage_prepare() {
  local words=(--train-sample 0 --input "$OUTPUT/tokenized" --subword "$OUTPUT/subword" --data "$DATA") further=()
  fetch_text
  run python -m data_prep clean --input "$RAW" --output "$OUTPUT/text" --max-length "${MAX_WORDS:-$MAX_LENGTH}" "${CLEAN_OPTIONS[@]}"
  run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUTPUT/text" --output "$OUTPUT/tokenized"
  run python -m data_prep subword "${SUBWORD_OPTIONS[@]}" --input "$OUTPUT/tokenized" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$DATA"
  # fast_align is trained on all pairs, however many there are out of the domain (5.2.1).
  if [[ -n $OUT_OF_DOMAIN ]] && { is_asked_for +FA || is_asked_for +align; }; then
    run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUT_OF_DOMAIN" --output "$OUTPUT/out-of-domain"
    further=(--out-of-domain "$OUTPUT/out-of-domain")
  fi
  ! is_asked_for +FA ||
    run python -m data_prep align --aligner fast_align "${further[@]}" "${words[@]}" --output "$OUTPUT/aligned/fast_align"
  # Garg et al. supervise attention with all links; only word contrast needs words that have one (5.1.1).
  ! is_asked_for +align ||
    run python -m data_prep align --aligner fast_align --no-one-to-one --name fast_align-all "${further[@]}" "${words[@]}" --output "$OUTPUT/aligned/fast_align-all"
  # Word retrieval is measured with the pairs of the lexicon, whatever a system was trained with (C.3).
  run python -m data_prep align --aligner word2word "${words[@]}" --output "$OUTPUT/aligned/word2word"
  ! is_asked_for mbart ||
    run python -m fairseq_ext trim-mbart --pretrained "$MBART" --data "$DATA" "${MBART_TAGS[@]}" --output "$MBART_START"
}

is_asked_for() { [[ ,$SYSTEMS, == *"$1"* ]]; } # PART_OF_NAME

stage_train() { train_systems train_system; }

train_system() { # SYSTEM SEED
  local rate=$LEARNING_RATE length=$MAX_LENGTH own=()
  if [[ $1 == mbart* ]]; then
    rate=$MBART_LEARNING_RATE length=$MBART_POSITIONS own=(--finetune-from-model "$MBART_START" "${MBART_OPTIONS[@]}")
    [[ $DRY_RUN == yes ]] || [[ -e $MBART_START ]] || die "$MBART_START: no such file; run the stage prepare with --mbart first"
  fi
  set_training_options "$1"
  train fairseq-train "$DATA" --save-dir "$OUTPUT/models/$(model_name "$@")" --seed "$2" --task multilingual_nmt --lang-pairs "$PAIRS" \
    --lr "$rate" "${SCHEDULE_OPTIONS[@]}" --warmup-updates "$WARMUP_UPDATES" --optimizer fused_adam --adam-betas "(0.9, 0.98)" \
    --label-smoothing "$LABEL_SMOOTHING" --max-tokens "$MAX_TOKENS" --batches-per-update "$BATCH_GPUS" --max-epoch "$EPOCHS" \
    --max-source-positions "$length" --max-target-positions "$length" --skip-invalid-size-inputs-valid-test \
    "${SAVING[@]}" --log-format simple --log-interval 100 "${OPTIONS[@]}" "${own[@]}" "${EXTRA_OPTIONS[@]}"
}

stage_translate() { for_each_model_at_once translate; }

translate() { # SYSTEM SEED
  set_evaluated "$@"
  run python -m eval translate "${EVALUATED[@]}" --output "$OUTPUT/translations/$(model_name "$@")"
}

# Call a command per baseline: SYSTEM_IDS and FOLDERS are then those of the baseline and of what is added to it.
for_each_baseline() { # COMMAND
  local baseline system asked=("${SYSTEM_IDS[@]}") SYSTEM_IDS FOLDERS
  for baseline in mlsc mlsc-less-dropout mbart; do
    SYSTEM_IDS=() FOLDERS=()
    for system in "${ALL_SYSTEMS[@]}"; do
      [[ ${system%%+*} != "$baseline" ]] || ! is_among "$system" "${asked[@]}" || SYSTEM_IDS+=("$system")
    done
    for_each_model add_folder
    [[ ${#SYSTEM_IDS[@]} == 0 ]] || "$1" "$baseline"
  done
}

stage_score() { for_each_baseline score; }

# Retrieval on top of the encoder as the loss falls (5.3.2): of every checkpoint that is kept, on the validation set.
stage_curves() { [[ $KEEP_UPDATES == 1 ]] || for_each_baseline curves; }

curves() { # BASELINE
  CURVE=()
  for_each_model curve
  finish_jobs checkpoints
  [[ ${#CURVE[@]} == 0 ]] || run python -m eval probe retrieval-curves "${CURVE[@]}" --output "$OUTPUT/curves/$1"
}

curve() { # SYSTEM SEED
  CURVE_NAME=${TABLE_NAME[$1]}
  for_each_checkpoint "$(model_name "$@")" measure_later
}

measure_later() { # NAME FOLDER CHECKPOINT
  CURVE+=("$2")
  ! is_measured "$2/retrieval.json" "$3" || [[ -e $2/.retrieval.unfinished ]] || return 0
  start_job "$1" alone "$2" measured retrieve "$2/states" "$2" --checkpoint "$3" --data "$DATA" --name "$CURVE_NAME" "${DEVICE[@]}"
}

stage_probe() {
  for_each_model_at_once probe
  for_each_baseline correlate
}

# On the validation set (5.3.3, 5.3.4), between all pairs of languages.
probe() { # SYSTEM SEED
  set_evaluated "$@"
  alone "$OUTPUT/models/$(model_name "$@")" probed probe_model "$(model_name "$@")"
}

probe_model() { # NAME
  local results=$OUTPUT/probes/$1
  if is_measured "$results/retrieval.json" "${EVALUATED[1]}" && [[ ! -e $results/.retrieval.unfinished ]]; then
    note "$results: probed, skipped"
    return
  fi
  retrieve "$OUTPUT/states/$1" "$results" "${EVALUATED[@]}"
}

# The states take much room, and go afterwards.
retrieve() { # STATES RESULTS OPTION_OF_STATES...
  run python -m eval probe states "${@:3}" --splits valid --valid-directions all --forced reference --layers encoder-norm --output "$1"
  run python -m eval probe retrieval "$1" --split valid --words "$DATA" --output "$2"
  run rm -r "$1"
}

# Change in BLEU, on the test set, against change in sentence (5.3.3) and word retrieval (5.3.4): needs several systems, and
# three pairs of languages.
correlate() { # BASELINE
  local measure
  [[ ${#SYSTEM_IDS[@]} -gt 1 && ${#LANGUAGES[@]} -gt 2 ]] || return 0
  for measure in sentence word; do
    run python -m eval probe correlate "${FOLDERS[@]}" --retrieval "${FOLDERS[@]/#"$OUTPUT/translations"/"$OUTPUT/probes"}" \
      --measure "$measure" --output "$OUTPUT/probes/$1-$measure"
  done
}

stage_report() { for_each_baseline report_baseline; }

report_baseline() { # BASELINE
  PROBE_RESULTS=()
  for_each_model add_probe_results
  add_probe_files "$OUTPUT/probes/$1"-{sentence,word}/correlation.json "$OUTPUT/curves/$1/retrieval-curves.json"
  [[ $DRY_RUN == yes ]] || mkdir -p "$OUTPUT/$1"
  report "$OUTPUT/$1" "$TITLE: $NAME, ${TABLE_NAME[$1]}" "${#SYSTEM_IDS[@]}" "${FOLDERS[@]}"
}

add_probe_results() { add_probe_files "$OUTPUT/probes/$(model_name "$@")/retrieval.json"; } # SYSTEM SEED

experiment "$@"
