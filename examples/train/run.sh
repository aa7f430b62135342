#!/usr/bin/env bash
# Sets tp up if need be, with PyTorch beside it, and trains a small Llama on a
# chapter of a book, on the ranks of a mesh. A second run goes on where the first
# one ended, or was killed; on another mesh too. With --tp-run the steps run
# without Python. examples/train/run.py has more options.
#   examples/train/run.sh [MESH] [--tp-run]     default: tp=4; another: dp=2,tp=2
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/scripts/command-line.sh"
command_line 1 --tp-run -- "$@"
mesh=tp=4
options=()
for word in "$@"; do
  case "$word" in
    --tp-run) options+=("$word") ;;
    *=*) mesh=$word ;;
    *) refuse "expected a mesh such as tp=4 or dp=2,tp=2, got '$word'" ;;
  esac
done
"$root/scripts/setup.sh" --frontends
python="$root/build/venv/bin/python"
[ -x "$python" ] || refuse "no Python environment in build/venv, which scripts/setup.sh makes"
PYTHONPATH="$root/build/python" "$python" "$here/run.py" --mesh="$mesh" "${options[@]}"
