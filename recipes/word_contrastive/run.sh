#!/usr/bin/env bash
# Word-level contrastive learning for many-to-many NMT: the systems of chapter 5 of the thesis, from text to tables.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=recipes/common.sh
source "$HERE/../common.sh"

METHODS="align w2w FA sent" # the rows of Tables C.1 to C.3 below each baseline

# Fine-tuning of mBART: fairseq's own recipe for it, where the thesis (5.2.3) says nothing.
MBART_LEARNING_RATE=3e-5
MBART_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 40000 --warmup-updates 2500 --dropout 0.3
  --attention-dropout 0.1 --label-smoothing 0.2 --adam-eps 1e-6)
MBART_POSITIONS=1024 # of mBART-25
MBART_TAGS=()        # --tags LANG=NAME for languages that mBART does not have
SAMPLING_OPTIONS=()
STOPPING_OPTIONS=()

CONFIG=
SYSTEM_LIST=
SEEDS=1
ALL_STAGES="prepare train translate score probe report"
STAGES=${ALL_STAGES// /,}
DATA_ROOT=
OUT_OF_DOMAIN=
MBART=
OUTPUT=

usage() {
  cat << END
usage: bash recipes/word_contrastive/run.sh --config NAME [options] [-- OPTION of fairseq-train ...]

Aligns words, trains systems of Table 5.2 in both directions of every pair with English, translates, scores, probes the
encoder's retrieval, compares, reports. What is complete is skipped, what was killed continues. README.md beside this
file has the paper's numbers.

  --config NAME       222_en-ja, 626_en-it-ja-nl-tr-vi, 626_en-tr-ro-et-my-kk (the paper's), multi30k, enja (small),
                      or a file like those in configs/
  --systems LIST      of mlsc, mbart, each also with +align, +w2w, +FA, +sent (Tables C.1 to C.3), or 'all'
                      (default: those of mlsc, and of mbart where --mbart is given)
  --mbart DIR         mBART-25 as fairseq publishes it: model.pt, dict.txt, sentence.bpe.model; its subwords are then
                      those of all systems
  --seeds LIST        one training per system and seed (default: $SEEDS)
  --stages LIST       some of ${ALL_STAGES// /,} (default: all)
  --data-root DIR     local folder of the corpus; the paper's are yours to collect, see README.md
  --out-of-domain DIR bitexts of the same pairs that fast_align is trained on, too (5.2.1)
  --output DIR        folder for everything (default: outputs/word_contrastive/CONFIG)
$(usage_of_training)
$(usage_of_all)

Example: bash recipes/word_contrastive/run.sh --config multi30k --systems mlsc,mlsc+w2w --seeds 1,10 --jobs 2
END
}

read_options "$RECIPE_OPTIONS mbart out-of-domain" "" "$@"

# --- check everything before anything is run --------------------------------------------------------------------

systems_of() { # BASELINE: itself and with every method
  local method
  printf '%s' "$1"
  for method in $METHODS; do printf ',%s' "$1+$method"; done
}

load_config "$HERE"
[[ -n $SYSTEM_LIST ]] || SYSTEM_LIST=$(systems_of mlsc)${MBART:+,$(systems_of mbart)}
[[ $SYSTEM_LIST != all ]] || SYSTEM_LIST=$(systems_of mlsc),$(systems_of mbart)
split_lists DATA_ROOT OUT_OF_DOMAIN MBART
for system in "${SYSTEM_IDS[@]}"; do
  # shellcheck disable=SC2046  # a list of words
  one_of --systems "$system" $(tr , ' ' <<< "$(systems_of mlsc),$(systems_of mbart)")
  [[ $system != mbart* || -n $MBART ]] || die "--systems: $system starts from mBART; give its folder with --mbart"
done
if [[ $CORPUS == text && $STAGES == *prepare* ]]; then
  [[ -n $DATA_ROOT ]] || die "--config $CONFIG: give your text with --data-root, README.md says which"
fi

use_environment
check_launcher

OUTPUT=${OUTPUT:-outputs/word_contrastive/$(basename "$CONFIG_FILE" .sh)}
DATA=$OUTPUT/data/$(basename "$CONFIG_FILE" .sh) # the folder's name becomes the name of the test set in tables
LEXICON_DATA=$DATA-w2w                           # the same sentences; a folder holds the alignments of one aligner
MBART_START=$OUTPUT/mbart/start.pt
PAIRS=$(english_centric "${LANGUAGES[@]}")
TAGGED=$(printf '%s\n' "${LANGUAGES[@]}" | sort | paste -sd,)
[[ -z $MBART ]] || SUBWORD_OPTIONS=(--pretrained "$MBART")

has_method() { # METHOD...: of any system
  local system method
  for system in "${SYSTEM_IDS[@]}"; do
    for method in "$@"; do [[ $system != *+"$method" ]] || return 0; done
  done
  return 1
}

name_of() { # SYSTEM: as in the tables
  local name=MLSC
  [[ $1 != mbart* ]] || name="mBART FT"
  if [[ $1 == *+* ]]; then name+=" +${1#*+}"; fi
  echo "$name"
}

# --- stages ------------------------------------------------------------------------------------------------------

# Words as the translation model has them, or of other text; then alignments beside the binarized sentences.
align() {
  local joined=()
  if has_method align FA; then
    if [[ -n $OUT_OF_DOMAIN ]]; then
      run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUT_OF_DOMAIN" --output "$OUTPUT/out-of-domain"
      joined=(--out-of-domain "$OUTPUT/out-of-domain")
    fi
    run python -m data_prep align --aligner fast_align "${joined[@]}" --input "$OUTPUT/tokenized" \
      --subword "$OUTPUT/subword" --data "$DATA" --output "$OUTPUT/aligned/fast_align"
  fi
  # Word retrieval is measured with the pairs of the lexicon, whatever a system was trained with (C.3).
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$LEXICON_DATA"
  run python -m data_prep align --aligner word2word --input "$OUTPUT/tokenized" \
    --subword "$OUTPUT/subword" --data "$LEXICON_DATA" --output "$OUTPUT/aligned/word2word"
}

trim_mbart() {
  [[ ,$SYSTEM_LIST == *,mbart* ]] || return 0
  run python -m eval trim-mbart --pretrained "$MBART" --data "$DATA" "${MBART_TAGS[@]}" --output "$MBART_START"
}

# Options of the criterion, one per line.
loss_options() { # SYSTEM
  local losses=
  case $1 in
    *+align) losses=attention_alignment ;;
    *+w2w | *+FA) losses=word_contrastive ;;
    *+sent) losses=sentence_contrastive ;;
    *) printf '%s\n' --criterion fused_label_smoothed_cross_entropy && return ;;
  esac
  printf '%s\n' --criterion nmt_with_auxiliary_losses --fused-vocabulary-loss --auxiliary-losses "$losses" \
    --best-checkpoint-metric nmt_loss # so that all systems stop by the same measure
}

