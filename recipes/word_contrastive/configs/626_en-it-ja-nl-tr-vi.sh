# shellcheck shell=bash disable=SC2034
# 626_en-it-ja-nl-tr-vi of Table 5.1: spoken language, IWSLT15 and IWSLT17 (en-tr: WMT17), 6 languages, 8 GPUs. Text is that of
# --data-root, or is downloaded without it (README.md says what then differs).
source "$ROOT/recipes/word_contrastive/configs/222_en-ja.sh"
LANGUAGES=(en it ja nl tr vi)
SAVE_UPDATES=2000 # and validate
TRAINING_PAIRS=1031000
[[ -n $DATA_ROOT ]] || CORPUS=mtdata
CORPUS_OPTIONS=(
  --train Neulab-tedtalks_train-1-eng-{ita,jpn,nld} OPUS-setimes-v2-eng-tur StanfordNLP-iwslt15_train-1-eng-vie
  --valid Neulab-tedtalks_dev-1-eng-{ita,jpn,nld} Statmt-newsdev_entr-2016-eng-tur StanfordNLP-test2012-1-eng-vie
  --test Neulab-tedtalks_test-1-eng-{ita,jpn,nld} Statmt-newstest_entr-2016-eng-tur StanfordNLP-test2013-1-eng-vie
)
