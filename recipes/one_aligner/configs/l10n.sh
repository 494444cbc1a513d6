# shellcheck shell=bash disable=SC2034
# Translations of programs' messages and help pages (not in the paper), for an encoder of 4 layers of width 256 that the stage
# pretrain makes of the eleven languages' own text, in 1.6 hours of a core that multiplies bfloat16 (2.5 in float32), or another one
# by --encoder. --data-root DIR holds the table.
#
# One pair of the same size with English and German, Russian or Japanese, or German and French; four pairs; all ten with English.
# Learning rate: the encoder is a hundredth of XLM-R large, and sees a fiftieth of the pairs. Retrieval of the validation set by de-en
# (seed 10) after each of two epochs: 65.0, 76.7 with 1e-4; 78.6, 84.7 with 3e-4; 76.3, 81.6 with 1e-3. But languages that the pair does
# not have gain most by `-- --lr 3e-5`, and lose by 3e-4 (docs/results/one_pair.md). An update of 64 pairs is of one core.
CORPUS=l10n
LANGUAGES=(cs de en es fr it ja pl pt ru zh)
MULTIWAY=(cs de es fr it ja pl pt ru zh)
LANGUAGE_GROUPS=l10n_one_pair
CORPUS_OPTIONS=(--further-pairs de-fr)
PRETRAINING_OPTIONS=(--layers 4 --width 256 --heads 4 --inner-width 1024 --batch-tokens 2048 --updates 13000 --warmup-updates 1000
  --learning-rate 6e-4 --precision bfloat16 --save-updates 1300 --valid-lines 500)
PRETRAINING_UPDATES=(1300 5200 13000) # whose encoders are compared; the last one is trained
LEARNING_RATE=3e-4
BUDGET=20000
LAYERS=(0 1 2 3 4 average)
SINGLE_PAIRS=(de-en ru-en ja-en de-fr)
several four-pairs de-en fr-en ja-en ru-en
several all-pairs {cs,de,es,fr,it,ja,pl,pt,ru,zh}-en
SIZE_PAIR=de-en
SIZE_GROUP="ten core languages"
SIZES=(1000 2000 5000 10000 50000) # 20,000 is de-en itself; 50,000 are all that there are
TRAINING_PAIRS=20000
