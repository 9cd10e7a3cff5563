#!/usr/bin/env bash
# Everything that one loan of two H200s measures: learning on both cards; meanwhile, while the runs start, an update of
# the shape of Qwen2.5-Coder-1.5B; when the first card is free, a step of that shape and the tests that need a GPU.
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh > /tmp/session.log 2>&1 &
set -uo pipefail
cd "$(dirname "$0")/../.."
export HF_HUB_OFFLINE=1 LITELLM_LOCAL_MODEL_COST_MAP=True VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1
graphs=(--set actor_rollout_ref.rollout.enforce_eager=false
    --set actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config.mode=0
    --set actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config.cudagraph_mode=FULL_DECODE_ONLY)
export CUDA_VISIBLE_DEVICES=0
STEPS=50 bash scripts/gpu/learning.sh sample
CUDA_VISIBLE_DEVICES=1 bash scripts/gpu/learning.sh spider
RATE=1.5e-4 SEEDS=42 NAME=sample-1.5e-4 bash scripts/gpu/learning.sh sample "${graphs[@]}"
CUDA_VISIBLE_DEVICES=1 RATE=1.5e-4 NODES=write NAME=spider-1.5e-4 bash scripts/gpu/learning.sh spider "${graphs[@]}"
python3 -m benchmarks.random_model outputs/random-qwen-1.5b
timeout 100 python3 -m benchmarks.gpu_update --only 8k 16k-varlen
date "+update measured %T"
bash scripts/gpu/train_runs.sh wait sample
date "+sample runs ended %T"
timeout 240 python3 -m benchmarks.gpu_step qwen --steps 4 -- --n-runners 64
date "+step measured %T"
timeout 240 python3 -m benchmarks.gpu_step qwen --steps 4 --name qwen-graphs -- --n-runners 64 "${graphs[@]}"
date "+step with graphs alone measured %T"
timeout 300 python3 -m pytest -q tests/gpu
date "+tests ended %T"
