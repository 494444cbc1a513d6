# two pre-trainings whose output is kept
for name in mass:mass jass:bmass+brss.f; do
  mkdir ${name%:*}
  fairseq-train corpus/data --user-dir fairseq_ext --task linguistic_pretraining --pretraining-tasks ja=${name#*:},en=mass \
    --arch mnmt_transformer_tiny --criterion fused_label_smoothed_cross_entropy --optimizer fused_adam --lr 1e-4 \
    --max-tokens 4096 --max-update 2 --log-format simple --cpu --save-dir ${name%:*} > ${name%:*}/train.log 2>&1
done
