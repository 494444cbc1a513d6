python -m eval translate --checkpoint corpus/finetuned/checkpoint_best.pt --data corpus/data --directions ja-en \
  --max-len-b 10 --beam 2 --cpu --output corpus/translations
