#!/usr/bin/env bash
# Everything that one loan of two H200s measures, in the background: learning on both cards, then, when the first is
# free, an update and a step of the shape of Qwen2.5-Coder-1.5B, and the tests that need a GPU.
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh > /tmp/session.log 2>&1 &
set -uo pipefail
cd "$(dirname "$0")/../.."
export CUDA_VISIBLE_DEVICES=0
bash scripts/gpu/learning.sh sample
CUDA_VISIBLE_DEVICES=1 bash scripts/gpu/learning.sh spider
CUDA_VISIBLE_DEVICES=1 RATE=1.5e-4 NODES=write NAME=spider-1.5e-4 bash scripts/gpu/learning.sh spider
python3 -m benchmarks.random_model outputs/random-qwen-1.5b
bash scripts/gpu/train_runs.sh wait sample
date "+sample runs ended %T"
timeout 240 python3 -m benchmarks.gpu_step qwen --steps 4 -- --n-runners 64
date "+step measured %T"
timeout 100 python3 -m benchmarks.gpu_update --only responses
date "+update measured %T"
timeout 300 python3 -m pytest -q tests/gpu
date "+tests ended %T"
