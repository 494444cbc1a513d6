# shellcheck shell=bash disable=SC2034
# The paper's hyperparameters (3.3.2), with LaBSE as the teacher and its vocabulary; --teacher is LaBSE's folder.
#
# The paper trains on the corpora of LaBSE, 109 languages, which are not public. Here it is OPUS with 61 languages and English, as
# in recipes/sentence_embedding --config ems, whose corpora these are, but for UNPC: here UN is a test set (3.2.1).
#
# Learning rate: 1e-3 for widths "larger than 384" and 5e-4 "smaller than 256" are read as from 384 on, and up to 256. Updates: 200k
# "over 256" and 100k "below 192" are read as from 256 on, and up to 192. Decay is linear, as LaBSE's ("initial learning
# rate"). Weight decay is that of torch's AdamW. The batch of "8,192 sentences" is read as pairs of sentences.
source "$ROOT/recipes/sentence_embedding/configs/ems.sh"
mapfile -t TRAIN_IDS < <(printf '%s\n' "${TRAIN_IDS[@]}" | grep -v -- -unpc-)
CORPUS_OPTIONS=(--train "${TRAIN_IDS[@]}" --valid "${VALID_IDS[@]}" --test "${TEST_IDS[@]}")
TOKENIZER_OPTIONS=()
SUBWORD_OPTIONS=(--tokenizer "$TEACHER")
ARCHITECTURE=lealla_small
MODEL_OPTIONS=()
DROPOUT=0.1
LEARNING_RATE=5e-4
SCHEDULE_OPTIONS=()
WEIGHT_DECAY=1e-2
MAX_LENGTH=128
EPOCHS=1000 # the students' own numbers of updates come first
TRAINING_PAIRS=143000000
SAVE_UPDATES=5000
BATCH_PAIRS=512
BATCH_GPUS=16 # of a GPU each: 8,192 pairs, which are compared with each other on so many GPUs
SELECTION_OPTIONS=(--best-checkpoint-metric retrieval --maximize-best-checkpoint-metric)
MARGIN_OPTIONS=(--additive-margin-gather-negatives)
LOGIT_OPTIONS=(--logit-distillation-gather)
TEACHER_WIDTH=768
TEACHER_POOLING=pooler
[[ $LAUNCHER == cpu ]] || ENCODE_OPTIONS=(--batch-tokens 65536)
SMALLER_OPTIONS=(--vectors "int8,int8+rescored,binary,binary+rescored")

updates() { OF_UPDATES=(--lr-scheduler polynomial_decay --total-num-update "$1" --max-update "$1"); } # NUMBER

updates 100000
student small 128 1e3 --arch lealla_small "${OF_UPDATES[@]}"
student base 192 1e3 --arch lealla_base "${OF_UPDATES[@]}"
updates 200000
student large 256 1e4 --arch lealla_large "${OF_UPDATES[@]}"
ABLATED=(small base large)

# The other rows of Tables 3.1 and A.3, with additive margin alone; row 0 is the teacher.
plain() { # ARCHITECTURE WIDTH LEARNING_RATE UPDATES
  updates "$4"
  student "$1" "$2" '' --arch "$1" "${OF_UPDATES[@]}" --lr "$3"
  MARGIN_ALONE+=("$1")
}
plain labse_6_layers 768 1e-3 200000
plain labse_3_layers 768 1e-3 200000
plain labse_width_384 384 1e-3 200000
plain labse_width_192 192 5e-4 100000
plain thin_deep_384 384 1e-3 200000
plain thin_deep_64 64 5e-4 100000
plain mobilebert_like_256 256 5e-4 200000
plain mobilebert_like_192 192 5e-4 100000
plain mobilebert_like_128 128 5e-4 100000

# The last layer below --sentence-width is LaBSE's pooler, whose vectors are stored once more, without the length 1 that the folder
# gives them. The learning rate for a width above 384 is 1e-3 (3.3.2).
REDUCTIONS=(512 384 256 192 128 64 32)
REDUCED_START=--pretrained-encoder
TEACHER_MODEL=(--arch sentence_encoder --pooling pooler)
REDUCED_VECTORS=pooler
REDUCED_VECTORS_OPTIONS=(--encoder transformers --pooling pooler)
REDUCTION_OPTIONS=(--lr 1e-3 --lr-scheduler polynomial_decay --total-num-update 5000 --max-update 5000)
