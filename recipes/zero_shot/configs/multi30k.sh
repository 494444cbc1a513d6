# shellcheck shell=bash disable=SC2034
# Multi30k (not in the papers): 3 x 29,000 pairs of image captions, 6 supervised and 6 zero-shot directions. A model for
# two CPU cores: small, few epochs, and a learning rate that falls to zero at the end of them (3,602 updates).
CORPUS=multi30k
LANGUAGES=(cs de en fr)
MERGES=6000
TOKENIZER_OPTIONS=(--tokenizer moses) # as the papers' configurations
ARCHITECTURE=mnmt_transformer
MODEL_OPTIONS=(--encoder-layers 3 --encoder-embed-dim 192 --encoder-ffn-embed-dim 512 --encoder-attention-heads 4
  --decoder-layers 3 --decoder-embed-dim 192 --decoder-ffn-embed-dim 512 --decoder-attention-heads 4)
RESIDUAL_LAYER=2
TARGET_LAYERS=2
DROPOUT=0.1
LEARNING_RATE=2e-3
WARMUP_UPDATES=600
SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 3602)
MAX_TOKENS=2000
EPOCHS=2
TRAINING_PAIRS=87000
SAVE_UPDATES=900
BATCH_GPUS=1
