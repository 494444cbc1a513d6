#!/usr/bin/env bash
# bash on_device.sh OPTION... -- COMMAND...: run a training with what only the machine that trains knows.
#
#   --precision FOLDER [--cpu]   options for the precision of its GPUs (or processor), or of the beginning of the training
#   --rank                       the number of this process, from torchrun
#   --rendezvous PORT GPUS       the first node of this step of Slurm, and the number of the first GPU of this node
set -euo pipefail

options=()
while [[ $1 != -- ]]; do
  case $1 in
    --precision)
      device=()
      [[ $3 != --cpu ]] || device=(--cpu)
      found=$(python -m fairseq_ext precision --output "$2" "${device[@]}")
      [[ -z $found ]] || options+=("$found")
      shift $((2 + ${#device[@]}))
      ;;
    --rank)
      options+=(--distributed-rank "$RANK")
      shift
      ;;
    --rendezvous)
      nodes=$(scontrol show hostnames "${SLURM_STEP_NODELIST:-$SLURM_JOB_NODELIST}")
      options+=(--distributed-init-method "tcp://${nodes%%$'\n'*}:$2" --distributed-rank $((SLURM_PROCID * $3)))
      shift 3
      ;;
  esac
done
exec "${@:2}" "${options[@]}"
