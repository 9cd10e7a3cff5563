#!/usr/bin/env bash
# What one loan of two H200s measures, in the background: learning on the sample, three seeds on each card. On the first
# the agent has one turn, a query without check; on the second three, as the preset has. Then the models of the first
# are validated with three turns, and steps of Qwen2.5-Coder-1.5B's shape are timed with what time is left.
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh > /tmp/session.log 2>&1 &
set -uo pipefail
cd "$(dirname "$0")/../.."
export HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0
CUDA_VISIBLE_DEVICES=0 NAME=turn1 BATCH=64 STEPS=44 FREQ=11 RATE=4e-5 bash scripts/gpu/learning.sh sample \
    --max-turns 1 --set trainer.save_freq=1000
CUDA_VISIBLE_DEVICES=1 NAME=turn3 BATCH=32 STEPS=40 FREQ=10 RATE=3e-5 bash scripts/gpu/learning.sh sample
until grep -q '^3,' /tmp/runs/turn3-42/progress.csv 2> /dev/null; do sleep 2; done
bash scripts/gpu/profile.sh /tmp/profile 30 14
date "+profiled %T"
bash scripts/gpu/train_runs.sh wait turn1
date "+one turn ended %T"
for seed in 42 43 44; do
    cp -a /tmp/runs/turn1-$seed /tmp/runs/check-$seed
    CUDA_VISIBLE_DEVICES=0 KV_BYTES=3000000000 bash scripts/gpu/train_runs.sh start check-$seed smollm2 --resume \
        --val-only --seed $seed --steps 44 --n-runners 64 --set data.train_batch_size=64 \
        --set actor_rollout_ref.actor.ppo_mini_batch_size=64 --set actor_rollout_ref.actor.use_torch_compile=false \
        --set actor_rollout_ref.actor.fsdp_config.use_torch_compile=false
done
bash scripts/gpu/train_runs.sh wait check
date "+validated with three turns %T"
CUDA_VISIBLE_DEVICES=0 python3 -m benchmarks.gpu_step qwen --steps 3 -- --n-runners 128 \
    --set actor_rollout_ref.model.enable_gradient_checkpointing=false
