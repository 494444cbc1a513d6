# shellcheck shell=bash disable=SC2034
# The configuration of that name for a corpus of some sentences, and in seconds.
source "$ROOT/recipes/interlingua/configs/multi30k.sh"
MERGES=300
ENCODER_LAYERS=2
MODEL_OPTIONS=(--encoder-embed-dim 32 --encoder-ffn-embed-dim 32 --encoder-attention-heads 4
  --decoder-layers 2 --decoder-embed-dim 32 --decoder-ffn-embed-dim 32 --decoder-attention-heads 4)
BEAM=2
SEARCH_OPTIONS=(--max-len-b 10)
EXTRA_OPTIONS+=(--max-update 4)
