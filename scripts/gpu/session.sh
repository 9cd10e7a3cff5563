#!/usr/bin/env bash
# What one loan of H200s measures, in the background: learning on the sample (three seeds) on the first card, on Spider
# (the writer alone, every node) on the second if there is one; a profile of them; tests/gpu; when the runs have ended,
# whole steps of Qwen2.5-Coder-1.5B's shape on one card and on two.
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh > /tmp/session.log 2>&1 &
set -uo pipefail
cd "$(dirname "$0")/../.."
export HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0
cards=$(nvidia-smi --list-gpus | wc -l)
CUDA_VISIBLE_DEVICES=0 bash scripts/gpu/learning.sh sample
if [ "$cards" -gt 1 ]; then
    CUDA_VISIBLE_DEVICES=1 NODES=write bash scripts/gpu/learning.sh spider
    CUDA_VISIBLE_DEVICES=1 NODES=all BATCH=32 bash scripts/gpu/learning.sh spider
fi
until grep -q '^5,' /tmp/runs/sample-42/progress.csv 2> /dev/null; do sleep 2; done
bash scripts/gpu/profile.sh /tmp/profile 30 16
date "+profiled %T"
bash scripts/gpu/train_runs.sh wait sample
date "+sample runs ended %T"
CUDA_VISIBLE_DEVICES=0 timeout 300 python3 -m pytest tests/gpu -q -p no:cacheprovider > /tmp/tests_gpu.log 2>&1
date "+tests/gpu ended %T"
bash scripts/gpu/train_runs.sh wait spider
date "+spider runs ended %T"
graphs=actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config
gpus=1
[ "$cards" -gt 1 ] && gpus="1 2"
# shellcheck disable=SC2086
python3 -m benchmarks.gpu_step qwen --steps 3 --gpus $gpus -- --n-runners 128 \
    --set actor_rollout_ref.model.enable_gradient_checkpointing=false \
    --set "$graphs.mode=0" --set "$graphs.cudagraph_mode=FULL" --set "$graphs.cudagraph_num_of_warmups=1"
