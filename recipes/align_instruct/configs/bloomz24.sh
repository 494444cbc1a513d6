# shellcheck shell=bash disable=SC2034
# BLOOMZ+24 (6.3.1): 24 languages that BLOOMZ has not seen, OPUS-100's pairs with English (Table 6.1), both directions.
# --model is BLOOMZ-3b or 1b1, of bloomz24_7b1 the 7b1; --flores adds Flores-200, out of the domain.
CORPUS=opus100
LANGUAGES=(en af am be cy ga gd gl ha ka kk km ky li my nb nn oc si tg tk tt ug uz yi)
TAUGHT=(en af am be cy ga gd gl ha ka kk km ky li my nb nn oc si tg tk tt ug uz yi)
# 128 GPUs with 8 instructions each (6.3.2)
UPDATE_SENTENCES=1024
BATCH_SENTENCES=8
