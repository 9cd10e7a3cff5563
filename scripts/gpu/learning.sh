#!/usr/bin/env bash
# Starts the learning runs side by side on one GPU machine, in the background (scripts/gpu/train_runs.sh reports):
#
#   bash scripts/gpu/learning.sh       # after . scripts/gpu/prepare.sh
#
# Three seeds on the sample data, and runs on Spider in /tmp/spider that train the writer alone and every node.
set -euo pipefail
cd "$(dirname "$0")/../.."
export KV_BYTES=4000000000
common=(--n-runners "${RUNNERS:-32}" --set trainer.save_freq=-1
    --set actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192
    --set actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=8192
    --set actor_rollout_ref.actor.use_torch_compile=false
    --set actor_rollout_ref.actor.fsdp_config.use_torch_compile=false)
lr() { echo --set "actor_rollout_ref.actor.optim.lr=$1"; }
run() { bash scripts/gpu/train_runs.sh start "$@" "${common[@]}"; sleep 1; }

for seed in 42 43 44; do
    run "sample-$seed" smollm2 --seed "$seed" --steps "${SAMPLE_STEPS:-40}" $(lr 2e-5)
done
export VERL_SPIDER_DATA_DIR=${SPIDER:-/tmp/spider}
spider=(--train-files "$VERL_SPIDER_DATA_DIR/train_spider_usable.parquet" --steps "${SPIDER_STEPS:-60}")
run spider-write smollm2 "${spider[@]}" $(lr 2e-5)
run spider-write-5e-5 smollm2 "${spider[@]}" $(lr 5e-5)
run spider-all smollm2 "${spider[@]}" --active-agent all $(lr 2e-5)
