# shellcheck shell=bash disable=SC2034
# Table 4.4: ASPEC-JC; Common Crawl, 22M lines per language (Table 4.1).
CORPUS=text
LANGUAGES=(ja zh)
ALL_SIZES=3000,10000,20000,50000
SUBWORD_OPTIONS=(--merges 30000)
TOKENIZER_OPTIONS=(--tokenizer ja=jumanpp zh=jieba)
BUNSETSU_OPTIONS=(--parser knp)
