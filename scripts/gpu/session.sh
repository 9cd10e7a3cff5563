#!/usr/bin/env bash
# What one loan of an H200 measures, in the background:
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh sample > /tmp/session.log 2>&1 &
#
# sample: learning on the sample, three seeds; then whole steps of Qwen2.5-Coder-1.5B's shape and tests/gpu. spider:
# learning on Spider by the writer alone, at two rates, and by every node (on a second card, where there is one), with
# prompts computed once if the attention's tests pass; then steps of Qwen's shape in the same way, and tests/gpu.
# serving: a served model answers three questions. qwen, on two cards: steps without old log-probs, without and with a
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
    timeout 240 python3 -m pytest tests/gpu -q -p no:cacheprovider > /tmp/tests_gpu.log 2>&1
    date "+tests/gpu ended %T"
}
qwen() {
    python3 -m benchmarks.gpu_step qwen --steps 4 --n ${N:-4} --gpus "${GPUS:-1}" --name "$1" -- --n-runners 128 \
        --set actor_rollout_ref.model.enable_gradient_checkpointing=false "${@:2}"
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
bypass=(--set algorithm.rollout_correction.bypass_mode=true)
actor=actor_rollout_ref.actor
light=(--set "$actor.optim.override_optimizer_config={fused: true}" --set $actor.fsdp_config.reshard_after_forward=false)

case ${1:-} in
sample)
    bash scripts/gpu/learning.sh sample
    until_ended sample
    qwen qwen
    tests
    ;;
spider)
    shared=()
    if python3 -m pytest tests/gpu/test_varlen_attention.py -q -p no:cacheprovider > /tmp/tests_attention.log 2>&1; then
        # A pass of shared prompts holds more logits: three runs' passes of 32,768 tokens would fill the card.
        shared=(--set actor_rollout_ref.model.override_config.attn_implementation=varlen_shared
            --set actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384)
    fi
    export STEPS=${STEPS:-80} FREQ=${FREQ:-20}
    NODES=write bash scripts/gpu/learning.sh spider "${shared[@]}"
    NAME=spider-8e-5 RATE=8e-5 NODES=write bash scripts/gpu/learning.sh spider "${shared[@]}"
    CUDA_VISIBLE_DEVICES=$(($(nvidia-smi -L | wc -l) - 1)) NODES=all BATCH=32 \
        bash scripts/gpu/learning.sh spider "${shared[@]}"
    until_ended spider
    qwen qwen-shared "${bypass[@]}" "${light[@]}" "${shared[@]}"
    tests
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
    echo "usage: session.sh sample | spider | serving | qwen" >&2
    exit 2
    ;;
esac
