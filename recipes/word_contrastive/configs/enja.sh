# shellcheck shell=bash disable=SC2034
# 50,000 short pairs of the Tanaka corpus (not in the paper): both directions, Japanese in MeCab words. The English side is
# tokenized and in lower case as it is published. Model as multi30k's, 1,200 updates: it is one pair of languages.
source "$ROOT/recipes/zero_shot/configs/multi30k.sh"
CORPUS=enja
LANGUAGES=(en ja)
TOKENIZER_OPTIONS=(--tokenizer en=none ja=mecab)
SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 1200 --max-update 1200)
EPOCHS=100 # the number of updates ends it
