# shellcheck shell=bash disable=SC2034
# 626_en-tr-ro-et-my-kk of Table 5.1: general domain, WMT16 to WMT19 and ALT, 6 languages, 8 GPUs.
CORPUS=text
LANGUAGES=(en et kk my ro tr)
TOKENIZER_OPTIONS=(--tokenizer my=none) # segment Burmese with myseg.py before
SUBWORD_OPTIONS=(--type sentencepiece --vocabulary-size 32000) # without --mbart; the size is ours
ARCHITECTURE=mnmt_transformer
DROPOUT=0.3
LEARNING_RATE=5e-4 # fairseq's usual value; the thesis does not give one
SAMPLING_OPTIONS=(--sampling-temperature 1.5)
MAX_TOKENS=1024
BATCH_GPUS=8
SAVE_UPDATES=2000 # and validate
STOPPING_OPTIONS=(--patience 8 --validate-interval 1000)
EPOCHS=1000 # early stopping ends it
