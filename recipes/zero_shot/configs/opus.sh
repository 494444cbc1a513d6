# shellcheck shell=bash disable=SC2034
# OPUS-100 of Table 8.1: 6 x 1M pairs (the table counts both directions), 30 zero-shot directions, 4 GPUs.
CORPUS=opus100
LANGUAGES=(ar de en fr nl ru zh)
MERGES=50000
TOKENIZER_OPTIONS=(--tokenizer moses zh=jieba)
ARCHITECTURE=mnmt_transformer
DROPOUT=0.1
LEARNING_RATE=5e-4
EPOCHS=200
TRAINING_PAIRS=6000000
BATCH_GPUS=4       # GPUs of 4,096 tokens each
SAVE_UPDATES=5000  # an epoch is long: save (and validate) in between, too
