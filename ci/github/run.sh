#!/usr/bin/env bash
# Runs one command of sluice with the inputs of the action. sluice itself writes annotations, the summary and the outputs.
set -euo pipefail

case $SLUICE_COMMAND in
plan | deploy | wait | approve | resume | rollback) ;;
*)
  echo "::error::the input command must be setup, plan, deploy, wait, approve, resume or rollback" >&2
  exit 1
  ;;
esac

arguments=("$SLUICE_COMMAND")

# add appends each line of a text as an argument, after a prefix.
add() {
  local line
  while IFS= read -r line; do
    line=${line%$'\r'}
    if [[ -n $line ]]; then arguments+=("$2$line"); fi
  done <<<"$1"
}

add "${SLUICE_ENVIRONMENT:-}" --env=
add "${SLUICE_STATE:-}" --state=
add "${SLUICE_IMAGES:-}" --image=
add "${SLUICE_ARGUMENTS:-}" ""

code=0
if [[ $SLUICE_COMMAND == plan ]]; then
  plan=$RUNNER_TEMP/sluice-plan.md
  arguments+=(--output=markdown --detailed-exitcode --)
  add "${SLUICE_DIRECTORIES:-}" ""
  sluice "${arguments[@]}" >"$plan" || code=$?
  head -c 1000000 "$plan" >>"$GITHUB_STEP_SUMMARY"
  changes=false
  # Exit code 2: there are changes. That is no failure of the job.
  if [[ $code == 2 ]]; then changes=true code=0; fi
  printf 'plan=%s\nchanges=%s\n' "$plan" "$changes" >>"$GITHUB_OUTPUT"
  exit "$code"
fi

arguments+=(--)
add "${SLUICE_DIRECTORIES:-}" ""
sluice "${arguments[@]}" || code=$?
# Exit code 8: the deployment waits for an approval. The output outcome is then waiting.
if [[ $code == 8 ]]; then code=0; fi
exit "$code"
