# shellcheck shell=bash disable=SC2034
# Europarl of Table 7.1: 7.89M pairs (the table counts both directions), 12 zero-shot directions, Transformer-big, 8 GPUs.
CORPUS=europarl
LANGUAGES=(de en es fr nl)
MERGES=50000
TOKENIZER_OPTIONS=(--tokenizer moses)
ARCHITECTURE=transformer_big
INTERLINGUA_LENGTH=30
DROPOUT=0.3
LEARNING_RATE=5e-4
EPOCHS=500
TRAINING_PAIRS=7890000
BATCH_GPUS=8
SAVE_UPDATES=5000
