# shellcheck shell=bash disable=SC2034
# A toy setting (not in the paper): the phrasebook in three languages, tasks that are made of it, and an encoder that has read it.
# It shows in minutes of one core that every stage works, and nothing about alignment.
CORPUS=phrasebook
CORPUS_OPTIONS=(--train-lines 2000 --valid-lines 400 --test-lines 100)
LANGUAGES=(de en es)
MADE_ENCODER=(--layers 2 --width 64 --heads 4 --inner-width 128 --vocabulary-size 2000 --batch-tokens 2048 --updates 300
  --warmup-updates 50 --learning-rate 2e-3 --save-updates 300 --valid-lines 50)
MADE_UPDATES=(300)
LEARNING_RATE=1e-3
EPOCHS=100 # the number of updates ends it
TRAINING_PAIRS=4000
BATCH_PAIRS=32
BATCH_GPUS=1
MIN_TOKENS=3
MAX_LENGTH=130
QUEUE=512
size 2k 2000 100
XNLI_LANGUAGES=(en de es)
MLQA_LANGUAGES=(en de)
FINETUNE_OPTIONS=(--epochs 2 --batch-size 32 --warmup 10 --max-length 64 --checkpoints 2 --learning-rate 1e-3)
[[ $PRECISION != auto ]] || PRECISION=float32
