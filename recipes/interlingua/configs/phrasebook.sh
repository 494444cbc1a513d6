# shellcheck shell=bash disable=SC2034
# A toy setting (not in the papers): corpus, width and batches are those of the recipe zero_shot, and the MNMT that all systems of
# a seed start from is its system 2.
source "$ROOT/recipes/zero_shot/configs/phrasebook.sh"
ARCHITECTURE=transformer_tiny
MODEL_OPTIONS=(--decoder-layers 3)
ENCODER_LAYERS=3      # MNMT; 1 encoder and 2 interlingua layers otherwise
INTERLINGUA_LENGTH=18 # the mean length of a training sentence in subwords
# Small interlingua models take thousands of updates to begin to translate, so every system, MNMT too, starts from an MNMT.
START_SCHEDULE=("${SCHEDULE_OPTIONS[@]}")
start_settings() {
  LEARNING_RATE=2e-3
  WARMUP_UPDATES=400
  SCHEDULE_OPTIONS=("${START_SCHEDULE[@]}")
}
# Of systems with @: 1,200 updates of pre-training, then 1,200 of the MNMT, each from a learning rate that falls to 0. No pilot.
pretraining_settings() {
  LEARNING_RATE=2e-3
  WARMUP_UPDATES=200
  SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 1200 --max-update 1200)
}
LEARNING_RATE=1e-3
WARMUP_UPDATES=200
SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 1600 --max-update 1600)