train_system() { # SYSTEM SEED
  local options folder=$OUTPUT/models/$1-seed$2 DATA=$DATA
  mapfile -t options < <(loss_options "$1")
  options+=("${SAMPLING_OPTIONS[@]}" "${STOPPING_OPTIONS[@]}")
  [[ $1 != *+w2w ]] || DATA=$LEXICON_DATA
  if [[ $1 == mlsc* ]]; then
    train_translation "$folder" "$2" --arch "$ARCHITECTURE" "${MODEL_OPTIONS[@]}" --norm-placement post \
      --language-tags s-enc-t-dec --dropout "$DROPOUT" "${options[@]}"
  else
    finetune_mbart "$folder" "$2" "${options[@]}"
  fi
}

finetune_mbart() { # RUN_FOLDER SEED OPTION...
  local given=("${EXTRA_OPTIONS[@]}")
  # Read by train_translation; what fine-tuning has of its own comes after the options of the configuration.
  local LEARNING_RATE=$MBART_LEARNING_RATE MAX_LENGTH=$MBART_POSITIONS EXTRA_OPTIONS=("${MBART_OPTIONS[@]}" "${given[@]}")
  [[ $DRY_RUN == yes || -e $MBART_START ]] || die "$MBART_START: no such file; run the stage prepare with --mbart first"
  train_translation "$1" "$2" --arch mnmt_transformer_mbart --language-tags mbart --langs "$TAGGED" \
    --finetune-from-model "$MBART_START" "${@:3}"
}

