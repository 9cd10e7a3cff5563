#!/usr/bin/env bash
# Sets everything up, fetches the model and trains:     bash train.sh [PRESET] [FLAGS…]
# The preset is tiny unless named; .venv/bin/python -m spider.train_sql_agent --help lists presets and flags.
# MODEL_SOURCE=modelscope fetches the preset's model from ModelScope; with --model no model is fetched.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ! -x $root/.venv/bin/python && " $* " =~ " "(-h|--help)" " ]]; then
    sed -n '2,/^set /{s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" # as long as nothing is installed that could list the flags
    exit 0
fi

preset=tiny
if [[ $# -gt 0 && $1 != -* ]]; then
    preset=$1
    shift
fi
bash "$root/scripts/setup.sh"
fetch=yes
quiet=()
if [[ $preset == apo ]]; then fetch=; fi  # trains prompts, around a model that is served elsewhere
for flag in "$@"; do
    case $flag in
        --model | --model=* | --dry-run | --help | -h) fetch= ;;
        --quiet) quiet=(--quiet) ;;
    esac
done
if [[ $fetch ]]; then
    # A preset or a flag that doesn't exist is told before gigabytes are fetched.
    said=$("$root/.venv/bin/python" -m spider.train_sql_agent "$preset" "$@" --dry-run 2>&1 >/dev/null) ||
        { code=$?; echo "$said" >&2; exit "$code"; }
    "$root/.venv/bin/python" "$root/scripts/get_model.py" "$preset" "${quiet[@]}"
fi
exec "$root/.venv/bin/python" -m spider.train_sql_agent "$preset" "$@"
