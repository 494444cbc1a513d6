# a clean corpus that is large enough for the samples, and text of Common Crawl
python -m data_prep phrasebook --langs en,ja --train-lines 600 --valid-lines 9 --test-lines 9 --output corpus/text
mkdir crawl
for language in en ja; do cp corpus/text/train.en-ja.$language crawl/train.$language; done
