#!/usr/bin/env bash
# What one loan of an H200 measures, in the background: learning on the sample, three seeds; then whole steps of
# Qwen2.5-Coder-1.5B's shape, tests/gpu, and the same steps with vLLM's graphs without its compiler.
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh > /tmp/session.log 2>&1 &
set -uo pipefail
cd "$(dirname "$0")/../.."
export HF_HUB_OFFLINE=1
bash scripts/gpu/learning.sh sample
bash scripts/gpu/train_runs.sh wait sample
date "+sample runs ended %T"
qwen() {
    python3 -m benchmarks.gpu_step qwen --steps 4 --name "$1" -- --n-runners 128 \
        --set actor_rollout_ref.model.enable_gradient_checkpointing=false "${@:2}"
    date "+$1 ended %T"
}
qwen qwen
timeout 240 python3 -m pytest tests/gpu -q -p no:cacheprovider > /tmp/tests_gpu.log 2>&1
date "+tests/gpu ended %T"
graphs=actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config
qwen qwen-graphs --set $graphs.mode=0 --set $graphs.cudagraph_mode=FULL_DECODE_ONLY
