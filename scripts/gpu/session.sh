#!/usr/bin/env bash
# What one loan of an H200 measures, in the background: learning on the sample (three seeds) and on Spider; while the
# runs start, an update of the shape of Qwen2.5-Coder-1.5B.
#
#   . scripts/gpu/prepare.sh && setsid nohup bash scripts/gpu/session.sh > /tmp/session.log 2>&1 &
set -uo pipefail
cd "$(dirname "$0")/../.."
export HF_HUB_OFFLINE=1
STEPS=45 FREQ=15 bash scripts/gpu/learning.sh sample --n-runners 24
NODES=write FREQ=20 bash scripts/gpu/learning.sh spider --n-runners 24
timeout 80 python3 -m benchmarks.gpu_update --seconds 60 \
    --only 8k-varlen 16k-varlen-checkpointing-responses 16k-varlen-kept-responses
date "+update measured %T"
