#!/usr/bin/env bash
# Lays out what training needs on a GPU machine without a network: packages, model, data.
#
#   . scripts/gpu/prepare.sh      # from the repository's root; puts the environment's python3 first on PATH
#
# Spider then lies in /tmp/spider: VERL_SPIDER_DATA_DIR=/tmp/spider for a run on it, else runs use the sample.
# $SITE (default /tmp/site): a folder of packages, the locked requirements of a GPU. $PARTS: SmolLM2's GGUF file in
# pieces. $EXTRA: wheels that $SITE lacks, and spider.tar.zst, a data folder in Spider's layout called spider. Without the
# pieces or the data, what needs them isn't there.
SITE=${SITE:-/tmp/site} PARTS=${PARTS:-/tmp/gguf} EXTRA=${EXTRA:-.gpu-extra} VENV=${VENV:-/tmp/venv}
python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target "$SITE" "$EXTRA"/*.whl

# An environment whose site-packages is $SITE, with the machine's own packages (torch) behind it. PYTHONPATH is not
# the same: agentops, for one, instruments only what lies in a site-packages folder.
machine=$(python3 -c 'import site, sys; print("\n".join(f"import site; site.addsitedir({p!r})" for p in sys.path if p.endswith("-packages")))')
python3 -m venv --without-pip "$VENV"
packages=$("$VENV/bin/python3" -c 'import site; print(site.getsitepackages()[0])')
rm -rf "$packages" && ln -s "$SITE" "$packages"
printf '%s\n%s\n' "$PWD" "$machine" > "$SITE/machine.pth"
export PATH="$VENV/bin:$PATH" HF_HUB_OFFLINE=1
unset PYTHONPATH PYTHONDONTWRITEBYTECODE

[[ -f $EXTRA/spider.tar.zst ]] && python3 - "$EXTRA/spider.tar.zst" <<'PY'
import sys, tarfile, zstandard

with open(sys.argv[1], "rb") as file:
    stream = zstandard.ZstdDecompressor().stream_reader(file)
    tarfile.open(fileobj=stream, mode="r|").extractall("/tmp", filter="data")
PY
python3 -m compileall -q -j 0 "$SITE" > /dev/null 2>&1 || true
if compgen -G "$PARTS/part.*" > /dev/null; then
    mkdir -p model/.cache
    cat "$PARTS"/part.* > model/.cache/SmolLM2-135M-Instruct.Q4_1.gguf
    python3 scripts/get_model.py smollm2
fi
python3 -c 'import torch; print("packages ready: torch", torch.__version__, "cuda", torch.cuda.is_available())'
