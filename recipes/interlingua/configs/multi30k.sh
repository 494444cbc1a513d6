# shellcheck shell=bash disable=SC2034
# Multi30k (not in the papers): 3 x 29,000 pairs of image captions, 6 supervised and 6 zero-shot directions. A model for
# two CPU cores: small, two epochs, and a learning rate that falls to zero at the end of the second.
CORPUS=multi30k
LANGUAGES=(cs de en fr)
MERGES=6000
TOKENIZER_OPTIONS=(--tokenizer moses) # as the papers' configurations
ARCHITECTURE=transformer
ENCODER_LAYERS=3 # MNMT; 1 encoder and 2 interlingua layers otherwise
INTERLINGUA_LENGTH=16
MODEL_OPTIONS=(--encoder-embed-dim 192 --encoder-ffn-embed-dim 512 --encoder-attention-heads 4
  --decoder-layers 3 --decoder-embed-dim 192 --decoder-ffn-embed-dim 512 --decoder-attention-heads 4)
DROPOUT=0.1
MAX_TOKENS=2000
SAVE_UPDATES=900
BATCH_GPUS=1
# Small interlingua models take thousands of updates to begin to translate, so every system, MNMT too, starts from an MNMT.
start_settings() {
  LEARNING_RATE=2e-3
  WARMUP_UPDATES=600
  SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 3602)
  EPOCHS=2
}
LEARNING_RATE=1e-3
WARMUP_UPDATES=200
SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 1801)
EPOCHS=1
TRAINING_PAIRS=87000
