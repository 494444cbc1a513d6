# shellcheck shell=bash disable=SC2034
# Fine-tuning of mBART-25: its subwords, a checkpoint with the vocabulary of the corpus, and fairseq's own hyperparameters for
# it where the thesis (5.2.3) says nothing. Sourced by run.sh.

MBART=
MBART_LEARNING_RATE=3e-5
MBART_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 40000 --warmup-updates 2500 --dropout 0.3
  --attention-dropout 0.1 --label-smoothing 0.2 --adam-eps 1e-6)
MBART_POSITIONS=1024
MBART_TAGS=() # --tags LANG=NAME for languages that mBART does not have

trim_mbart() {
  [[ ,$SYSTEM_LIST == *,mbart* ]] || return 0
  run python -m fairseq_ext trim-mbart --pretrained "$MBART" --data "$DATA" "${MBART_TAGS[@]}" --output "$MBART_START"
}

finetune_mbart() { # FOLDER SEED OPTION...
  local given=("${EXTRA_OPTIONS[@]}")
  # Read by train_translation; what fine-tuning has of its own comes after the options of the configuration.
  local LEARNING_RATE=$MBART_LEARNING_RATE MAX_LENGTH=$MBART_POSITIONS EXTRA_OPTIONS=("${MBART_OPTIONS[@]}" "${given[@]}")
  leaves_nothing || [[ -e $MBART_START ]] || die "$MBART_START: no such file; run the stage prepare with --mbart first"
  train_translation "$@" --finetune-from-model "$MBART_START"
}
