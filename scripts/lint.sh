#!/usr/bin/env bash
# Style, format and types of every Python file: bash scripts/lint.sh (after scripts/setup.sh test)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

.venv/bin/python -m ruff check .
.venv/bin/python -m ruff format --check .
.venv/bin/python -m pyright
