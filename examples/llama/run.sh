#!/usr/bin/env bash
# Sets tp up if need be, compiles the small Llama for 4 ranks, runs it and
# checks its logits against PyTorch's.
#   examples/llama/run.sh [plan] [ranks]      megatron (default) or
#                                             sequence-parallel; any number of ranks
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/scripts/command-line.sh"
command_line 2 -- "$@"
plan=${1:-megatron}
ranks=${2:-4}
[ -f "$here/$plan.plan.mlir" ] ||
  refuse "unknown plan '$plan', expected megatron or sequence-parallel"
case "$ranks" in
  *[!0-9]* | "" | 0*) refuse "expected a number of ranks from 1, got '$ranks'" ;;
esac
"$root/scripts/setup.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$root/build/bin/tp-compile" "$here/model.mlir" --plan="$here/$plan.plan.mlir" \
  --mesh="tp=$ranks" -o "$work/llama.tp"
"$root/build/bin/tp-run" "$work/llama.tp" --ranks="$ranks" \
  --weights="$here/weights.safetensors" --input=tokens=@"$here/tokens.npy" \
  --expected-output=@"$here/logits.npy" --rtol=1e-4 --atol=1e-5 --stats --repeat=20
