#!/usr/bin/env bash
# Sets everything up and runs the checks and all tests:      bash scripts/test.sh
# With arguments, only pytest, which gets them:              bash scripts/test.sh tests/unit -k sandbox
#
# Tests that need a GPU or a copy of Spider skip where there is none. The PostgreSQL tests skip without its programs,
# except with CI=true, where they fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash scripts/setup.sh test
.venv/bin/python scripts/get_model.py smollm2
if [[ $# -gt 0 ]]; then exec .venv/bin/python -m pytest "$@"; fi

if ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && [[ $EUID == 0 ]] && command -v apt-get >/dev/null; then
    echo "test: installing PostgreSQL for its tests" >&2
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y postgresql; } >/dev/null ||
        echo "test: PostgreSQL could not be installed" >&2
fi
bash scripts/lint.sh
exec .venv/bin/python -m pytest
