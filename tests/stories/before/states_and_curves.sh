# PreNorm and PostNorm of the recipe, and two further seeds of PreNorm
out=outputs/zero_shot/phrasebook
python -m data_prep align --aligner word2word --input $out/tokenized --subword $out/subword --data $out/data/phrasebook \
  --output aligned
bash recipes/zero_shot/run.sh --config "$SMALL/zero_shot/phrasebook.sh" --systems 1 --seeds 10,20 --stages train
mkdir states translations curves llr
ln -s $out/data/phrasebook DATA
ln -s $out/models/system1-seed1/checkpoint_best.pt CHECKPOINT
for one in pre:system1-seed1 post:system2-seed1; do
  name=${one%:*} model=${one#*:}
  ln -s $out/models/$model $name
  ln -s ../$out/translations/$model translations/$name
  ln -s ../$out/curves/$model curves/$name-1
  mkdir llr/$name-1
  for updates in 50 100; do ln -s ../../$out/curves/$model/$updates/llr llr/$name-1/$updates; done
done
for one in pre-1:system1-seed1 pre-10:system1-seed10 pre-20:system1-seed20 post-1:system2-seed1; do
  python -m eval probe states --checkpoint $out/models/${one#*:}/checkpoint_best.pt --data DATA --forced reference \
    --cpu --output states/${one%:*}
done
printf 'near = ["de", "en"]\n' > groups.toml
