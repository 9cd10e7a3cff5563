#!/usr/bin/env bash
# Trains side by side on a GPU machine without a network, in the background, and reports.
#
#   bash scripts/gpu/train_runs.sh start NAME PRESET [FLAGS…]    start one run; its folder is $WORK/NAME
#   bash scripts/gpu/train_runs.sh wait PREFIX                  until the runs whose names begin so have ended
#   bash scripts/gpu/train_runs.sh status                       the last lines of every run
#   bash scripts/gpu/train_runs.sh collect                      what the runs measured, into $OUT, an archive each
#
# scripts/gpu/prepare.sh has laid out packages and model. Memory is given to vLLM in bytes, because several engines
# that start on one card mistake each other's memory for their own when they profile it.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit 0; fi
cd "$(dirname "$0")/../.."
WORK=${WORK:-/tmp/runs}
mkdir -p "$WORK"
export PATH="${VENV:-/tmp/venv}/bin:$PATH" HF_HUB_OFFLINE=1 LITELLM_LOCAL_MODEL_COST_MAP=True \
    VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1
unset PYTHONPATH PYTHONDONTWRITEBYTECODE

case ${1:-} in
start)
    name=$2 preset=$3
    shift 3
    setsid nohup python3 -m spider.train_sql_agent "$preset" --device cuda --output-dir "$WORK/$name" \
        --set actor_rollout_ref.rollout.gpu_memory_utilization=0.1 \
        --set actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_memory_bytes="${KV_BYTES:-6000000000}" \
        "$@" > "$WORK/$name.log" 2>&1 < /dev/null &
    echo $! > "$WORK/$name.pid"
    ;;
wait)
    for file in "$WORK/$2"*.pid; do
        while kill -0 "$(cat "$file")" 2> /dev/null; do sleep 1; done
    done
    ;;
status)
    for log in "$WORK"/*.log; do
        echo "== $(basename "$log" .log)"
        tr '\r' '\n' < "$log" | { grep -v '^training:' || true; } | tail -n "${LINES_EACH:-3}" | cut -c1-300
    done
    ;;
collect)
    : "${OUT:?name the folder for the results}"
    for log in "$WORK"/*.log; do
        name=$(basename "$log" .log)
        tar czf "$OUT/$name.tar.gz" -C "$WORK" --exclude=checkpoints --exclude=tasks "$name" "$name.log"
    done
    ls -l "$OUT"
    ;;
*)
    echo "usage: train_runs.sh start NAME PRESET [FLAGS…] | wait PREFIX | status | collect" >&2
    exit 2
    ;;
esac
