#!/usr/bin/env bash
# bash on_nodes.sh PORT WORD...: torchrun on every node of a step of Slurm, which meet on the first one.
set -euo pipefail
hosts=$(scontrol show hostnames "${SLURM_STEP_NODELIST:-$SLURM_JOB_NODELIST}")
exec torchrun --rdzv-backend c10d --rdzv-endpoint "${hosts%%$'\n'*}:$1" --rdzv-id "${SLURM_JOB_ID:-0}" "${@:2}"
