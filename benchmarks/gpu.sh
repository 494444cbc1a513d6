#!/usr/bin/env bash
# Measures one GPU: words per second, peak memory and loss of fairseq-train with fairseq's Transformer and with ours, base and big, in
# bf16, ours also compiled. What else is measured needs files:
#
#     bash benchmarks/gpu.sh [--encoder FOLDER --text FILE] [--l10n DIR] [--output DIR]
#
# --encoder, --text  lines per second of a pre-trained encoder (of transformers or sentence-transformers) over a text
# --l10n             the table of recipes/zero_shot's l10n: trains PreNorm and PostNorm side by side on eight languages, Transformer-base
# --output           folder for all of it (default: outputs/gpu)
#
# A command that was complete is skipped or continues, so a second call goes on where a killed one ended.
set -euo pipefail
cd "$(dirname "$0")/.."

encoder='' text='' l10n='' output=outputs/gpu
refuse() { echo "error: $1" >&2 && exit 2; }

while (($#)); do
  case $1:${2:+value} in
  --encoder:value) encoder=$2 ;;
  --text:value) text=$2 ;;
  --l10n:value) l10n=$2 ;;
  --output:value) output=$2 ;;
  *) refuse "$1: expected --encoder, --text, --l10n or --output, each with a value" ;;
  esac
  shift 2
done
[[ -n $encoder && -n $text || -z $encoder$text ]] || refuse "--encoder and --text: expected both or neither"
[[ -z $encoder || -d $encoder ]] || refuse "--encoder $encoder: no such folder"
[[ -z $text || -f $text ]] || refuse "--text $text: no such file"
[[ -z $l10n || -d $l10n ]] || refuse "--l10n $l10n: no such folder"
[[ ! -e $output || -d $output ]] || refuse "--output $output: exists and is no folder"

mkdir -p "$output"
for arch in base big; do
  log=$output/training_$arch.txt
  if [[ ! -e $log ]]; then
    python -m benchmarks.training_speed --gpu --arch $arch --max-tokens 8192 --updates 100 --warmup 20 | tee "$log.part"
    mv "$log.part" "$log"
  fi
done

if [[ -n $encoder ]]; then
  python -m embeddings encode "$text" --model "$encoder" --dtype float16 --normalize --output "$output/vectors"
fi

if [[ -n $l10n ]]; then
  bash recipes/zero_shot/run.sh --config l10n-8 --data-root "$l10n" --output "$output/zero_shot" --systems 1,2 --seeds 10 \
    --launcher gpu --jobs 2 --jobs-per-gpu 2 -- --arch mnmt_transformer \
    --encoder-layers 6 --encoder-embed-dim 512 --encoder-ffn-embed-dim 2048 --encoder-attention-heads 8 \
    --decoder-layers 6 --decoder-embed-dim 512 --decoder-ffn-embed-dim 2048 --decoder-attention-heads 8
fi
