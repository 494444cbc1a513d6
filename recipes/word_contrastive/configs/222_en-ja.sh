# shellcheck shell=bash disable=SC2034
# 222_en-ja of Table 5.1: both directions of IWSLT17 en-ja, 223k pairs, 8 GPUs.
CORPUS=text
LANGUAGES=(en ja)
TOKENIZER_OPTIONS=(--tokenizer moses ja=jumanpp)
SUBWORD_OPTIONS=(--type sentencepiece --vocabulary-size 32000) # without --mbart; the size is ours
ARCHITECTURE=mnmt_transformer
DROPOUT=0.3
LEARNING_RATE=5e-4 # fairseq's usual value; the thesis does not give one
SAMPLING_OPTIONS=(--sampling-temperature 1.5)
MAX_TOKENS=1024
BATCH_GPUS=8
SAVE_UPDATES=1000 # and validate
STOPPING_OPTIONS=(--patience 8 --validate-interval 1000)
EPOCHS=1000 # early stopping ends it
TRAINING_PAIRS=223000
