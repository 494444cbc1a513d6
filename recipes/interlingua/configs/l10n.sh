# shellcheck shell=bash disable=SC2034
# Real text (not in the papers): corpus, width and batches are those of the recipe zero_shot. All systems of a seed start from one MNMT
# of 2,400 updates, its system 2 but for that number (4,700 there), and are trained for 1,200 more, in the proportion that multi30k.sh has.
source "$ROOT/recipes/zero_shot/configs/l10n.sh"
ARCHITECTURE=transformer
MODEL_OPTIONS=(--encoder-embed-dim 192 --encoder-ffn-embed-dim 512 --encoder-attention-heads 4
  --decoder-layers 3 --decoder-embed-dim 192 --decoder-ffn-embed-dim 512 --decoder-attention-heads 4)
ENCODER_LAYERS=3      # MNMT; 1 encoder and 2 interlingua layers otherwise
INTERLINGUA_LENGTH=18 # a training sentence has about 18.5 subwords (three sides counted as a whole, three by every tenth line)
# Small interlingua models take thousands of updates to begin to translate, so every system, MNMT too, starts from an MNMT.
start_settings() {
  LEARNING_RATE=2e-3
  WARMUP_UPDATES=600
  SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 2400 --max-update 2400)
}
# Of systems with @: half of the updates of a start are pre-training. No pilot.
pretraining_settings() {
  LEARNING_RATE=2e-3
  WARMUP_UPDATES=300
  SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 1200 --max-update 1200)
}
# Then half as many updates at half the rate, as multi30k.sh has them.
LEARNING_RATE=1e-3
WARMUP_UPDATES=200
SCHEDULE_OPTIONS=(--lr-scheduler polynomial_decay --total-num-update 1200 --max-update 1200)
