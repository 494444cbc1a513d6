# shellcheck shell=bash disable=SC2034
# The corpus of l10n.sh in all its 28 languages, 20,000 pairs each, as one encoder for later use: text is lower-cased and segmented
# by SentencePiece alone, so that it can be exported for raw text. One epoch is 8,440 updates, 1.35 times those of l10n.sh.
source "$ROOT/recipes/sentence_embedding/configs/l10n.sh"
LANGUAGES=(ar ca cs de el en es eu "fi" fr he hi hu id it ja ko lt nl pl pt ro ru sv tr uk vi zh)
TOKENIZER_OPTIONS=(--lowercase --tokenizer none)
EPOCHS=1
TRAINING_PAIRS=540000
SAVE_UPDATES=2110 # a quarter of the epoch: save (and validate) there, too
