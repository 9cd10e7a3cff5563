#!/usr/bin/env bash
# Where the busiest Python processes of a machine spend their time, all at once:
#
#   bash scripts/gpu/profile.sh FOLDER [SECONDS] [PROCESSES]
#
# FOLDER gets a file a process (py-spy's raw format: a stack and its samples on each line) and their names.
set -euo pipefail
export PATH="$PATH:${SITE:-/tmp/site}/bin"  # py-spy, if prepare.sh brought it
folder=${1:?name a folder} seconds=${2:-30} processes=${3:-12}
mkdir -p "$folder"
top -b -n 2 -d 5 -w 200 | awk '/^ *PID/ {n++} n == 2 && $1 + 0 > 0 {print $1, $9}' | head -n "$processes" > "$folder/busiest"
while read -r pid share; do
    echo "$pid $share% $(tr '\0' ' ' < "/proc/$pid/cmdline" | cut -c1-150)" >> "$folder/names"
    py-spy record --pid "$pid" --duration "$seconds" --rate 50 --format raw --nonblocking \
        --output "$folder/$pid.raw" > /dev/null 2>&1 &
done < "$folder/busiest"
wait
