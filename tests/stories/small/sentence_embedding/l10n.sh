# shellcheck shell=bash disable=SC2034
# The configuration of that name for a table of some sentences, and in seconds.
source "$ROOT/recipes/sentence_embedding/configs/l10n.sh"
CORPUS_OPTIONS=()
LANGUAGES=(de en fr)
TOKENIZER_OPTIONS=(--tokenizer moses --lowercase) # no ja and zh
MULTIWAY=(de fr)
SUBWORD_OPTIONS=(--type sentencepiece --vocabulary-size 300)
MODEL_OPTIONS=(--encoder-layers 2 --encoder-embed-dim 32 --encoder-ffn-embed-dim 32)
SAVE_UPDATES=0
EPOCHS=100
# a log counts whole seconds, and reports whose updates took none have no speed
EXTRA_OPTIONS+=(--max-update 80 --log-interval 40 --validate-interval 100 --save-interval 100)
