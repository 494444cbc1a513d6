# shellcheck shell=bash disable=SC2034
# 50,000 short pairs of the Tanaka corpus (not in the thesis): pre-training on the two sides of about 38,000 of them,
# without their pairing, fine-tuning on 3,000 and 10,000 others. A model for two CPU cores or minutes of a GPU. English is
# tokenized and in lower case as it is published.
CORPUS=enja
LANGUAGES=(en ja)
ALL_SIZES=3000,10000
SYSTEMS=${SYSTEMS:-mass,none,jass,enss,mass+deshuffling}
SUBWORD_OPTIONS=(--merges 4000)
TOKENIZER_OPTIONS=(--tokenizer en=none ja=mecab)
BUNSETSU_OPTIONS=(--parser ginza)
PHRASES_OPTIONS=(--parser spacy)
ARCHITECTURE=mnmt_transformer
MODEL_OPTIONS=(--encoder-layers 3 --encoder-embed-dim 128 --encoder-ffn-embed-dim 512 --encoder-attention-heads 4
  --decoder-layers 3 --decoder-embed-dim 128 --decoder-ffn-embed-dim 512 --decoder-attention-heads 4)
NORM_OPTIONS=() # PostNorm, as in docs/results/jass_enss.md
PRETRAINING_OPTIONS=() # masked tokens only are predicted, as in docs/results/jass_enss.md
MAX_TOKENS=2000
FINETUNING_TOKENS=1000
PRETRAINING_LEARNING_RATE=2e-3
LEARNING_RATE=1e-3
PRETRAINING_WARMUP=400
WARMUP_UPDATES=200
# validated after so many updates, not after every epoch: 3,000 pairs have 40 updates
PRETRAINING_STOP=(--max-update 3000 --save-interval-updates 1000 --keep-interval-updates 1 --validate-interval 1000)
FINETUNING_STOP=(--max-update 1200 --save-interval-updates 100 --keep-interval-updates 1 --validate-interval 1000
  --save-interval 1000 --patience 4)
PRETRAINING_GPUS=1
