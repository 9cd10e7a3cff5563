#!/usr/bin/env bash
# Lays out what training needs on a GPU machine without a network: packages, model, data.
#
#   . scripts/gpu/prepare.sh      # from the repository's root; sets PYTHONPATH and what else the runs need
#
# Spider then lies in /tmp/spider: VERL_SPIDER_DATA_DIR=/tmp/spider for a run on it, else runs use the sample.
# $SITE (default /tmp/site): a folder of packages, the locked requirements of a GPU. $PARTS: SmolLM2's GGUF file in
# pieces. $EXTRA: wheels that $SITE lacks, and spider.tar.zst, a data folder in Spider's layout called spider.
SITE=${SITE:-/tmp/site} PARTS=${PARTS:-/tmp/gguf} EXTRA=${EXTRA:-.gpu-extra}
python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target "$SITE" "$EXTRA"/*.whl
# agentops traces `openai` only where it lies in a site-packages folder; the user's may be a link to $SITE.
export PYTHONUSERBASE=${PYTHONUSERBASE:-/tmp/userbase}
user_site=$PYTHONUSERBASE/lib/python$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
mkdir -p "$user_site" && ln -sfn "$SITE" "$user_site/site-packages"
export PYTHONPATH="$SITE:$PWD" HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0 PYTHONUNBUFFERED=1
python3 - "$EXTRA/spider.tar.zst" <<'PY'
import sys, tarfile, zstandard

with open(sys.argv[1], "rb") as file:
    stream = zstandard.ZstdDecompressor().stream_reader(file)
    tarfile.open(fileobj=stream, mode="r|").extractall("/tmp", filter="data")
PY
mkdir -p model/.cache
cat "$PARTS"/part.* > model/.cache/SmolLM2-135M-Instruct.Q4_1.gguf
python3 scripts/get_model.py smollm2
