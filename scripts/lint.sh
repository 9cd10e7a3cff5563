#!/usr/bin/env bash
# Style, format and types of every Python file: bash scripts/lint.sh (after scripts/setup.sh test)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/pyright
