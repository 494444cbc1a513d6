# shellcheck shell=bash disable=SC2034
# Table 4.3: ASPEC-JE, its first million pairs; Common Crawl, 22M lines per language (Table 4.1).
CORPUS=text
LANGUAGES=(en ja)
ALL_SIZES=3000,10000,20000,50000
SAMPLE_OPTIONS=(--first 1000000)
SUBWORD_OPTIONS=(--merges 40000)
TOKENIZER_OPTIONS=(--tokenizer en=moses ja=jumanpp)
BUNSETSU_OPTIONS=(--parser knp)
PHRASES_OPTIONS=(--parser enju)
