#!/usr/bin/env bash
# Starts learning runs side by side on one GPU, in the background (scripts/gpu/train_runs.sh reports):
#
#   bash scripts/gpu/learning.sh sample [FLAGS…]     # after . scripts/gpu/prepare.sh: seeds on the sample data
#   bash scripts/gpu/learning.sh spider [FLAGS…]     # on Spider in /tmp/spider: the writer alone, and every node
#
# FLAGS are train_sql_agent's. CUDA_VISIBLE_DEVICES picks the card; RATE (the highest learning rate), BATCH (questions a
# step), STEPS, FREQ (steps between validations) and TOKENS (of a pass) take the place of smollm2's own; SEEDS or NODES
# and NAME (the runs' prefix) change what runs.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit 0; fi
cd "$(dirname "$0")/../.."
export KV_BYTES=${KV_BYTES:-3000000000}
kind=${1:-}
shift || true
common=(--set trainer.save_freq=-1
    --set actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${TOKENS:-32768}")
if [[ ${BATCH:-} ]]; then
    common+=(--set data.train_batch_size="$BATCH" --set actor_rollout_ref.actor.ppo_mini_batch_size="$BATCH")
fi
if [[ ${RATE:-} ]]; then common+=(--set actor_rollout_ref.actor.optim.lr="$RATE"); fi
if [[ ${STEPS:-} ]]; then common+=(--steps "$STEPS"); fi
if [[ ${FREQ:-} ]]; then common+=(--set trainer.test_freq="$FREQ"); fi
common+=("$@")
run() { bash scripts/gpu/train_runs.sh start "$@" "${common[@]}"; }

case $kind in
sample)
    for seed in ${SEEDS:-42 43 44}; do
        run "${NAME:-sample}-$seed" smollm2 --seed "$seed"
    done
    ;;
spider)
    export VERL_SPIDER_DATA_DIR=${SPIDER:-/tmp/spider}
    spider=(--train-files "$VERL_SPIDER_DATA_DIR/train_spider_usable.parquet")
    for nodes in ${NODES:-write all}; do
        turns=3
        [[ $nodes == write ]] && turns=1
        run "${NAME:-spider}-$nodes" smollm2 "${spider[@]}" --active-agent "$nodes" --max-turns $turns
    done
    ;;
*)
    echo "usage: learning.sh sample | spider [FLAGS…]" >&2
    exit 2
    ;;
esac
