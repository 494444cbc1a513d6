# shellcheck shell=bash disable=SC2034
# 50,000 short pairs of the Tanaka corpus (not in the thesis): pre-training on the two sides of about 38,000 of them,
# without their pairing, fine-tuning on 3,000 and 10,000 others. A model for two CPU cores or minutes of a GPU. English is
# tokenized and in lower case as it is published.
CORPUS=enja
LANGUAGES=(en ja)
SIZES=3000,10000
SYSTEM_LIST=${SYSTEM_LIST:-mass,none,jass,enss,mass+deshuffling}
SUBWORD_OPTIONS=(--merges 8000)
TOKENIZER_OPTIONS=(--tokenizer en=none ja=mecab)
BUNSETSU_OPTIONS=(--parser ginza)
PHRASES_OPTIONS=(--parser spacy)
ARCHITECTURE=mnmt_transformer
MODEL_OPTIONS=(--encoder-layers 3 --encoder-embed-dim 256 --encoder-ffn-embed-dim 1024 --encoder-attention-heads 4
  --decoder-layers 3 --decoder-embed-dim 256 --decoder-ffn-embed-dim 1024 --decoder-attention-heads 4)
PRETRAINING_LEARNING_RATE=1e-3
LEARNING_RATE=5e-4
PRETRAINING_WARMUP=1000
WARMUP_UPDATES=400
PRETRAINING_STOP=(--max-update 12000)
FINETUNING_STOP=(--max-update 4000 --patience 10)
PRETRAINING_GPUS=1
