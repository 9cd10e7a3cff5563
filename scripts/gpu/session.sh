#!/usr/bin/env bash
# What one loan of an H200 measures, in the background:
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh sample > /tmp/session.log 2>&1 &
#
# sample: learning on the sample, three seeds; then whole steps of Qwen2.5-Coder-1.5B's shape, tests/gpu, and the same
# steps with vLLM's graphs without its compiler. spider: learning on Spider, the writer alone and every node; then
# tests/gpu.
set -uo pipefail
cd "$(dirname "$0")/../.."
export HF_HUB_OFFLINE=1

until_ended() {
    bash scripts/gpu/train_runs.sh wait "$1"
    date "+$1 runs ended %T"
}
tests() {
    timeout 240 python3 -m pytest tests/gpu -q -p no:cacheprovider > /tmp/tests_gpu.log 2>&1
    date "+tests/gpu ended %T"
}
qwen() {
    python3 -m benchmarks.gpu_step qwen --steps 4 --name "$1" -- --n-runners 128 \
        --set actor_rollout_ref.model.enable_gradient_checkpointing=false "${@:2}"
    date "+$1 ended %T"
}

case ${1:-} in
sample)
    bash scripts/gpu/learning.sh sample
    until_ended sample
    qwen qwen
    tests
    graphs=actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config
    qwen qwen-graphs --set $graphs.mode=0 --set $graphs.cudagraph_mode=FULL_DECODE_ONLY
    ;;
spider)
    export STEPS=60 FREQ=15
    NODES=write bash scripts/gpu/learning.sh spider
    NODES=all BATCH=32 bash scripts/gpu/learning.sh spider
    until_ended spider
    tests
    ;;
*)
    echo "usage: session.sh sample | spider" >&2
    exit 2
    ;;
esac
