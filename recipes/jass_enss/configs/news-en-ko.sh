# shellcheck shell=bash disable=SC2034
# Table 4.6: News, 20,000 pairs and all 94,000; Common Crawl, 22M lines per language (Table 4.1).
CORPUS=text
LANGUAGES=(en ko)
ALL_SIZES=20000,all
SUBWORD_OPTIONS=(--merges 30000)
TOKENIZER_OPTIONS=(--tokenizer en=moses ko=moses)
PHRASES_OPTIONS=(--parser enju)
