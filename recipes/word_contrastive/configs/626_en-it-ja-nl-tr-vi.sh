# shellcheck shell=bash disable=SC2034
# 626_en-it-ja-nl-tr-vi of Table 5.1: spoken language, IWSLT15 and IWSLT17 (en-tr: WMT17), 6 languages, 8 GPUs.
source "$ROOT/recipes/word_contrastive/configs/222_en-ja.sh"
LANGUAGES=(en it ja nl tr vi)
SAVE_UPDATES=2000 # and validate
