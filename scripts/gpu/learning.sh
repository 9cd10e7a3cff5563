#!/usr/bin/env bash
# Starts learning runs side by side on one GPU machine, in the background (scripts/gpu/train_runs.sh reports):
#
#   bash scripts/gpu/learning.sh sample       # after . scripts/gpu/prepare.sh: three seeds on the sample data
#   bash scripts/gpu/learning.sh spider       # on Spider in /tmp/spider: the writer alone, and every node
#
# `sample` made benchmarks/results/sample-gpu-10-steps-seed-*.csv (ended after ten steps); `spider` has not run to an end.
set -euo pipefail
cd "$(dirname "$0")/../.."
export KV_BYTES=${KV_BYTES:-6000000000}
common=(--n-runners "${RUNNERS:-40}" --set trainer.save_freq=-1
    --set actor_rollout_ref.actor.use_torch_compile=false
    --set actor_rollout_ref.actor.fsdp_config.use_torch_compile=false
    --set actor_rollout_ref.actor.optim.lr="${RATE:-3e-5}")
run() { bash scripts/gpu/train_runs.sh start "$@" "${common[@]}"; }

case ${1:-} in
sample)
    for seed in 42 43 44; do
        run "sample-$seed" smollm2 --seed "$seed" --steps "${STEPS:-20}" --set trainer.test_freq=10
    done
    ;;
spider)
    export VERL_SPIDER_DATA_DIR=${SPIDER:-/tmp/spider}
    spider=(--train-files "$VERL_SPIDER_DATA_DIR/train_spider_usable.parquet" --steps "${STEPS:-60}")
    run spider-write smollm2 "${spider[@]}"
    run spider-all smollm2 "${spider[@]}" --active-agent all
    ;;
*)
    echo "usage: learning.sh sample | spider" >&2
    exit 2
    ;;
esac
