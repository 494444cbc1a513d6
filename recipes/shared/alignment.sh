# shellcheck shell=bash
# Word alignments beside the binarized sentences. Sourced by run.sh.

OUT_OF_DOMAIN=

# Words as the translation model has them, or of other text; then alignments beside the binarized sentences. Aligners are trained on all
# pairs (5.2.1), however many there are out of the domain.
align() {
  local joined=()
  if [[ -n $OUT_OF_DOMAIN && (,$SYSTEM_LIST, == *+align,* || ,$SYSTEM_LIST, == *+FA,*) ]]; then
    run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUT_OF_DOMAIN" --output "$OUTPUT/out-of-domain"
    joined=(--out-of-domain "$OUTPUT/out-of-domain")
  fi
  [[ ,$SYSTEM_LIST, != *+FA,* ]] || align_by fast_align --aligner fast_align "${joined[@]}"
  # Garg et al. supervise attention with all links; only word contrast needs words that have one (5.1.1).
  [[ ,$SYSTEM_LIST, != *+align,* ]] ||
    align_by fast_align-all --aligner fast_align --no-one-to-one --name fast_align-all "${joined[@]}"
  # Word retrieval is measured with the pairs of the lexicon, whatever a system was trained with (C.3).
  align_by word2word --aligner word2word
}

align_by() { # FOLDER OPTION...
  run python -m data_prep align "${@:2}" --train-sample 0 --input "$OUTPUT/tokenized" --subword "$OUTPUT/subword" \
    --data "$DATA" --output "$OUTPUT/aligned/$1"
}
