# shellcheck shell=bash disable=SC2034
# A toy setting (not in the papers): a small model that is made here and taught German, Spanish and French with English from nothing,
# then by adapters Finnish and Russian, which it has never seen. Its tokenizer knows their words: byte by byte, as scripts that a
# tokenizer has not seen, a Russian sentence has 150 tokens, and a training takes hours.
CORPUS=phrasebook
LANGUAGES=(de en es "fi" fr ru)
KNOWN=(de en es fr)
TAUGHT=(en "fi" ru)
CORPUS_OPTIONS=(--train-lines 2000 --valid-lines 200 --test-lines 200)
BASE_OPTIONS=(--vocabulary-size 4000 --width 128 --layers 4 --heads 4)
BASE_TUNING=(--epochs 3 --learning-rate 2e-3)
LEARNING_RATE=3e-3
EPOCHS=5
UPDATE_SENTENCES=32
BATCH_SENTENCES=32
TUNING_OPTIONS=(--valid-instructions 400)
DECODING_OPTIONS=(--batch-sentences 64 --max-output 100)
PROBE_LINES=200
LANGUAGE_GROUPS=$HERE/groups/phrasebook.toml
