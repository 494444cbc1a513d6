# shellcheck shell=bash disable=SC2034
# The configuration of that name for a corpus of some sentences, and in seconds.
source "$ROOT/recipes/jass_enss/configs/enja.sh"
ALL_SIZES=20
SUBWORD_OPTIONS=(--merges 300)
MODEL_OPTIONS=(--encoder-layers 2 --encoder-embed-dim 32 --encoder-ffn-embed-dim 32 --encoder-attention-heads 4
  --decoder-layers 2 --decoder-embed-dim 32 --decoder-ffn-embed-dim 32 --decoder-attention-heads 4)
PRETRAINING_STOP=(--max-update 4)
FINETUNING_STOP=(--max-update 4)
