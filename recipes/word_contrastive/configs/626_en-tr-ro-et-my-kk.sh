# shellcheck shell=bash disable=SC2034
# 626_en-tr-ro-et-my-kk of Table 5.1: general domain, WMT16 to WMT19 and ALT, 6 languages, 8 GPUs. Text is that of --data-root, or is
# downloaded without it (README.md says what then differs).
source "$ROOT/recipes/word_contrastive/configs/222_en-ja.sh"
LANGUAGES=(en et kk my ro tr)
TOKENIZER_OPTIONS=(--tokenizer moses my=none) # segment Burmese with myseg.py before
SAVE_UPDATES=2000                       # and validate
TRAINING_PAIRS=2860000
[[ -n $DATA_ROOT ]] || CORPUS=mtdata
CORPUS_OPTIONS=(
  --train Statmt-europarl-7-est-eng OPUS-paracrawl-v1-eng-est
  Statmt-news_commentary-14-eng-kaz Statmt-wiki_titles-1-kaz-eng WAT-alt_train-2020-mya-eng
  Statmt-europarl-7-ron-eng OPUS-setimes-v2-eng-ron OPUS-setimes-v2-eng-tur
  --valid Statmt-newsdev_enet-2018-eng-est Statmt-newsdev_enkk-2019-eng-kaz WAT-alt_dev-2020-mya-eng
  Statmt-newsdev_enro-2016-eng-ron Statmt-newsdev_entr-2016-eng-tur
  --test Statmt-newstest_enet-2018-eng-est Statmt-newstest_enkk-2019-eng-kaz Statmt-newstest_kken-2019-kaz-eng
  WAT-alt_test-2020-mya-eng Statmt-newstest_enro-2016-eng-ron Statmt-newstest_entr-2016-eng-tur
)
