#!/usr/bin/env bash
# What one loan of two H200s measures, in the background: learning on the sample, three seeds, on the first card, and on
# Spider (the writer alone, and every node) on the second; when the first is free, tests/gpu and whole steps of
# Qwen2.5-Coder-1.5B's shape.
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh > /tmp/session.log 2>&1 &
set -uo pipefail
cd "$(dirname "$0")/../.."
export HF_HUB_OFFLINE=1
CUDA_VISIBLE_DEVICES=0 STEPS=64 FREQ=16 bash scripts/gpu/learning.sh sample
CUDA_VISIBLE_DEVICES=1 STEPS=60 FREQ=15 bash scripts/gpu/learning.sh spider
until grep -q '^3,' /tmp/runs/sample-42/progress.csv 2> /dev/null; do sleep 2; done
bash scripts/gpu/profile.sh /tmp/profile 30 14
date "+profiled %T"
bash scripts/gpu/train_runs.sh wait sample
date "+sample runs ended %T"
export CUDA_VISIBLE_DEVICES=0
timeout 200 python3 -m pytest tests/gpu -q -p no:cacheprovider > /tmp/tests_gpu.log 2>&1
date "+tests/gpu ended %T"
python3 -m benchmarks.gpu_step qwen --steps 4 -- --n-runners 128 \
    --set actor_rollout_ref.model.enable_gradient_checkpointing=false
