#!/usr/bin/env bash
# Starts learning runs side by side on one GPU, in the background (scripts/gpu/train_runs.sh reports):
#
#   bash scripts/gpu/learning.sh sample       # after . scripts/gpu/prepare.sh: three seeds on the sample data
#   bash scripts/gpu/learning.sh spider       # on Spider in /tmp/spider: the writer alone, and every node
#
# CUDA_VISIBLE_DEVICES picks the card; RATE, STEPS, FREQ (of validation) and NAME (the runs' prefix) change a run.
set -euo pipefail
cd "$(dirname "$0")/../.."
common=(--set trainer.save_freq=-1
    --set actor_rollout_ref.actor.use_torch_compile=false
    --set actor_rollout_ref.actor.fsdp_config.use_torch_compile=false
    --set actor_rollout_ref.actor.optim.lr="${RATE:-5e-5}")
run() { bash scripts/gpu/train_runs.sh start "$@" "${common[@]}"; }

case ${1:-} in
sample)
    for seed in 42 43 44; do
        run "${NAME:-sample}-$seed" smollm2 --seed "$seed" --steps "${STEPS:-43}" --set trainer.test_freq="${FREQ:-10}"
    done
    ;;
spider)
    export VERL_SPIDER_DATA_DIR=${SPIDER:-/tmp/spider}
    spider=(--train-files "$VERL_SPIDER_DATA_DIR/train_spider_usable.parquet" --steps "${STEPS:-60}"
        --set trainer.test_freq="${FREQ:-15}")
    for nodes in ${NODES:-write all}; do
        run "${NAME:-spider}-$nodes" smollm2 "${spider[@]}" --active-agent "$nodes"
    done
    ;;
*)
    echo "usage: learning.sh sample | spider" >&2
    exit 2
    ;;
esac
