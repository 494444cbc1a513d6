# an encoder that reads raw text in pieces of sentencepiece
python -m data_prep phrasebook --langs de,en --train-lines 200 --valid-lines 8 --test-lines 8 --output text
python -m data_prep tokenize --tokenizer none --input text --output raw
python -m data_prep subword --type sentencepiece --vocabulary-size 300 --input raw --output pieces
python -m data_prep binarize --input pieces --text text --output data/raw
fairseq-train data/raw --user-dir fairseq_ext --task sentence_embedding --pairs de-en --arch ems --encoder-layers 2 \
  --encoder-embed-dim 32 --encoder-ffn-embed-dim 32 --encoder-attention-heads 4 --criterion weighted_losses \
  --losses sentence_contrast --optimizer fused_adam --lr 1e-3 --batch-size 32 --max-update 4 --cpu --save-dir models/ems
