#!/bin/sh
# Deploys an application to a local AWS of its own, as a step of CI: ci.sh FOLDER
# It ends with the exit code of sluice deploy. Time runs 50 times as fast.
set -eu

world=$(mktemp)
sluice sim --from "$1" --listen 127.0.0.1:0 --speed 50 > "$world" &
sim=$!
trap 'kill $sim; rm -f "$world"' EXIT
until grep -q '^# Ctrl-C' "$world"; do
  kill -0 $sim || exit 1
  sleep 0.1
done

# Everything that sluice sim prints is a comment or a variable to export.
. "$world"
sluice deploy "$1"