train_all() {
  local system seed
  [[ $DRY_RUN == yes || -d $DATA ]] || die "$DATA: no such folder; run the stage prepare first"
  for seed in "${SEED_LIST[@]}"; do
    for system in "${SYSTEM_IDS[@]}"; do
      start_job train_system "$system" "$seed"
    done
  done
  finish_jobs
}

# Fill EVALUATED, the options that translate and the probe share.
set_evaluated() { # SYSTEM SEED
  local checkpoint=$OUTPUT/models/$1-seed$2/checkpoint_best.pt # lowest validation loss (5.2.3)
  [[ $DRY_RUN == yes || -e $checkpoint ]] || die "$checkpoint: no such file; run the stage train first"
  EVALUATED=(--checkpoint "$checkpoint" --data "$DATA" --beam "$BEAM" --name "$(name_of "$1")")
  [[ $LAUNCHER != cpu ]] || EVALUATED+=(--cpu)
}

translate() { # SYSTEM SEED
  set_evaluated "$@"
  run python -m eval translate "${EVALUATED[@]}" --output "$OUTPUT/translations/$1-seed$2"
}

# Sentence and word retrieval on top of the encoder, on the validation set (5.3.3, 5.3.4). The states go afterwards.
probe() { # SYSTEM SEED
  local states=$OUTPUT/states/$1-seed$2 results=$OUTPUT/probes/$1-seed$2
  set_evaluated "$@"
  if [[ $results/retrieval.json -nt $OUTPUT/models/$1-seed$2/checkpoint_best.pt ]]; then
    note "$results: probed, skipped"
    return
  fi
  run python -m eval probe states "${EVALUATED[@]}" --splits valid --forced reference --layers encoder-norm \
    --output "$states"
  run python -m eval probe retrieval "$states" --split valid --words "$LEXICON_DATA" --output "$results"
  run rm -r "$states"
}

# Fill FOLDERS and RETRIEVALS, translations and probes of a baseline and what is added to it, the baseline first.
set_group() { # BASELINE
  local system seed
  FOLDERS=() RETRIEVALS=()
  for system in $(systems_of "$1" | tr , ' '); do
    [[ ,$SYSTEM_LIST, == *,"$system",* ]] || continue
    for seed in "${SEED_LIST[@]}"; do
      FOLDERS+=("$OUTPUT/translations/$system-seed$seed")
      RETRIEVALS+=("$OUTPUT/probes/$system-seed$seed")
    done
  done
}

# Change in BLEU against change in sentence retrieval (5.3.3): needs several systems, and three pairs of languages.
correlate() { # BASELINE
  if [[ ${#FOLDERS[@]} -gt ${#SEED_LIST[@]} && ${#LANGUAGES[@]} -gt 3 ]]; then
    run python -m eval probe correlate "${FOLDERS[@]}" --retrieval "${RETRIEVALS[@]}" --output "$OUTPUT/probes/$1"
  fi
}

# One report per baseline, in which every system is compared with it (Koehn 2004).
report_group() { # BASELINE
  local folder file
  PROBE_RESULTS=()
  for folder in "${RETRIEVALS[@]}"; do
    file=$folder/retrieval.json
    [[ ! -e $file ]] || PROBE_RESULTS+=("$file")
  done
  file=$OUTPUT/probes/$1/correlation.json
  [[ ! -e $file ]] || PROBE_RESULTS+=("$file")
  report "$OUTPUT/$1" "Word-level contrastive learning: $(basename "$CONFIG_FILE" .sh), $(name_of "$1")" "${FOLDERS[@]}"
}

if has_stage prepare; then
  note "prepare: $CORPUS (${LANGUAGES[*]})"
  prepare
  align
  trim_mbart
fi
if has_stage train; then
  note "train: systems $SYSTEM_LIST, seeds $SEEDS"
  train_all
fi
if has_stage translate; then
  for_each translate
fi
if has_stage probe; then
  for_each probe
fi
for group in mlsc mbart; do
  set_group "$group"
  [[ ${#FOLDERS[@]} -gt 0 ]] || continue
  if has_stage score; then
    note "score: $group"
    score "${FOLDERS[@]}"
  fi
  if has_stage probe; then
    correlate "$group"
  fi
  if has_stage report; then
    note "report: $group"
    [[ $DRY_RUN == yes ]] || mkdir -p "$OUTPUT/$group"
    report_group "$group"
  fi
done
