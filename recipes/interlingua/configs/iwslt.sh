# shellcheck shell=bash disable=SC2034
# IWSLT17 multilingual of Table 7.1: 0.69M pairs (the table counts both directions), 6 zero-shot directions, 4 GPUs.
CORPUS=iwslt17
LANGUAGES=(en it nl ro)
MERGES=40000
TOKENIZER_OPTIONS=(--tokenizer moses)
ARCHITECTURE=transformer
INTERLINGUA_LENGTH=21
DROPOUT=0.4
LEARNING_RATE=1e-3
EPOCHS=200
TRAINING_PAIRS=690000
BATCH_GPUS=4
