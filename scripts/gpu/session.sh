#!/usr/bin/env bash
# What one loan of an H200 measures, in the background: learning on the sample (three seeds); while the runs start, an
# update of the shape of Qwen2.5-Coder-1.5B; when they have ended, whole steps of that shape.
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh > /tmp/session.log 2>&1 &
set -uo pipefail
cd "$(dirname "$0")/../.."
export HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0
# Twice the questions a step of the run that drifted (docs/results/README.md), the row mean, a lower rate.
STEPS=30 FREQ=10 RATE=2e-5 bash scripts/gpu/learning.sh sample \
    --set data.train_batch_size=32 --set actor_rollout_ref.actor.ppo_mini_batch_size=32
timeout 80 python3 -m benchmarks.gpu_update --seconds 60 \
    --only 8k-varlen 16k-varlen-checkpointing-responses 16k-varlen-kept-responses
date "+update measured %T"
bash scripts/gpu/train_runs.sh wait sample
date "+sample runs ended %T"
python3 -m benchmarks.gpu_step qwen --steps 3 -- --n-runners 64
