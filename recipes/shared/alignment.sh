# shellcheck shell=bash
# Word alignments beside the binarized sentences. Sourced by run.sh.

OUT_OF_DOMAIN=

# Words as the translation model has them, or of other text; then alignments beside the binarized sentences. Aligners are trained on all
# pairs (5.2.1), however many there are out of the domain.
align() {
  local joined=()
  if [[ ,$SYSTEM_LIST, == *+align,* || ,$SYSTEM_LIST, == *+FA,* ]]; then
    if [[ -n $OUT_OF_DOMAIN ]]; then
      run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUT_OF_DOMAIN" --output "$OUTPUT/out-of-domain"
      joined=(--out-of-domain "$OUTPUT/out-of-domain")
    fi
    run python -m data_prep align --aligner fast_align --train-sample 0 "${joined[@]}" --input "$OUTPUT/tokenized" \
      --subword "$OUTPUT/subword" --data "$DATA" --output "$OUTPUT/aligned/fast_align"
  fi
  # Word retrieval is measured with the pairs of the lexicon, whatever a system was trained with (C.3).
  run python -m data_prep align --aligner word2word --train-sample 0 --input "$OUTPUT/tokenized" \
    --subword "$OUTPUT/subword" --data "$DATA" --output "$OUTPUT/aligned/word2word"
}
