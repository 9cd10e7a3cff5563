#!/usr/bin/env bash
# What one loan of an H200 measures, in the background:
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh sample > /tmp/session.log 2>&1 &
#
# sample: learning on the sample, three seeds; then whole steps of Qwen2.5-Coder-1.5B's shape and tests/gpu. spider:
# learning on Spider by the writer alone, longer than before, and by every node with rewards of calls (why:
# docs/results); then tests/gpu. steps [FLAGS…]: steps of Qwen's shape. lora: the same with adapters, then as the preset
# is. serving: a served model answers three questions. qwen, on two cards: steps without old log-probs, without and with a
# lighter optimizer, while tests/gpu run on the second; then on both.
set -uo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit 0; fi
cd "$(dirname "$0")/../.."
export HF_HUB_OFFLINE=1

until_ended() {
    bash scripts/gpu/train_runs.sh wait "$1"
    date "+$1 runs ended %T"
}
tests() {
    timeout 420 python3 -m pytest tests/gpu -q -p no:cacheprovider > /tmp/tests_gpu.log 2>&1
    date "+tests/gpu ended %T"
}
qwen() {
    python3 -m benchmarks.gpu_step qwen --steps "${STEPS:-4}" --n ${N:-4} --gpus "${GPUS:-1}" --name "$1" -- "${@:2}"
    date "+$1 ended %T"
}

serving() {
    setsid bash scripts/serve.sh SmolLM2-135M-Instruct > /tmp/serve.log 2>&1 &
    local server=$!
    for ((second = 0; second < 200; second++)); do
        if grep -q 'ready after' /tmp/serve.log || ! kill -0 $server 2> /dev/null; then break; fi
        sleep 1
    done
    timeout 120 python3 spider/sql_agent.py --limit 3 > /tmp/serve_agent.log 2>&1
    echo "sql_agent.py exit code $?" >> /tmp/serve_agent.log
    kill -INT $server 2> /dev/null
    wait $server
    echo "serve.sh exit code $?" >> /tmp/serve.log
    date "+serving ended %T"
}
kept=(--set actor_rollout_ref.model.enable_gradient_checkpointing=false) # activations
bypass=("${kept[@]}" --set algorithm.rollout_correction.bypass_mode=true)
actor=actor_rollout_ref.actor
light=(--set "$actor.optim.override_optimizer_config={fused: true}" --set $actor.fsdp_config.reshard_after_forward=false)

case ${1:-} in
sample)
    bash scripts/gpu/learning.sh sample
    until_ended sample
    qwen qwen "${kept[@]}"
    tests
    ;;
spider)
    export FREQ=20 TOKENS=16384 # two runs' passes of 32,768 tokens would fill the card
    NODES=all BATCH=32 STEPS=${ALL_STEPS:-60} NAME=spider-calls bash scripts/gpu/learning.sh spider --call-rewards
    NODES=write STEPS=${STEPS:-100} NAME=spider-long bash scripts/gpu/learning.sh spider
    until_ended spider-long
    tests
    until_ended spider-calls
    ;;
steps)
    qwen qwen-light "${bypass[@]}" "${light[@]}" "${@:2}"
    qwen qwen-kept "${kept[@]}" "${@:2}"
    ;;
lora)
    qwen qwen-lora --lora
    qwen qwen-preset
    ;;
serving)
    ln -sfn "${VENV:-/tmp/venv}" .venv # serve.sh's environment
    serving
    ;;
qwen)
    (
        export CUDA_VISIBLE_DEVICES=0
        qwen qwen-bypass "${bypass[@]}"
        qwen qwen-fused "${bypass[@]}" "${light[@]}"
        N="8 16" qwen qwen-n "${bypass[@]}"
    ) &
    CUDA_VISIBLE_DEVICES=1 tests
    wait
    unset CUDA_VISIBLE_DEVICES
    GPUS=2 qwen qwen-2-gpus "${bypass[@]}"
    ;;
*)
    echo "usage: session.sh sample | spider | steps [FLAGS…] | lora | serving | qwen" >&2
    exit 2
    ;;
esac
