#!/usr/bin/env bash
# Serves a model with vLLM's OpenAI server, with the flags that this machine and the model need:
#
#     bash scripts/serve.sh MODEL [--port 8000] [--context-tokens N] [--device cuda|cpu|npu] [-- FLAGS OF VLLM…]
#
# MODEL is a folder, the name of one below model/ or a hub's name. Once it says `ready`, `python spider/sql_agent.py`
# asks it, with no further setting. Ctrl-C ends it. --help lists all flags, --dry-run prints vLLM's command.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [[ ! -x $root/.venv/bin/python ]]; then bash "$root/scripts/setup.sh"; fi
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
exec "$root/.venv/bin/python" -m spider.model_server "$@"
