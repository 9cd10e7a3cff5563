#!/usr/bin/env bash
# Style, format and types of every Python file:     bash scripts/lint.sh
#
# It needs .venv with the tests' requirements, which `bash scripts/setup.sh test` makes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
    "") ;;
    -h | --help) sed -n '2,/^set /{s/^# \{0,1\}//p}' "scripts/lint.sh"; exit 0 ;;
    *) echo "lint: unknown argument '$1': it takes none" >&2; exit 2 ;;
esac
if ! .venv/bin/python -c 'import pyright, ruff' 2>/dev/null; then
    echo "lint: no .venv with ruff and pyright: make it with \`bash scripts/setup.sh test\`" >&2
    exit 1
fi
.venv/bin/python -m ruff check .
.venv/bin/python -m ruff format --check .
.venv/bin/python -m pyright
