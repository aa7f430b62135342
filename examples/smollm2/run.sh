#!/usr/bin/env bash
# Sets tp up if need be, with PyTorch beside it, and lets SmolLM2-135M-Instruct
# answer a prompt, greedily, on 1 to 4 ranks.
#   examples/smollm2/run.sh "What is tensor parallelism?" [ranks]     default: 3
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/scripts/command-line.sh"
command_line 2 -- "$@"
prompt=${1:-What is tensor parallelism?}
ranks=${2:-3}
case "$ranks" in
  1 | 2 | 3 | 4) ;;
  *) refuse "expected 1 to 4 ranks, got '$ranks'" ;;
esac
"$root/scripts/setup.sh" --frontends
python="$root/build/venv/bin/python"
[ -x "$python" ] || refuse "no Python environment in build/venv, which scripts/setup.sh makes"
PYTHONPATH="$root/build/python" "$python" "$here/run.py" "$prompt" --ranks="$ranks"
