# shellcheck shell=bash disable=SC2034
# BLOOMZ+3, de-nl-ru (6.3.1): three languages that BLOOMZ has not seen; supervised and zero-shot test sets of OPUS-100 in six
# languages, three of which it knows. --model is BLOOMZ-7b1.
#
# The thesis draws 200,000 pairs of each language; here they are the first ones, which OPUS-100 has drawn.
CORPUS=opus100
LANGUAGES=(ar de en fr nl ru zh)
TAUGHT=(de en nl ru)
SUPERVISED=("${LANGUAGES[@]}") # 12 directions with English and 30 without, whatever a model is taught (6.3.1)
CORPUS_OPTIONS=(--train-pairs 200000)
TRAINING_PAIRS=600000
PARAMETERS=7.07e9
# 32 GPUs with 4 instructions each (6.3.2)
UPDATE_SENTENCES=128
BATCH_SENTENCES=4
LANGUAGE_GROUPS=$HERE/groups/bloomz3.toml
