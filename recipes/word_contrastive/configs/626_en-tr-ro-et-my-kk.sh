# shellcheck shell=bash disable=SC2034
# 626_en-tr-ro-et-my-kk of Table 5.1: general domain, WMT16 to WMT19 and ALT, 6 languages, 8 GPUs.
source "$ROOT/recipes/word_contrastive/configs/222_en-ja.sh"
LANGUAGES=(en et kk my ro tr)
TOKENIZER_OPTIONS=(--tokenizer moses my=none) # segment Burmese with myseg.py before
SAVE_UPDATES=2000                       # and validate
