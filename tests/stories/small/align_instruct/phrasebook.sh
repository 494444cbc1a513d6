# shellcheck shell=bash disable=SC2034
# The toy setting of the recipe in seconds: it learns nothing, and every stage has something to do.
source "$ROOT/recipes/align_instruct/configs/phrasebook.sh"
LANGUAGES=(de en ru)
KNOWN=(de en)
TAUGHT=(en ru)
CORPUS_OPTIONS=(--train-lines 40 --valid-lines 6 --test-lines 4)
BASE_OPTIONS=(--vocabulary-size 300 --width 16 --layers 2 --heads 2)
BASE_TUNING=(--epochs 1)
EPOCHS=1
DECODING_OPTIONS=(--max-output 8)
PROBE_LINES=6
