# shellcheck shell=bash disable=SC2034
# A toy setting (not in the paper): three states of one encoder that has read the phrasebook in three languages, and tasks that are
# made of it. It shows in minutes of one core that every stage works, and nothing about encoders.
CORPUS=phrasebook
CORPUS_OPTIONS=(--train-lines 2000 --valid-lines 400 --test-lines 100)
LANGUAGES=(de en es)
MADE_ENCODER=(--layers 2 --width 64 --heads 4 --inner-width 128 --vocabulary-size 2000 --batch-tokens 2048 --updates 120
  --warmup-updates 30 --learning-rate 2e-3 --save-updates 40 --valid-lines 50)
MADE_UPDATES=(40 80 120)
#       name       layer rate  calibration
encoder update-40  1     1e-3  --sts-epochs 1 --batch-size 32 --learning-rate 1e-3
encoder update-80  1     1e-3  --sts-epochs 1 --batch-size 32 --learning-rate 1e-3
encoder update-120 1     1e-3  --sts-epochs 1 --batch-size 32 --learning-rate 1e-3
CURVES=(update-40)
SEEDS=1
XNLI_LANGUAGES=(en de es)
GAP_SOURCE=de
NAME_LANGUAGES=(en de es)
STS_LANGUAGES=(en de es)
VALID_LANGUAGES=(de es)
SHORT=(--epochs 1 --batch-size 32 --warmup 5 --max-length 64 --checkpoints 2)
XNLI_OPTIONS=("${SHORT[@]}") MANUAL_OPTIONS=() NAMES_OPTIONS=("${SHORT[@]}") ANSWERS_OPTIONS=("${SHORT[@]}" --learning-rate 1e-3)
