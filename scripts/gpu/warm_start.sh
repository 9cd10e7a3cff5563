#!/usr/bin/env bash
# Trains warm-start candidates side by side on a GPU machine without a network and leaves the best one in $OUT.
#
#   bash scripts/gpu/warm_start.sh        # from the repository's root, with $OUT set and the inputs in place:
#
# $INPUT (default .gpu-warm): rows.parquet (scripts/warm_start.py rows), spider/ (test_dev_500.parquet and its
# databases), base/ (config and tokenizer of scripts/get_model.py smollm2 --base), wheels/ (gguf, sqlglot); and the
# GGUF file in pieces, part.00 and so on, in $PARTS (default /tmp/in-warm). LIMIT=N makes a trial of N rows.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit 0; fi
cd "$(dirname "$0")/../.."
: "${OUT:?name the folder for the results}"
INPUT=${INPUT:-.gpu-warm} PARTS=${PARTS:-/tmp/in-warm} WORK=${WORK:-/tmp/warm}
RATES=${RATES:-1e-3 2e-3} EPOCHS=${EPOCHS:-4} MINUTES=${MINUTES:-2.7} SAMPLES=${SAMPLES:-8}
limit=(${LIMIT:+--limit "$LIMIT"})
mkdir -p "$WORK"
say() { echo "[$SECONDS s] $*"; }

python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target "$WORK/site" "$INPUT"/wheels/*.whl
export PYTHONPATH="$WORK/site:$PWD${PYTHONPATH:+:$PYTHONPATH}" HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1
# A cache that grows by a token a step asks for ever larger blocks: rounded up, they can be used again.
export PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:8
base=${BASE:-$WORK/SmolLM2-135M-Instruct-base}
if [ ! -e "$base/model.safetensors" ]; then
    cp -r "$INPUT/base" "$base"
    cat "$PARTS"/part.* > "$WORK/model.gguf"
    python3 scripts/gpu/base_from_gguf.py "$WORK/model.gguf" "$base"
    echo "$(cut -d' ' -f1 "$INPUT/base/weights.sha256")  $base/model.safetensors" | sha256sum --check
fi
say "model ready"

gpus=$(python3 -c 'import torch; print(max(1, torch.cuda.device_count()))')
rows=$(python3 -c 'import torch; print(768 if torch.cuda.is_available() else 4)')
tokens=$(python3 -c 'import torch; print(24000 if torch.cuda.is_available() else 4000)')
tasks=(--tasks "spider_dev_500=$INPUT/spider/test_dev_500.parquet" sample=data/sample/test_dev.parquet)

candidate() { # number, learning rate
    export CUDA_VISIBLE_DEVICES=$(($1 % gpus))
    python3 scripts/warm_start.py train --model "$base" --rows "$INPUT/rows.parquet" --out "$WORK/$2" --lr "$2" \
        --epochs "$EPOCHS" --micro-tokens "$tokens" --max-minutes "$MINUTES" "${limit[@]}"
    say "trained $2"
    python3 scripts/warm_start.py evaluate --label after --model "$base" --adapter "$WORK/$2" "${tasks[@]}" \
        --samples "$SAMPLES" --batch-rows "$rows" "${limit[@]}"
    say "measured $2"
}
number=0
jobs=()
for rate in $RATES; do
    candidate "$number" "$rate" > "$WORK/$rate.log" 2>&1 &
    jobs+=($!)
    number=$((number + 1))
done
CUDA_VISIBLE_DEVICES=$((number % gpus)) python3 scripts/warm_start.py evaluate --label before --model "$base" \
    --results "$WORK/before.json" "${tasks[@]}" --batch-rows $((rows / 2)) "${limit[@]}" > "$WORK/before.log" 2>&1 &
jobs+=($!)
while sleep 15 && kill -0 "${jobs[@]}" 2> /dev/null; do
    for log in "$WORK"/*.log; do say "$(tail -c 200 "$log" | tr '\r' '\n' | tail -n 1)"; done
done
failed=0
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
say "all runs ended"

# The best by greedy accuracy on Spider's dev questions; one failed candidate doesn't cost the others.
python3 - "$WORK" "$OUT" <<'PY'
import json, shutil, sys
from pathlib import Path

work, out = map(Path, sys.argv[1:])
before = json.loads((work / "before.json").read_text())
found = []
for path in work.glob("*/results.json"):
    results = json.loads(path.read_text())
    if "after" in results:
        path.write_text(json.dumps({**results, **before}, indent=2) + "\n")
        found.append((results["after"]["spider_dev_500"]["greedy"]["greedy"], path.parent))
found.sort(reverse=True)
for place, (accuracy, folder) in enumerate(found):
    print(f"{folder.name}: {accuracy:.3f} greedy on Spider dev")
    if place == 0:
        shutil.copytree(folder, out / "best")
    else:
        shutil.copy(folder / "results.json", out / f"results-{folder.name}.json")
PY
python3 scripts/warm_start.py card --adapter "$OUT/best"
for log in "$WORK"/*.log; do echo "== $log"; tr '\r' '\n' < "$log"; done > "$OUT/log.txt"
say "done"
exit "$failed"
