# shellcheck shell=bash disable=SC2034
# Translations of programs' messages and help pages (not in the paper): the data of recipes/sentence_embedding --config l10n, and an
# encoder of that recipe, 4 layers of width 192, as the teacher. Four students: a half and a quarter of the teacher's parameters
# but for the embeddings (Table 3.1's P_E), as thin and deep encoders (8 layers, a half or a third of the width) and as shallow ones
# (the teacher's width, 2 layers or 1).
#
#   thin-half       8 x  96, 256, 4 heads     697k of the teacher's 1,385k
#   thin-quarter    8 x  64, 192, 4 heads     334k
#   shallow-half    2 x 192, 512, 4 heads     693k
#   shallow-quarter 1 x 192, 512, 4 heads     346k
#
# Losses: additive margin has the temperature of LaBSE-EMS-scaled (2.4), without which it hardly learns (docs/results/ems.md). Features are
# compared at length 1 and by the mean over dimensions, and T of 3.4 is 1, as T = 100 makes gamma 1e-2 a weight of 1e-6. Of a pair the
# three losses then are 14, 16 and 5 nats in the first 30 updates (thin-half, German and English).
CORPUS=l10n
LANGUAGES=(cs de en es fr it ja pl pt ru zh)
MULTIWAY=(cs de es fr it ja pl pt ru zh)
LANGUAGE_GROUPS=l10n
CORPUS_OPTIONS=(--train-pairs 20000)
TOKENIZER_OPTIONS=(--lowercase)
SUBWORD_OPTIONS=(--type sentencepiece --vocabulary-size 16000)
ARCHITECTURE=ems_small
DROPOUT=0.1
LEARNING_RATE=1e-3
SCHEDULE_OPTIONS=(--lr-scheduler fixed --warmup-updates 500)
WEIGHT_DECAY=1e-5
MAX_LENGTH=120
EPOCHS=2
SAVE_UPDATES=1562 # half an epoch: save (and validate) there, too
BATCH_PAIRS=64
BATCH_GPUS=1
GAMMA=10
MARGIN_OPTIONS=(--additive-margin-temperature 0.1)
FEATURE_OPTIONS=(--feature-distillation-normalize both --feature-distillation-mean)
LOGIT_OPTIONS=(--logit-distillation-temperature 1)
TEACHER_WIDTH=192
SMALLER_OPTIONS=(--vectors "int8,int8+rescored,binary,binary+rescored")
REDUCED_START=--finetune-from-model # what reduced-N begins with
TEACHER_MODEL=(--arch ems_small --encoder-embed-dim 192 --encoder-ffn-embed-dim 512 --encoder-attention-heads 4)

shaped() { # NAME LAYERS WIDTH INNER_WIDTH HEADS
  student "$1" "$3" '' --arch "$ARCHITECTURE" --encoder-layers "$2" --encoder-embed-dim "$3" --encoder-ffn-embed-dim "$4" \
    --encoder-attention-heads "$5" --attention-dropout 0.1
}
shaped thin-half 8 96 256 4
shaped thin-quarter 8 64 192 4
shaped shallow-half 2 192 512 4
shaped shallow-quarter 1 192 512 4
ABLATED=(thin-half)
REDUCTIONS=(128 96 64 48 32 16)
REDUCTION_OPTIONS=(--max-update 1000)
REDUCED_VECTORS=$TEACHER_NAME
