#!/usr/bin/env bash
# Sets everything up and runs the checks and all tests:      bash scripts/test.sh
# With arguments, only pytest, which gets them:              bash scripts/test.sh tests/unit -k sandbox
#
# Tests that need a GPU or a copy of Spider skip where there is none. The PostgreSQL and MariaDB tests skip without
# their programs, except with CI=true, where they fail; those of the HTML reports skip without Chromium.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then sed -n '2,/^set /{s/^# \{0,1\}//p}' "scripts/test.sh"; exit 0; fi
bash scripts/setup.sh test
.venv/bin/python scripts/get_model.py smollm2
if [[ $# -gt 0 ]]; then exec .venv/bin/python -m pytest "$@"; fi

# install PACKAGES…: from Debian, where that can be done
install() {
    [[ $EUID == 0 ]] && command -v apt-get >/dev/null || return 0
    echo "test: installing ${*##--*} for the tests" >&2
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$@"; } >/dev/null ||
        echo "test: ${*##--*} could not be installed" >&2
}
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || install postgresql
# my_print_defaults, which the server's own installer calls, is the client's.
[[ -x /usr/sbin/mariadbd && -x /usr/bin/my_print_defaults ]] ||
    install --no-install-recommends mariadb-server-core mariadb-client-core
command -v chromium >/dev/null || install --no-install-recommends chromium fonts-dejavu-core
bash scripts/lint.sh
# Most tests start a program and wait for it: one at a time they leave a core idle. Training runs need all cores.
status=0
.venv/bin/python -m pytest -n logical --maxprocesses 8 --dist loadfile -m "not slow" || status=$?
.venv/bin/python -m pytest -m slow || status=$?
exit $status
