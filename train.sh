#!/usr/bin/env bash
# Sets everything up, fetches the model and trains:     bash train.sh [PRESET] [FLAGS…]
# The preset is tiny unless named; .venv/bin/python -m spider.train_sql_agent --help lists presets and flags.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

preset=tiny
if [[ $# -gt 0 && $1 != -* ]]; then
    preset=$1
    shift
fi
bash "$root/scripts/setup.sh"
if [[ $preset == tiny || $preset == smollm2 ]]; then "$root/.venv/bin/python" "$root/scripts/get_model.py" smollm2; fi
exec "$root/.venv/bin/python" -m spider.train_sql_agent "$preset" "$@"
